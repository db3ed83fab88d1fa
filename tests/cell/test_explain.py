"""`compat.explain`: the fixes that acted on a kernel, where, and what they changed; of one in the cache as well."""

import inspect

import targets
import torch
import triton
import triton.language as tl
from triton.compiler import ASTSource

from crosswarp import compat
from crosswarp.compat.acts import note_acted
from crosswarp.compat.record import Concerned, Rewrite
from crosswarp.compat.seams import pipeline
from crosswarp.matrix.cell.standins import virtual_gpu


@triton.jit
def doubled(x, y, S: tl.constexpr):
    i = tl.arange(0, S)
    tl.store(y + i, tl.load(x + i) * 2.0)


def otherwise(ir):
    """Four times instead of twice, in the line that multiplies."""
    return ir.replace("dense<2.0", "dense<4.0") if "dense<2.0" in ir else None


def a_fix(**more):
    return compat.Shim(
        *("a fix", "", "", "wrong numbers", "https://example.org", ""),
        revision=1,
        concerns=Concerned(lambda reached: True),
        changes=(Rewrite(otherwise),),
        **more,
    )


def launched(installed):
    from crosswarp.compat.record import Patches

    patches = Patches(fix="a fix")
    if installed:
        pipeline.open_for(a_fix(), patches)
    for name in ("cache", "device_caches"):
        getattr(doubled, name, {}).clear()
    kernel = doubled[(1,)](torch.zeros(64), torch.zeros(64), S=64)
    found = compat.explain(kernel, diff=True)
    of_function = compat.explain(doubled)
    patches.undo()
    return getattr(kernel, "hash", None), found, of_function


def test_a_fix_that_acted_says_where_and_what(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_80, guarded=False)
        return launched(False), launched(True), launched(True), launched(False)

    bare, first, again, bare_again = in_fork(run)
    assert bare[1] == [] and bare_again[:2] == bare[:2]
    if first[0] is not None:
        assert first[0] != bare[0] and again[0] == first[0]
    (said,) = first[1]
    assert (said.fix, said.lines != ()) == ("a fix", bool(said.lines))
    assert "-" in said.diff and "4.0" in said.diff
    # From the cache: who and where, and no IR as Triton had made it.
    assert [(one.fix, one.lines, one.diff) for one in again[1]] == [("a fix", said.lines, "")]
    assert [one.fix for one in again[2]] == ["a fix"]


def test_a_line_is_one_of_the_kernels(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_80, guarded=False)
        return launched(True)

    _, (said,), _ = in_fork(run)
    first = inspect.getsourcelines(doubled.fn)[1]
    # Breakpoint: before Triton 3.0 the text of IR has no places.
    for line in said.lines:
        file, _, number = line.rpartition(":")
        assert file.endswith("test_explain.py") and first <= int(number) <= first + 4


class Foreign:
    """A kernel in another language."""

    fn = doubled


def test_what_acted_without_a_place_in_the_key_is_named(in_fork):
    """As another ptxas does, on kernels that no rewriting fix concerns, and on Gluon's."""

    def run():
        class Kernel:
            pass

        def compile_(src, acting):
            if acting:
                note_acted("another ptxas")
            return Kernel()

        said = []
        for acting in (False, True):
            for src in (ASTSource(doubled, {}, {}), Foreign()):
                kernel = pipeline.compiled(compile_, src, (acting,), {})
                said.append([one.fix for one in compat.explain(kernel)])
        return said

    assert in_fork(run) == [[], [], ["another ptxas"], ["another ptxas"]]
