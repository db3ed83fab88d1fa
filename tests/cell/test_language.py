"""Names and arguments that moved between Tritons: what is red bare, what the shims trace it into, and the door."""

import importlib
import sys
import textwrap
import types

import language_kernels as kernels
import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.compat import libdevice_names, tracing
from crosswarp.compat.shims import all_shims
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.standins import virtual_gpu

VERSION = triton.__version__
OLD = in_window("<3.0", VERSION)
before_3 = pytest.mark.triton("<3.0")
from_3 = pytest.mark.triton(">=3.0")
OURS = (
    "constexpr_function descriptor_names do_bench_arguments dot_and_reduce_arguments driver_active flip_default_dim"
    " host_constexpr language_names libdevice_modules libdevice_paths tensor_methods"
).split()


# Imported by Triton or by a shim when needed, which sets an attribute of triton.language.
importlib.import_module("triton.language.semantic")


def compiled(kernel, *args, target=targets.SM_90):
    """The IR that `kernel` is traced into, without its own name and the places in its source."""
    virtual_gpu.activate(target)
    x, y = torch.rand(4096), torch.zeros(4096)
    ir = kernel[(1,)](x, y, *args).asm["ttir"]
    lines = [line.partition(" loc(")[0] for line in str(ir).splitlines()]
    return "\n".join(line for line in lines if line.strip() and not line.startswith("#loc"))


def error(function, *args):
    """The text of what `function` raises, and of what that was raised from."""
    try:
        function(*args)
    except Exception as raised:
        chain = []
        while raised is not None:
            chain.append(f"{type(raised).__name__}: {raised}")
            raised = raised.__cause__
        return "\n".join(chain)
    return ""


@before_3
@pytest.mark.parametrize(
    "kernel, args, symptom",
    [
        (kernels.reciprocal_root, (64,), "has no attribute 'rsqrt'"),
        (kernels.flipped, (64, tl.float32), "has no attribute 'flip'"),
        (kernels.hinted_loop, (256, 64), "has no attribute 'range'"),
        (kernels.kept, (32,), "unexpected keyword argument 'keep_dims'"),
        (kernels.product, (32, "ieee"), "unexpected keyword argument 'input_precision'"),
        (kernels.rounded, (64,), "unexpected keyword argument 'fp_downcast_rounding'"),
        (kernels.whole, (64,), "has no attribute 'CONSTEXPR_0'"),
    ],
)
def test_a_name_or_argument_of_3_0_is_red_bare_and_green_shimmed(in_fork, kernel, args, symptom):
    def run():
        bare = error(compiled, kernel, *args)
        with compat.installed():
            shimmed = error(compiled, kernel, *args)
        return bare, shimmed

    bare, shimmed = in_fork(run)
    assert symptom in bare
    assert shimmed == ""


@before_3
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int8", "int32"])
def test_flip_is_made_of_exclusive_or_alone(in_fork, dtype):
    def run():
        with compat.installed():
            return compiled(kernels.flipped, 64, getattr(tl, dtype))

    ir = in_fork(run)
    # Both halves of each of the six bits of an index are swapped, and nothing is added or multiplied.
    assert ir.count('"tt.reduce"') == 6
    assert "arith.addf" not in ir and "arith.mulf" not in ir


def body(ir):
    """Its operations, in order."""
    return [
        word
        for line in ir.splitlines()
        for word in line.replace('"', "").split()
        if word.partition(".")[0] in ("tt", "arith", "math", "scf") and "." in word
    ]


