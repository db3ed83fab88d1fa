"""Launch options and triton.Config arguments that another Triton or another backend knows, and this one does not.

What only tunes is dropped, and said once. What changes the meaning of a kernel is dropped only where its value asks for
nothing (``launch_cooperative_grid=False``); a name that no Triton knows still raises Triton's own error.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, Container, Dict, List, Set

from .. import features
from ..acts import note_acted
from ..errors import say_once
from ..launch import by_position
from ..record import Patches, Shim
from ..seams.attribute import around_call
from ..seams.launches import around_compile
from ..seams.runs import around_run

# Fields of CUDAOptions and HIPOptions in the published wheels 2.3.1 to 3.9.0, of triton-xpu's XPUOptions, and arguments
# of triton.Config, each with those that know it.
ELSEWHERE = {
    "allow_flush_denorm": "AMD, since 3.0",
    "enable_persistent": "NVIDIA, 2.3",
    "enable_reflect_ftz": "NVIDIA, since 3.6",
    "enable_warp_specialization": "NVIDIA, 2.3",
    "fpsan_homomorphic_casts": "since 3.9",
    "generate_native_code": "Intel",
    "grf_mode": "Intel",
    "instruction_sched_variant": "AMD, 3.2 and 3.3",
    "instrumentation_mode": "since 3.5",
    "ir_override": "NVIDIA, since 3.4",
    "kpack": "AMD, since 3.0",
    "launch_cooperative_grid": "since 3.3",
    "launch_pdl": "NVIDIA, since 3.4",
    "llvm_fn_attrs": "AMD, since 3.8",
    "matrix_instr_nonkdim": "AMD, since 3.0",
    "maxnreg": "NVIDIA, since 3.0",
    "min_shared_mem": "NVIDIA, since 3.9",
    "num_buffers_warp_spec": "3.2 and 3.3",
    "num_consumer_groups": "3.2 and 3.3",
    "optimize_epilogue": "NVIDIA, 2.3",
    "ptx_options": "NVIDIA, since 3.4",
    "reg_dec_producer": "3.2 and 3.3",
    "reg_inc_consumer": "3.2 and 3.3",
    "sanitize_overflow": "since 3.2",
    "sched4reg": "NVIDIA, since 3.9",
    "schedule_hint": "AMD, since 3.4",
    "threads_per_warp": "Intel",
    "waves_per_eu": "AMD, since 3.0",
    "wgp_cu_mode": "AMD, since 3.9",
}
# A grid-wide barrier hangs if the blocks of a grid do not run at once.
CHANGES_MEANING = ("launch_cooperative_grid",)
CONFIG_ARGUMENTS = (
    "enable_persistent",
    "enable_warp_specialization",
    "ir_override",
    "maxnreg",
    "num_buffers_warp_spec",
    "num_consumer_groups",
    "reg_dec_producer",
    "reg_inc_consumer",
)
_ASKS_FOR_NOTHING = (None, False, 0, "", "none")


def apply(patches: Patches) -> None:
    _fix_config(patches)
    if features.has_backends():
        _fix_backends(patches)
    else:
        _fix_run_before_3_0(patches)


def _droppable(options: Dict[str, Any], known: Container[str]) -> List[str]:
    """The names in `options` that can be left out where the backend knows `known`."""
    return [
        name
        for name in sorted(ELSEWHERE.keys() & options.keys())
        if name not in known and (name not in CHANGES_MEANING or options[name] in _ASKS_FOR_NOTHING)
    ]


def _say_dropped(name: str, value: Any) -> None:
    import triton

    if value in _ASKS_FOR_NOTHING:
        return
    note_acted(SHIM.name)
    say_once(
        f"{name}={value!r} is not an option of Triton {triton.__version__} on this target"
        f" (known to: {ELSEWHERE[name]}); launched without it"
    )


def _fix_backends(patches: Patches) -> None:
    from triton.backends import backends

    # Symptom: KeyError: Keyword argument waves_per_eu was specified but unrecognised.
    # Affected: Triton 3.0 and later, every target. Link: intel/intel-xpu-backend-for-triton#5137 (threads_per_warp).
    # Breakpoint: none upstream; each Triton refuses what it does not know, which it should.
    # `run` accepts a keyword that the options object holds, and looks only when it has no kernel in memory. So what is
    # to be dropped goes into that object, and is taken out again before the compiler sees it.
    def parse_options(parse, self, opts):
        options = parse(self, opts)
        known = vars(options)
        # The kernel's parameters of such names are included: the options do not distinguish them.
        for name in _droppable(opts, known):
            known[name] = opts[name]
        return options

    for backend in backends.values():
        if "parse_options" in vars(backend.compiler):
            around_call(patches, backend.compiler, "parse_options", parse_options)

    def compile_without(compile_, src, args, kwargs):
        options = kwargs.get("options")
        if isinstance(options, dict) and not ELSEWHERE.keys().isdisjoint(options):
            known = _fields(kwargs["target"] if "target" in kwargs else args[0])
            options = dict(options)
            for name in _droppable(options, known):
                value = options.pop(name)
                if name not in getattr(src.fn, "arg_names", ()):
                    _say_dropped(name, value)
            kwargs = dict(kwargs, options=options)
        return compile_(src, *args, **kwargs)

    around_compile(patches, compile_without)


def _fields(target: Any) -> Set[str]:
    """The options that the backend of `target` knows by itself."""
    from triton.compiler import make_backend

    backend = make_backend(target)
    kind = type(backend)
    if kind not in _fields_of:
        parse = getattr(kind.parse_options, "__wrapped__", kind.parse_options)
        _fields_of[kind] = {field.name for field in dataclasses.fields(parse(backend, {}))}
    return _fields_of[kind]


# By class of backend.
_fields_of: Dict[type, Set[str]] = {}


def _fix_run_before_3_0(patches: Patches) -> None:
    from triton.compiler.backends.cuda import CUDABackend, CUDAOptions

    known = frozenset(field.name for field in dataclasses.fields(CUDAOptions))
    foreign = frozenset(ELSEWHERE) - known

    # Symptom: TypeError: got an unexpected keyword argument 'maxnreg'. Affected: Triton < 3.0, every target.
    # `run` hands over its own keywords, and afterwards binds what is left of them to the kernel's parameters.
    # Every launch comes by, so this is no seam, whose frames would cost it 2 %; nobody else replaces it. It reads what
    # is given where Triton asks for each of its thirteen options, and is the shorter for it, with the check.
    parse = CUDABackend.parse_options
    # Triton sets these by the GPU, whatever the caller gives; 2.3.0 and 2.3.1 set different values.
    by_gpu = ("allow_fp8e4nv", "max_num_imprecise_acc_default")
    chosen: Dict[Any, Dict[str, Any]] = {}
    free = known.difference(by_gpu)

    def parse_without(self, opts):
        if not foreign.isdisjoint(opts):
            patches.attempt(drop, opts)
        if self.capability not in chosen:
            own = parse(self, {})
            chosen[self.capability] = {name: getattr(own, name) for name in by_gpu}
        given = {name: value for name, value in opts.items() if name in free}
        return CUDAOptions(**given, **chosen[self.capability])

    def drop(opts):
        for name in _droppable(opts, known):
            _say_dropped(name, opts.pop(name))

    def run_with_its_own(run, kernel, args, kwargs):
        args, kwargs = by_position(kernel.signature, args, kwargs, known) or (args, kwargs)
        return run(*args, **kwargs)

    patches.set(CUDABackend, "parse_options", parse_without)
    # The kernel's own parameters of such names must not be among the keywords.
    around_run(patches, foreign, run_with_its_own)


def _fix_config(patches: Patches) -> None:
    from triton.runtime.autotuner import Config

    init = Config.__init__
    known = inspect.signature(init).parameters
    unknown = [name for name in CONFIG_ARGUMENTS if name not in known]

    # Symptom: TypeError: Config.__init__() got an unexpected keyword argument 'num_consumer_groups'.
    # Affected: every Triton, each for the arguments of the others.
    def init_without(init, self, *args, **kwargs):
        for name in unknown:
            if name in kwargs:
                _say_dropped(name, kwargs.pop(name))
        init(self, *args, **kwargs)

    around_call(patches, Config, "__init__", init_without)


SHIM = Shim(
    name="unknown_options",
    issue="unknown-options",
    tier="names",
    window=">=2.3",
    symptom="KeyError: Keyword argument waves_per_eu was specified but unrecognised;"
    " TypeError: got an unexpected keyword argument 'maxnreg'",
    link="https://github.com/intel/intel-xpu-backend-for-triton/issues/5137",
    delete_when="one Triton is left, or all know the same options",
    apply=apply,
    order=10,
)
