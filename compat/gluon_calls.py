"""Gluon's functions under the names, and by the arguments, of other releases."""

from typing import Any, Callable, Dict, List, Optional, Tuple

from .acts import note_acted
from .gluon_spellings import Arguments, Gluon, is_tuple, items, parameters, plain, renamed
from .tracing import builtin

_PAIRS = ("functions_and_args", "worker_num_warps", "worker_num_regs")
_APART = (
    *("default_args", "default_partition", "worker_args", "worker_partitions"),
    *("worker_num_warps", "worker_num_regs"),
)
_LOAD = (
    *("pointer", "mask", "other", "boundary_check", "padding_option"),
    *("cache_modifier", "eviction_policy", "volatile"),
)
_STORE = ("pointer", "value", "mask", "boundary_check", "cache_modifier", "eviction_policy")
# Registers of a multiprocessor, of which a thread has 255 at most, eight at a time.
_REGISTERS, _MOST, _STEP, _THREADS = 65536, 255, 8, 32


def apply(gluon: Gluon) -> None:
    """Add the names of other releases to this Triton's Gluon, and have its functions take their arguments."""
    _aggregates(gluon)
    _tuples(gluon)
    _copies(gluon)
    _barriers(gluon)
    _descriptors(gluon)
    _products(gluon)
    _memory(gluon)
    _modules(gluon)
    _warp_specialize(gluon)


def _aggregates(gluon: Gluon) -> None:
    # Symptom: Unsupported function referenced: <slot wrapper '__init__' of 'object' objects>, of an aggregate without a
    # constructor. Affected: Triton 3.5 to 3.7. Breakpoint: Triton 3.8 makes one of the fields; delete with the last
    # column of 3.7.
    from triton.language import core
    from triton.runtime.jit import ConstexprFunction

    if hasattr(core, "aggregate_replace"):
        return
    # Symptom: ValueError: PartitionArgs.__init__ cannot be a @triton.jit function, of a constexpr_function.
    # Affected: Triton 3.5. Breakpoint: Triton 3.6 takes one; delete with the last column of 3.5.
    takes_constexpr = "functions_and_args" in parameters(gluon.module("_core").warp_specialize)
    own = core._aggregate

    def _aggregate(cls: type) -> Any:
        made = vars(cls).get("__init__")
        if made is None:
            note_acted("gluon_names")
            cls.__init__ = builtin(_of_fields(cls, core))  # type: ignore[misc]
        elif isinstance(made, ConstexprFunction) and not takes_constexpr:

            def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
                made(self, *args, **kwargs)

            note_acted("gluon_names")
            cls.__init__ = __init__  # type: ignore[misc]
        return own(cls)

    gluon.replace(core, "_aggregate", _aggregate)


def _of_fields(cls: type, core: Any) -> Callable[..., None]:
    """A constructor that takes the fields in their order, or by name; a value in the class is a field's default."""
    fields = vars(cls).get("__annotations__", {})
    defaults = {name: vars(cls)[name] for name in fields if name in vars(cls)}

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        by_place = dict(zip(fields, args))
        given = {**defaults, **by_place, **kwargs}
        twice = len(args) > len(fields) or by_place.keys() & kwargs.keys()
        if twice or given.keys() != fields.keys():
            msg = f"{cls.__name__}() takes these fields, each once: {', '.join(fields)}"
            raise TypeError(msg)
        for name, item in given.items():
            setattr(self, name, _wrapped(item, core))

    return __init__


def _wrapped(given: Any, core: Any) -> Any:
    """`given` as a value of the language."""
    if isinstance(given, tuple):
        return core.tuple([_wrapped(each, core) for each in given])
    return given if isinstance(given, core.base_value) else core.constexpr(given)


def _tuples(gluon: Gluon) -> None:
    # Symptom: AttributeError: 'tuple' object has no attribute value, of a constexpr argument of a kernel.
    # Affected: Triton 3.8 and later, where such a tuple is one of the language; before, it is a constexpr.
    # Breakpoint: none. Delete when no library takes the value of a tuple.
    from triton.language import core

    def of_constants(made: Any) -> Any:
        fields = getattr(made.type, "fields", None) or ()
        constant = all(type(member).__name__ in ("constexpr", "tuple") for member in made.values)
        if "value" in fields or not constant:
            # Python then asks the tuple's own __getattr__.
            raise AttributeError
        note_acted("gluon_names")
        return made

    gluon.add(core.tuple, "value", property(of_constants))