@before_3
@pytest.mark.parametrize(
    "new, new_args, old, old_args",
    [
        (kernels.reciprocal_root, (64,), kernels.reciprocal_root_of_2, (64,)),
        (kernels.hinted_loop, (256, 64), kernels.plain_loop, (256, 64)),
        (kernels.rounded, (64,), kernels.rounded_of_2, (64,)),
        (kernels.product, (32, "tf32"), kernels.product_of_2, (32, True)),
        (kernels.product, (32, "ieee"), kernels.product_of_2, (32, False)),
        (kernels.product, (32, "tf32x3"), kernels.product_of_2, (32, False)),
    ],
)
def test_the_new_spelling_is_traced_into_what_the_old_one_is(in_fork, new, new_args, old, old_args):
    def run():
        bare = compiled(old, *old_args)
        with compat.installed():
            return bare, compiled(new, *new_args)

    bare, shimmed = in_fork(run)
    assert body(shimmed) == body(bare)
    assert ("allowTF32 = true" in shimmed) == ("allowTF32 = true" in bare)


@before_3
def test_keep_dims_and_an_expanded_result_are_the_same_operations(in_fork):
    def run():
        bare = compiled(kernels.expanded, 32)
        with compat.installed():
            return bare, compiled(kernels.kept, 32)

    bare, shimmed = in_fork(run)
    for operation in ("tt.reduce", "tt.expand_dims", "arith.addf", "arith.subf"):
        assert (operation in shimmed) == (operation in bare)
    assert shimmed.count('"tt.reduce"') == bare.count('"tt.reduce"') == 2


@before_3
def test_libdevice_can_be_imported_from_where_it_is_later(in_fork):
    def run():
        bare = error(exec, "from triton.language.extra import libdevice", {})
        with compat.installed():
            names = {}
            exec(
                "from triton.language.extra import libdevice\n"
                "from triton.language.extra.libdevice import tanh\n"
                "import triton.language.extra.cuda.libdevice as cuda\n"
                "import triton.language.extra.libdevice as device",
                names,
            )
            same = names["tanh"] is tl.math.tanh is names["cuda"].tanh is names["device"].tanh
        gone = "triton.language.extra.libdevice" not in sys.modules
        return bare, same, gone, error(exec, "from triton.language.extra import libdevice", {})

    bare, same, gone, after = in_fork(run)
    assert "cannot import name 'libdevice'" in bare and "cannot import name 'libdevice'" in after
    assert same and gone


@from_3
@pytest.mark.parametrize("target", [targets.SM_90, targets.GFX942], ids=lambda target: target.name)
def test_what_left_tl_math_is_back_on_every_target(in_fork, target):
    def run():
        bare = error(compiled, kernels.old_math, 64)
        with compat.installed():
            shimmed = error(lambda: compiled(kernels.old_math, 64, target=target))
        return bare, shimmed, hasattr(tl.math, "round")

    bare, shimmed, after = in_fork(run)
    assert "has no attribute 'round'" in bare
    assert shimmed == "" and not after


HARD = [
    float("nan"),
    float("inf"),
    -float("inf"),
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.49999997,
    3e9,
    -7.75,
    2.0**23,
]


