"""Whatever a function of a fix does, a launch gives what Triton gives by itself, with one warning.

The functions are found in the records and at the seams, so that those of a new fix are among them. Each raises; one of
each name returns nonsense and one hangs for two seconds, and with CROSSWARP_FAULTS=all each does.
"""

import importlib
import os
import sys
import time
import warnings

import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.compat.install import wanted_shims
from crosswarp.compat.record import Change, LeaveOut, Rewrite
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.standins import virtual_gpu

SEAMS = ("around_traced", "around_compile", "around_run", "around_call")


@triton.jit
def of_everything(x, y, num_warps: tl.constexpr, S: tl.constexpr):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    before = tl.zeros([16], tl.float32)
    now = before
    tile = tl.zeros([16, 16], tl.float32)
    for k in range(0, 4):
        before = now
        now = tl.load(x + k * 16 + i) * S
        tile += tl.dot(tl.load(x + at).to(tl.float16), tl.load(x + at + k).to(tl.float16))
    old = tl.atomic_add(y + i, before + now + tl.cumsum(now, 0))
    tl.store(y + at, tile + old[:, None])


@triton.jit
def tuned(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, at, mask=at < n)


class Faults:
    """Ways in which a function fails."""

    @staticmethod
    def raises(*args, **kwargs):
        raise IndexError("of the test")

    @staticmethod
    def nonsense(*args, **kwargs):
        return object()

    @staticmethod
    def no_ir(*args, **kwargs):
        return "no IR, and no PTX"

    @staticmethod
    def hangs(*args, **kwargs):
        slept.append(time.sleep(2))
        raise TimeoutError("of the test")


# One entry for each time that a function hung.
slept = []
_tried = set()


def kinds_of(function):
    """kind -> fault for a function of this name. Who calls it is the same for each fix: of each name one does all."""
    kinds = {"raises": Faults.raises}
    if os.environ.get("CROSSWARP_FAULTS") == "all" or function not in _tried:
        kinds.update(nonsense=Faults.nonsense, hangs=Faults.hangs)
    _tried.add(function)
    return kinds


def yes(*args, **kwargs):
    return True


def faulty(shim):
    """(what fails, the fix with that) for each function of its record."""
    for kind, fault in kinds_of("kernels").items():
        yield f"kernels {kind}", shim._replace(concerns=shim.concerns._replace(kernels=fault))
    concerns = shim.concerns._replace(kernels=yes)
    if concerns.acts is not None:
        for kind, fault in kinds_of("acts").items():
            yield f"acts {kind}", shim._replace(concerns=concerns._replace(acts=fault))
    for at, change in enumerate(shim.changes):
        for name in functions_of(change):
            more = {"no IR": Faults.no_ir} if name == "text" else {}
            for kind, fault in {**kinds_of(name), **more}.items():
                other = change._replace(**{name: fault})
                if isinstance(change, LeaveOut) and name == "instead":
                    other = other._replace(wrong=yes)
                changes = (*shim.changes[:at], other, *shim.changes[at + 1 :])
                yield f"{name} {kind}", shim._replace(concerns=concerns, changes=changes)


def functions_of(change):
    assert isinstance(change, Change.__args__)
    # Asked by the matrix alone, and where Triton is replaced, by installing.
    apart = ("may_act", "adders")
    return [
        name for name, value in change._asdict().items() if callable(value) and name not in apart
    ]


def launched(folder):
    """Key and IR of the kernel, compiled anew."""
    os.environ["TRITON_CACHE_DIR"] = str(folder)
    for name in ("cache", "device_caches"):
        getattr(of_everything, name, {}).clear()
    x, y = torch.zeros(1024), torch.zeros(1024)
    kernel = of_everything[(1,)](x, y, 4, 2)
    # Not its PTX, of which Triton 3.2 makes another one each time.
    assert kernel.asm["ptx"]
    return getattr(kernel, "hash", None), kernel.asm["ttgir"], autotuned(folder.with_name("tuned"))


def autotuned(folder):
    """The configuration that an autotuner chose."""
    os.environ["TRITON_CACHE_DIR"] = str(folder)
    configs = [triton.Config({"BLOCK": 64}, num_warps=warps) for warps in (2, 4)]
    tuner = triton.autotune(configs=configs, key=["n"])(tuned)
    tuner[(1,)](torch.zeros(64), 64)
    return tuner.best_config.num_warps, tuner.best_config.kwargs


def outcome(shim, folder, monkeypatch, inject=None):
    """What a launch gave with this fix alone, what it said, and what is left out after it."""
    installing = sys.modules["crosswarp.compat.install"]
    sys.modules["crosswarp.compat.copies"].COMMON.said.clear()
    with monkeypatch.context() as patched, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        patched.setattr(installing, "listed", lambda: (shim,))
        if inject is not None:
            patched.setattr(*inject)
        compat.install()
        try:
            found = launched(folder)
        except Exception as error:
            found = repr(error)
        left = list(compat.left_out())
        compat.uninstall()
    told = [w for w in said if issubclass(w.category, compat.CompatWarning)]
    return found, len(told), left