def _copies(gluon: Gluon) -> None:
    # Symptom: RuntimeError: async_copy_global_to_shared has been removed; call async_load instead (3.9 and later);
    # module 'triton.experimental.gluon.language.nvidia.hopper.tma' has no attribute 'async_load' (before 3.8).
    # Affected: every Triton with Gluon.
    # Breakpoint: Triton 3.8 has both; delete with the last column before it, and when no library has the old names.
    names = {
        "async_copy_global_to_shared": "async_load",
        "async_copy_global_to_shared_im2col": "async_load_im2col",
        "async_copy_shared_to_global": "async_store",
    }
    for path in ("nvidia.ampere.async_copy", "nvidia.hopper.tma", "nvidia.blackwell.tma"):
        module = gluon.module(path)
        for old, new in names.items():
            before, now = getattr(module, old, None), getattr(module, new, None)
            if now is None:
                gluon.add(module, new, before)
            elif before is None:
                gluon.add(module, old, now)
            elif before is not now:
                gluon.replace(module, old, now)
    # Symptom: module 'triton.experimental.gluon.language.amd.cdna4.async_copy' has no attribute 'async_wait'.
    # Breakpoint: Triton 3.6 renamed it; delete with the last column of 3.5.
    amd = gluon.module("amd.cdna4.async_copy")
    gluon.add(amd, "async_wait", getattr(amd, "wait_group", None))
    gluon.add(amd, "wait_group", getattr(amd, "async_wait", None))


def _barriers(gluon: Gluon) -> None:
    # Symptom: module 'triton.experimental.gluon.language' has no attribute 'thread_barrier' (3.7 and later), 'barrier'
    # (before). Breakpoint: Triton 3.7 renamed it; delete with the last column of 3.6.
    language = gluon.module("")

    def barrier(*, cluster=False, _semantic=None):
        if plain(cluster):
            msg = (
                "Triton before 3.7 has no barrier of a cluster: upgrade, or leave cluster=True out"
            )
            raise NotImplementedError(msg)
        return language.thread_barrier(_semantic=_semantic)

    def thread_barrier(_semantic=None):
        return language.barrier(_semantic=_semantic)

    gluon.add_builtin(language, barrier)
    gluon.add_builtin(language, thread_barrier)

    # Symptom: expect() got an unexpected keyword argument 'bytes' (3.7 and later), 'bytes_per_cta' (before).
    # Breakpoint: Triton 3.7 renamed it; delete with the last column of 3.6.
    mbarrier = gluon.module("nvidia.hopper.mbarrier")
    known = parameters(mbarrier.expect)

    def expected(*args: Any, **named: Any) -> Optional[Arguments]:
        other = renamed(named, [("bytes", "bytes_per_cta")], known)
        return None if other is None else (args, other)

    gluon.translate(mbarrier, "expect", expected)

    # Symptom: arrive() takes 1 positional argument but 3 were given (3.5 and later, Triton 3.4 has them by place).
    # Breakpoint: none. Delete when no library passes them by place.
    gluon.translate(mbarrier, "arrive", _by_keyword(("mbarrier", "count", "pred"), 1))

    # Symptom: store_wait() got an unexpected keyword argument 'read_only' (before 3.8).
    # Breakpoint: Triton 3.8 has it; delete with the last column of 3.7.
    tma = gluon.module("nvidia.hopper.tma")
    if tma is not None and "read_only" not in parameters(tma.store_wait):
        gluon.around(tma, "store_wait", _waiting(language))

    # Symptom: module 'triton.experimental.gluon.language.nvidia.hopper.mbarrier' has no attribute 'sync_cluster_init'
    # (3.8); 'cluster' has no attribute 'barrier' (3.7). In 3.9 clusters wait otherwise.
    # Breakpoint: Triton 3.9 has none of arrive and wait; delete with the last column before it.
    cluster = gluon.module("nvidia.hopper.cluster")
    if hasattr(cluster, "arrive"):

        def meet(relaxed=False, _semantic=None):
            cluster.arrive(relaxed, _semantic=_semantic)
            cluster.wait(_semantic=_semantic)

        def sync_cluster_init(_semantic=None):
            mbarrier.fence_init_release_cluster(_semantic=_semantic)
            meet(True, _semantic=_semantic)

        meet.__name__ = "barrier"
        gluon.add_builtin(cluster, meet)
        gluon.add_builtin(mbarrier, sync_cluster_init)


def _waiting(language: Any) -> Callable[..., None]:
    """A wait that can be for writes to be seen in global memory, where Triton's is for what is read alone."""

    def store_wait(own, pendings, read_only=True, _semantic=None):
        own(pendings, _semantic=_semantic)
        if not plain(read_only):
            note_acted("gluon_names")
            text = f"cp.async.bulk.wait_group {plain(pendings)}; mov.u32 $0, 0;"
            language.inline_asm_elementwise(
                text, "=r", [], language.int32, is_pure=False, pack=1, _semantic=_semantic
            )

    return store_wait