@from_3
@pytest.mark.parametrize("library", ["cuda", "built"])
def test_old_math_is_right_in_the_interpreter(in_fork, monkeypatch, library):
    """`built`: as on AMD, where Triton's library has none of them."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    x = torch.tensor(HARD + [0.1 * n - 2.5 for n in range(64 - len(HARD))])

    def run():
        if library == "built":
            own = vars(libdevice_names._module("cuda"))
            names = libdevice_names.names()
            libdevice_names.names = lambda: names
            rest = {name: own[name] for name in names if name not in libdevice_names.BUILT}
            libdevice_names._module = lambda backend: types.SimpleNamespace(**rest)
        y = torch.zeros(4, 64)
        # Decorated now: Triton decides when it decorates whether it interprets.
        kernel = triton.jit(kernels.old_math.fn)
        with compat.installed():
            kernel[(1,)](x, y, 64)
        return y

    y = in_fork(run)
    away = torch.copysign((x.double().abs() + 0.5).floor(), x.double()).float()
    words = [word & 0xFFFFFFFF for word in x.view(torch.int32).tolist()]
    counts = [bin(word).count("1") + 64 * (word & -word).bit_length() for word in words]
    assert torch.equal(y[0].nan_to_num(7), away.nan_to_num(7))
    assert torch.equal(y[1].nan_to_num(7), x.round().nan_to_num(7))
    assert torch.equal(torch.signbit(y[0]), torch.signbit(x))
    assert y[2].tolist() == counts
    assert torch.equal(y[3], x.isnan().float())


@before_3
def test_the_active_driver_can_be_asked_before_3_0(in_fork):
    from triton.runtime import driver

    def run():
        virtual_gpu.activate(targets.SM_90)
        bare = error(lambda: driver.active)
        with compat.installed():
            target = driver.active.get_current_target()
            found = (
                target.backend,
                target.arch,
                target.warp_size,
                driver.active.get_current_device(),
            )
        return bare, found, target == driver.get_current_target(), error(lambda: driver.active)

    bare, found, equal, after = in_fork(run)
    assert "has no attribute 'active'" in bare and "has no attribute 'active'" in after
    assert found == ("cuda", 90, 32, 0) and equal


def test_a_constexpr_can_be_added_compared_hashed_and_passed(in_fork):
    def use():
        three = tl.constexpr(3)
        assert three == 3 and three != 4 and not three == None and three in (1, 3)  # noqa: E711
        assert (three + 1).value == (1 + three).value == 4 and (2 - three).value == -1
        assert {three: "three"}[tl.constexpr(3)] == "three"
        compiled(kernels.scaled, tl.constexpr(32))
        assert "dense<4" in compiled(kernels.scaled_by_default)

    def run():
        bare = error(use)
        with compat.installed():
            return bare, error(use), error(compiled, kernels.scaled)

    bare, shimmed, wrong_call = in_fork(run)
    if OLD:
        assert "has no attribute 'value'" in bare
    else:
        assert ("unhashable" in bare) == in_window("<3.5", VERSION)
    assert shimmed == ""
    assert "TypeError" in wrong_call and "'B'" in wrong_call


def test_a_constexpr_in_a_kernel_or_its_configurations_is_healed_once(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        kernel = kernels.scaled_by_default
        config = triton.Config({"B": tl.constexpr(32)})
        tuned = triton.autotune([config], key=[])(kernels.scaled)
        signature, failures, x = kernel.signature, [], torch.rand(4096)
        own_run = type(kernel).run

        def watched(self, *args, **kwargs):
            try:
                return own_run(self, *args, **kwargs)
            except TypeError as error:
                failures.append(str(error))
                raise

        type(kernel).run = watched
        with compat.installed():
            for _ in range(3):
                kernel[(1,)](x, x)
                tuned[(1,)](x, x)
            inside = len(failures)
        restored = kernel.signature is signature and type(config.kwargs["B"]) is tl.constexpr
        return inside, restored

    assert in_fork(run) == (2 if in_window("<3.3", VERSION) else 0, True)


def test_a_constexpr_function_has_both_names_and_is_part_of_the_hash(in_fork, tmp_path):
    def run():
        sys.path.insert(0, str(tmp_path))
        keys = []
        with compat.installed():
            for name, factor in (("one", 2), ("two", 4)):
                (tmp_path / f"helper_{name}.py").write_text(
                    textwrap.dedent(f"""
                    import triton
                    import triton.language as tl

                    @{"tl" if name == "one" else "triton"}.constexpr_function
                    def size(n):
                        return n // {factor}

                    @triton.jit
                    def kernel(x, y, B: tl.constexpr):
                        N: tl.constexpr = size(B)
                        at = tl.arange(0, N)
                        tl.store(y + at, tl.load(x + at))
                    """)
                )
                module = importlib.import_module(f"helper_{name}")
                ir = compiled(module.kernel, 64)
                assert f"end = {64 // factor} : i32" in ir
                keys.append(module.kernel.cache_key)
        return keys

    one, two = in_fork(run)
    assert one != two


@pytest.mark.triton(">=3.3")
def test_descriptors_have_both_names(in_fork):
    def run():
        names = ("make_tensor_descriptor", "_experimental_make_tensor_descriptor")
        bare = [hasattr(tl, name) for name in names]
        with compat.installed():
            inside = [hasattr(tl, name) for name in (*names, "load_tensor_descriptor")]
        return bare, inside, [hasattr(tl, name) for name in names]

    bare, inside, after = in_fork(run)
    assert sorted(bare) == [False, True] and after == bare
    assert all(inside)


@pytest.mark.triton(">=3.2")
def test_do_bench_takes_what_it_took(in_fork):
    import triton.testing

    def run():
        # A real one needs a GPU; what counts is what reaches it.
        def stand_in(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
            return warmup, rep, quantiles, return_mode

        bare = error(lambda: triton.testing.do_bench(None, fast_flush=True))
        triton.testing.do_bench = stand_in
        with compat.installed():
            do_bench = triton.testing.do_bench
            results = [
                do_bench(None, 1, 2, fast_flush=True, device_type="cuda"),
                do_bench(None, 1, 2, None, None, True, "min"),
                do_bench(None, 1, 2, None, [0.5], "max"),
            ]
        return bare, results, triton.testing.do_bench is stand_in

    bare, results, restored = in_fork(run)
    assert "unexpected keyword argument 'fast_flush'" in bare
    assert results == [(1, 2, None, "mean"), (1, 2, None, "min"), (1, 2, [0.5], "max")]
    assert restored


def test_the_door_needs_no_patching(in_fork):
    def run():
        before = dict(vars(tl)), dict(vars(tl.math))
        errors = [error(compiled, kernels.through_the_door, 64)]
        if not OLD:
            errors.append(
                error(lambda: compiled(kernels.through_the_door, 64, target=targets.GFX942))
            )
        return errors, before == (dict(vars(tl)), dict(vars(tl.math)))

    errors, untouched = in_fork(run)
    assert set(errors) == {""} and untouched


def test_the_door_says_what_it_cannot_do():
    from crosswarp.compat import language

    with pytest.raises(AttributeError, match=f"Triton {VERSION} has no 'no_such_name'"):
        getattr(language, "no_such_name")  # noqa: B009
    if OLD:
        with pytest.raises(AttributeError, match=r"compat\.install\(\)"):
            getattr(language, "range")  # noqa: B009


@from_3
def test_the_door_hands_out_tritons_own():
    from crosswarp.compat import language

    for name in ("load", "sum", "dot", "rsqrt", "constexpr"):
        assert getattr(language, name) is getattr(tl, name)


def test_outside_its_window_a_shim_of_these_adds_nothing_and_uninstall_takes_all_back(in_fork):
    owners = {
        "triton": triton,
        "tl": tl,
        "math": tl.math,
        "tensor": tl.tensor,
        "constexpr": tl.constexpr,
        "core": tl.core,
        "proxy": type(triton.runtime.driver),
    }

    def attributes():
        return {
            (owner, name): id(value)
            for owner, holder in owners.items()
            for name, value in vars(holder).items()
        }

    def run():
        from crosswarp.compat.record import Patches

        before, changed = attributes(), {}
        for shim in all_shims():
            if shim.name in OURS and in_window(shim.window, VERSION):
                patches = Patches()
                shim.apply(patches)
                changed[shim.name] = attributes() != before
                patches.undo()
                assert attributes() == before, shim.name
        with compat.installed():
            pass
        return changed, attributes() == before

    changed, restored = in_fork(run)
    # These change a module of their own, or the code generator.
    changed.pop("do_bench_arguments", None)
    changed.pop("libdevice_modules", None)
    if in_window(">=3.3,<3.5", VERSION):
        changed.pop("host_constexpr")
    assert restored and all(changed.values())


def test_a_builtin_outside_of_a_kernel_says_so():
    with pytest.raises(ValueError, match="outside of a kernel"):
        tracing.handed_on()