def tried_here(shim):
    """Whether CI tries this fix on this column: between the ends, only one that neither end has."""
    ends = ("2.3.1", "3.9.0")
    everywhere = triton.__version__ in ends or os.environ.get("NIGHTLY")
    return everywhere or not any(in_window(shim.window, end) for end in ends)


def compared(monkeypatch, folder):
    virtual_gpu.activate(targets.SM_90, guarded=False)
    wrong, count, own = [], 0, launched(folder / "own")

    def check(what, shim, inject=None, asked=True):
        nonlocal count
        count += 1
        # `acts` is asked of a kernel that is in the cache already.
        place = "own" if what.startswith("acts") else str(count)
        found, told, left = outcome(shim, folder / place, monkeypatch, inject)
        # What is never asked of this kernel, or on this target, does not fail either.
        quiet = (told, left) == (0, []) and not asked
        if found != own or not (quiet or (told, left) == (1, [shim.name])):
            wrong.append((shim.name, what, found == own or str(found)[:300], told, left))

    for shim in filter(tried_here, wanted_shims("off", triton.__version__)):
        module = importlib.import_module(f"crosswarp.compat.shims.{shim.name}")
        if shim.concerns is not None:
            for what, other in faulty(shim):
                # A backend's change is asked on its own targets.
                check(what, other, asked=what.startswith(("kernels", "acts")))
        for seam in SEAMS:
            through = getattr(module, seam, None)
            if through is None:
                continue
            for kind in kinds_of(seam):
                check(f"{seam} {kind}", *injected(shim, module, seam, through, kind), asked=False)
    return count, wrong, len(slept)


def injected(shim, module, seam, through, kind):
    fault = getattr(Faults, kind)

    def around(patches, *given, **more):
        through(patches, *given[:-1], fault, **more)

    concerns = None if shim.concerns is None else shim.concerns._replace(kernels=yes)
    return shim._replace(concerns=concerns), (module, seam, around)


def test_a_launch_gives_what_triton_gives_whatever_a_fix_does(in_fork, monkeypatch, tmp_path):
    # A hundred functions that hang for two seconds.
    limit = 3600 if os.environ.get("CROSSWARP_FAULTS") == "all" else 300
    count, wrong, hung = in_fork(lambda: compared(monkeypatch, tmp_path), seconds=limit)
    assert count > 10
    # Of functions of fixes and of handlers at seams.
    assert hung > 3
    assert not wrong, "\n".join(map(str, wrong))


def with_a_reader_that_raises(kind):
    """A fix of this Triton, one of whose functions raises that NVIDIA's compiler asks about a kernel."""
    kinds = {"rewrite": (Rewrite, "text"), "leave out": (LeaveOut, "wrong")}
    for shim in wanted_shims("off", triton.__version__):
        if shim.concerns is None:
            continue
        if kind == "concerns":
            return shim._replace(concerns=shim.concerns._replace(kernels=Faults.raises))
        for at, change in enumerate(shim.changes):
            change_kind, name = kinds[kind]
            if isinstance(change, change_kind) and "nvidia" in (change.backends or ("nvidia",)):
                changes = list(shim.changes)
                changes[at] = change._replace(**{name: Faults.raises})
                concerns = shim.concerns._replace(kernels=yes)
                return shim._replace(concerns=concerns, changes=tuple(changes))
    raise LookupError(kind)


@pytest.mark.parametrize("kind", ["rewrite", "leave out", "concerns"])
def test_a_reader_of_kernels_that_raises_is_skipped_among_all_fixes(
    in_fork, monkeypatch, tmp_path, kind
):
    """A fix's reader of kernels, replaced in its record by one that raises: the fix is left out, with one warning."""

    def run():
        virtual_gpu.activate(targets.SM_90, guarded=False)
        broken = with_a_reader_that_raises(kind)
        installing = sys.modules["crosswarp.compat.install"]
        fixes = tuple(broken if one.name == broken.name else one for one in installing.listed())
        with compat.installed(guard="off", exclude=[broken.name]):
            own = launched(tmp_path / "own")
        monkeypatch.setattr(installing, "listed", lambda: fixes)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            compat.install(guard="off")
            found = launched(tmp_path / "found")
        warned = [
            str(one.message) for one in said if issubclass(one.category, compat.CompatWarning)
        ]
        return found == own, list(compat.left_out()) == [broken.name], len(warned), warned

    same, left_out, count, warned = in_fork(run)
    assert (same, left_out, count) == (True, True, 1), warned
    assert "IndexError: of the test" in warned[0]