def _by_keyword(places: Tuple[str, ...], most: int) -> Callable[..., Optional[Arguments]]:
    """A translation for a function that takes `most` arguments by position and earlier took all of `places` so."""

    def translated(*args: Any, **named: Any) -> Optional[Arguments]:
        surplus = dict(zip(places[most:], args[most:]))
        if not surplus or surplus.keys() & named.keys() or len(args) > len(places):
            return None
        return args[:most], {**surplus, **named}

    return translated


def _descriptors(gluon: Gluon) -> None:
    # Symptom: 'shared_memory_descriptor' object has no attribute '_reinterpret' (3.9 and later), 'reinterpret'
    # (before). Link: triton-lang/triton#11131.
    # Breakpoint: Triton 3.9 renamed it; delete with the last column before it.
    language = gluon.module("")
    kinds = [
        language.shared_memory_descriptor,
        gluon.get("nvidia.blackwell.tensor_memory_descriptor"),
    ]
    for kind in kinds:
        own = getattr(kind, "_reinterpret", None)
        gluon.add(kind, "_reinterpret", getattr(kind, "reinterpret", None))
        if own is not None:
            gluon.add_builtin(kind, _reinterpreting(own))
    # Symptom: 'tensor_descriptor' object has no attribute 'nbytes_per_cta' (before 3.7).
    # Breakpoint: Triton 3.7 has it; delete with the last column of 3.6.
    for name in ("tensor_descriptor", "tensor_descriptor_type"):
        of_block = property(lambda self: self.block_type.nbytes)
        gluon.add(gluon.get(f"nvidia.hopper.tma.{name}"), "nbytes_per_cta", of_block)


def _reinterpreting(own: Callable[..., Any]) -> Callable[..., Any]:
    def reinterpret(self, dtype=None, shape=None, layout=None, _semantic=None):
        return own(
            self,
            self.dtype if dtype is None else dtype,
            self.shape if shape is None else shape,
            self.layout if layout is None else layout,
            _semantic=_semantic,
        )

    return reinterpret


def _products(gluon: Gluon) -> None:
    # Symptom: module 'triton.experimental.gluon.language.nvidia.ampere' has no attribute 'mma_v2'; 'language' has no
    # attribute 'num_warps' (before 3.6); module 'triton.experimental.gluon' has no attribute 'aggregate' (before 3.8).
    # Breakpoint: Triton 3.6 and 3.8 have them; delete with the last column of 3.7.
    import triton
    from triton.experimental import gluon as package

    language = gluon.module("")

    def mma_v2(a, b, acc, input_precision=None, _semantic=None):
        made = _semantic.dot(
            a,
            b,
            acc,
            input_precision=plain(input_precision),
            max_num_imprecise_acc=None,
            out_dtype=acc.dtype,
        )
        return language.tensor(made.handle, acc.type)

    def num_warps(_semantic=None, _generator=None):
        within = getattr(_generator.caller_context, "num_warps", None)
        return language.constexpr(within or _semantic.builder.options.num_warps)

    for path in ("nvidia.ampere", "nvidia.hopper", "nvidia.blackwell"):
        gluon.add_builtin(gluon.module(path), mma_v2)
    gluon.add_builtin(language, num_warps)
    gluon.add(package, "aggregate", getattr(triton.language.core, "_aggregate", None))


def _memory(gluon: Gluon) -> None:
    # Symptom: load() got an unexpected keyword argument 'boundary_check'; load() takes from 1 to 3 positional arguments
    # but 7 were given. Affected: Triton 3.9 and later. Link: triton-lang/triton#10833.
    # Breakpoint: none. Delete when no library passes them.
    language = gluon.module("")
    for name, places in (("load", _LOAD), ("store", _STORE)):
        own = getattr(language, name)
        if "boundary_check" not in parameters(own):
            gluon.translate(gluon.module("_core"), name, _without_blocks(places), object)


def _without_blocks(places: Tuple[str, ...]) -> Callable[..., Optional[Arguments]]:
    """A translation of arguments at `places`: this Triton takes three of them by position, and none that is for
    blocks."""

    def translated(*args: Any, **named: Any) -> Optional[Arguments]:
        given = {**dict(zip(places[3:], args[3:])), **named}
        for_blocks = [name for name in ("boundary_check", "padding_option") if name in given]
        if len(args) <= 3 and not for_blocks:
            return None
        if len(args) > len(places) or any(plain(given.pop(name)) for name in for_blocks):
            return None
        return args[:3], given

    return translated


def _modules(gluon: Gluon) -> None:
    # Symptom: No module named 'triton.experimental.gluon.language.amd.gfx1250.tdm';
    # 'triton.experimental.gluon.language.amd.gfx1250' is not a package (3.9 and later), and cdna5 before.
    # Breakpoint: Triton 3.9 renamed it; delete with the last column before it.
    for name_here, other in (("gfx1250", "cdna5"), ("cdna5", "gfx1250")):
        gluon.add_module(f"amd.{name_here}", gluon.module(f"amd.{other}"))
        for name in ("async_copy", "cluster", "mbarrier", "tdm"):
            gluon.add_module(f"amd.{name_here}.{name}", gluon.module(f"amd.{other}.{name}"))


def _warp_specialize(gluon: Gluon) -> None:
    # Symptom: warp_specialize() got multiple values for argument '_semantic' (3.6 and later); missing 3 required
    # positional arguments (3.5). Link: triton-lang/triton#8527.
    # Breakpoint: Triton 3.6 takes pairs; delete with the last column of 3.5.
    core = gluon.module("_core")
    in_pairs = "functions_and_args" in parameters(core.warp_specialize)

    def paired(*args: Any, **named: Any) -> Optional[Arguments]:
        given = _given(_APART, args, named)
        if given is None or not {"worker_partitions", "default_args"} <= given.keys():
            return None
        pairs = [(given["default_partition"], _as_tuple(given["default_args"]))]
        shared = _as_tuple(given["worker_args"])
        pairs += [(partition, shared) for partition in items(given["worker_partitions"])]
        hidden = {name: value for name, value in given.items() if name not in _APART}
        regs = given.get("worker_num_regs")
        return (pairs, given["worker_num_warps"], regs), hidden

    own = core.warp_specialize

    def apart(*args: Any, _semantic: Any = None, _generator: Any = None, **named: Any) -> Any:
        given = _given(_PAIRS, args, named)
        if given is None or "functions_and_args" not in given:
            return own(*args, **named, _semantic=_semantic, _generator=_generator)
        note_acted("gluon_names")
        pairs = [items(pair) for pair in items(given["functions_and_args"])]
        workers = [_Worker(function, items(arguments)) for function, arguments in pairs[1:]]
        warps = [plain(number) for number in items(given["worker_num_warps"])]
        regs = given.get("worker_num_regs")
        if plain(regs) is None:
            regs = [_share(_semantic.builder.options.num_warps, warps)] * len(warps)
        maker = _Maker(_generator, workers)
        made = own(
            pairs[0][1],
            pairs[0][0],
            [argument for worker in workers for argument in worker.arguments],
            workers,
            warps,
            regs,
            _semantic=_semantic,
            _generator=maker,
        )
        return maker.as_returned(made)

    if in_pairs:
        gluon.translate(core, "warp_specialize", paired, object)
    else:
        gluon.replace_all(core, "warp_specialize", builtin(apart))


def _given(
    names: Tuple[str, ...], args: Tuple[Any, ...], named: Dict[str, Any]
) -> Optional[Dict[str, Any]]:
    """The arguments by their names; None where they are not of a function with these parameters."""
    hidden = {"_semantic", "_generator"}
    given = {**dict(zip(names, args)), **named}
    fits = len(args) <= len(names) and not given.keys() - hidden - set(names)
    return given if fits and len(given) == len(args) + len(named) else None


def _as_tuple(arguments: Any) -> Any:
    return arguments if is_tuple(arguments) else items(arguments)


def _share(num_warps: int, warps: List[int]) -> int:
    """The registers of each thread where all have the same number, by the size of a block."""
    threads = _THREADS * -(-(num_warps + sum(warps)) // 4) * 4
    return min(_MOST, _REGISTERS // threads) // _STEP * _STEP


class _Worker:
    """A function with separate arguments, where Triton 3.5 has all workers take the same."""

    def __init__(self, function: Any, arguments: Tuple[Any, ...]) -> None:
        self.function, self.arguments = function, arguments


class _Maker:
    """Triton's code generator, which gives each worker its own part of the arguments of all."""

    def __init__(self, generator: Any, workers: List[_Worker]) -> None:
        self._generator, self._workers, self._alone = generator, workers, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def call_JitFunction(self, function: Any, args: Any, kwargs: Any, **more: Any) -> Any:  # noqa: N802
        """The result of the code generator's call of the default function or of a worker's."""
        if isinstance(function, _Worker):
            start = sum(
                len(worker.arguments) for worker in self._workers[: self._workers.index(function)]
            )
            args = list(args)[start : start + len(function.arguments)]
            return self._generator.call_JitFunction(function.function, args, kwargs, **more)
        made = self._generator.call_JitFunction(function, args, kwargs, **more)
        # Triton 3.5 expects several results, or none.
        self._alone = made is not None and not is_tuple(made)
        return (made,) if self._alone else made

    def as_returned(self, made: Any) -> Any:
        """The results of the default function in its own form: one, or several."""
        return items(made)[0] if self._alone else made
