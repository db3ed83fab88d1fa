"""Edits of a kernel that may not change what it computes: executed in numpy, and judged as cells of a run."""

import ast
import types
from dataclasses import replace

import numpy as np
import pytest

from crosswarp.laboratory.fuzzing import edited_run, metamorphic, ring
from crosswarp.laboratory.fuzzing.editing import edited
from crosswarp.laboratory.fuzzing.edits import KINDS
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import issues
from crosswarp.matrix.results.record import Record

# A kernel with a place for each edit, and one that has none for most.
MODULE = '''
import triton
import triton.language as tl
KERNEL = None


@triton.jit
def _scaled(x, by):
    return x * by + 1


@triton.jit
def _kernel(a_ptr, b_ptr, y_ptr, z_ptr, N, BLOCK: tl.constexpr):
    """What it is for."""
    rows = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK, BLOCK], dtype=tl.float32)
    count = 0.0
    largest = tl.load(a_ptr + rows)
    for start in range(0, N, BLOCK):
        a = tl.load(a_ptr + start * BLOCK + rows[:, None] * BLOCK + rows[None, :])
        b = tl.load(b_ptr + start * BLOCK + rows[:, None] * BLOCK + rows[None, :])
        total = tl.dot(a, b, total)
        count += _scaled(tl.sum(a), 2)
        largest = tl.maximum(largest, tl.max(a, 1))
    for turn in range(3):
        largest = largest + turn
    tl.store(y_ptr + rows[:, None] * BLOCK + rows[None, :], total)
    if BLOCK > 2:
        tl.store(z_ptr + rows, largest + count)


@triton.jit
def _nothing(a_ptr):
    if tl.load(a_ptr) > 0:
        return
'''
BLOCK = 4


class _Pointer:
    """A tensor that places are added to."""

    # Else numpy would add it to each of the places.
    __array_ufunc__ = None

    def __init__(self, held, at=0):
        self.held, self.at = held, at

    def __add__(self, at):
        return _Pointer(self.held, self.at + at)

    __radd__ = __add__


def _store(pointer, values):
    pointer.held[pointer.at] = values


LANGUAGE = types.SimpleNamespace(
    constexpr=int, float32=np.float32, arange=np.arange, where=np.where, minimum=np.minimum, maximum=np.maximum,
    load=lambda pointer: pointer.held[pointer.at], store=_store, sum=np.sum, max=np.max, trans=np.transpose,
    zeros=lambda shape, dtype: np.zeros(shape, dtype), dot=lambda a, b, acc=0: a @ b + acc, range=range,
)  # fmt: skip


def _executed(text, turns):
    """What the kernel writes, with numpy in Triton's place; the module's own end is left out."""
    tree = ast.parse(text)
    tree.body = [one for one in tree.body if isinstance(one, ast.FunctionDef)]
    scope = {"triton": types.SimpleNamespace(jit=lambda function: function), "tl": LANGUAGE}
    exec(compile(tree, "edited", "exec"), scope)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, 6 * BLOCK * BLOCK).astype(np.float32) for _ in range(2))
    y, z = np.full(BLOCK * BLOCK, np.nan), np.full(BLOCK, np.nan)
    pointers = [_Pointer(held) for held in (a, b, y, z)]
    scope["_kernel"](*pointers, turns * BLOCK, BLOCK)
    return y, z


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_no_edit_changes_what_is_computed(turns):
    meant = _executed(MODULE, turns)
    seen = set()
    for seed in range(6):
        for edit in edited("toy", MODULE, seed):
            for found, right in zip(_executed(edit.text, turns), meant, strict=True):
                assert np.array_equal(found, right), edit.difference
            assert edit.difference.count("\n+") > 1
            seen.add(edit.kind.name)
    assert seen == {kind.name for kind in KINDS}


def test_an_edit_is_a_place_that_the_seed_chooses_and_the_same_each_time():
    texts = [[one.text for one in edited("toy", MODULE, seed)] for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    one = next(edited("toy", MODULE, 1))
    assert f'dataclasses.replace(KERNEL, name="{one.name}")' in one.text
    assert one.line and one.function in one.text


def test_only_what_is_launched_gets_an_argument():
    for edit in edited("toy", MODULE, 1):
        for function in ast.walk(ast.parse(edit.text)):
            if not isinstance(function, ast.FunctionDef):
                continue
            if "opaque_" in {one.arg for one in function.args.args}:
                assert function.name in ("_kernel", "_nothing") and edit.kind.opaque


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(0, N, N):\n        x += i",  # it may count down
        "for i in range(0, N):\n        N = N - 1",  # its bounds change
        "for i in tl.static_range(3):\n        x += i",
        "for i in range(4):\n        i = i + 1",
    ],
)
def test_what_an_edit_does_not_rest_on_is_no_place(loop):
    text = f"@triton.jit\ndef k(p, N):\n    x = tl.load(p)\n    {loop}\n    tl.store(p, x)\n"
    found = {edit.kind.name for edit in edited("toy", text, 1)}
    assert not found & {"peeled-turn", "split-loop"}


def test_a_sum_that_is_read_in_the_loop_is_not_split():
    text = (
        "@triton.jit\ndef k(p, N):\n    x = 0.0\n    for i in range(N):\n        x += tl.load(p + i)\n"
        "        tl.store(p + i, x)\n"
    )
    found = {edit.kind.name for edit in edited("toy", text, 1)}
    assert not found & {"split-accumulator", "rotated-accumulators"} and "split-loop" in found


def test_a_module_that_has_our_names_is_left_alone():
    text = "@triton.jit\ndef k(p, opaque_):\n    tl.store(p + 1, opaque_ + 2)\n"
    assert not list(edited("toy", text, 1))


def test_a_suite_is_written_with_its_edits_and_what_it_imports(tmp_path):
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "toy.py").write_text(MODULE)
    (suite / "_helpers.py").write_text("SHARED = 1\n")
    assert edited_run.names(suite, ["*"]) == ["toy"]
    folder = tmp_path / "made"
    made = edited_run.written(suite, ["toy"], 1, folder)
    assert {path.name for path in folder.iterdir()} == {
        "toy.py", "_helpers.py", *(f"{one.name}.py" for one in made),
    }  # fmt: skip
    assert (folder / "toy.py").read_text() == MODULE
    (suite / "a__b.py").write_text(MODULE)
    with pytest.raises(UsageError, match="two underscores"):
        edited_run.written(suite, ["a__b"], 1, folder)


# What cells say.

EDIT = next(edit for edit in edited("toy", MODULE, 1) if edit.kind.name == "rotated-accumulators")
RELEASES = {"old": "3.2.0", "new": "3.6.0"}


def _record(column, kernel, outcome="pass", case="fp32", target="sm_80", **more):
    more.setdefault("fingerprint", "" if outcome == "pass" else f"{outcome}: said")
    phase = {"mismatch": "compare", "pass": ""}.get(outcome, "compile")
    return Record(column, target, "emulate", "bare", kernel, case, "", outcome, phase=phase, **more)


def _compared(*of_edit, of_plain=(), edit=EDIT, known=()):
    plain = [_record(column, "toy", case=case, target=target) for column in RELEASES
             for case in ("fp32", "fp16") for target in ("sm_80", "sm_90")]  # fmt: skip
    red = {(one.column, one.case, one.target) for one in of_plain}
    plain = [one for one in plain if (one.column, one.case, one.target) not in red]
    cells = [*plain, *of_plain, *(replace(one, kernel=edit.name) for one in of_edit)]
    return metamorphic.compare(cells, [edit], list(RELEASES), RELEASES, known)


def test_an_edit_that_passes_everywhere_shows_nothing():
    found = _compared(_record("old", "e"), _record("new", "e"))
    assert (found.compared, found.passed, found.found) == (2, 2, [])


def test_what_the_unedited_kernel_shows_as_well_is_not_of_the_edit():
    bad = _record("old", "e", "crash")
    assert _compared(bad, _record("new", "e")).found
    assert not _compared(bad, _record("new", "e"), of_plain=[_record("old", "toy", "crash")]).found


def test_a_refusal_counts_where_another_column_compiles_it():
    bad = _record("old", "e", "compile-error")
    (found,) = _compared(bad, _record("new", "e")).found
    assert (found.kind, found.suspect.bad.column, found.suspect.good.column) == ("refusal", "old", "new")  # fmt: skip
    everywhere = _compared(bad, _record("new", "e", "compile-error"))
    assert not everywhere.found and everywhere.refused == [EDIT.name]


def test_wrong_numbers_need_a_second_witness_and_a_column_that_is_right():
    bad, good = _record("old", "e", "mismatch"), _record("new", "e")
    alone = _compared(bad, good)
    assert not alone.found and sum(alone.doubted.values()) == 1
    other = _record("old", "e", "mismatch", "fp16"), _record("new", "e", case="fp16")
    (found,) = _compared(bad, good, *other).found
    assert found.kind == "numbers" and found.record.column == "old"
    assert not _compared(bad, _record("new", "e", "mismatch")).found


def test_one_root_cause_is_told_once_and_the_smallest_of_it():
    longer = replace(EDIT, name=f"{EDIT.name}_2", text=EDIT.text + "\n# more\n")
    cells = [_record("old", "toy"), _record("new", "toy")]
    for edit in (longer, EDIT):
        cells += [_record("old", edit.name, "crash"), _record("new", edit.name)]
    (found,) = metamorphic.compare(cells, [longer, EDIT], list(RELEASES), RELEASES, ()).found
    assert found.edit is EDIT


def test_a_timeout_beside_other_jobs_is_not_believed():
    late = _record("old", "e", "timeout")
    hurried = _compared(late, _record("new", "e"))
    assert not hurried.found and hurried.doubted[metamorphic.HURRIED] == 1
    assert _compared(replace(late, resources={"alone": True}), _record("new", "e")).found


def test_the_shape_that_an_edit_makes_is_known_by_its_issue():
    known = issues.load()
    bad = [_record("new", "e", "mismatch", case) for case in ("fp32", "fp16")]
    good = [_record("old", "e", case=case) for case in ("fp32", "fp16")]
    (found,) = _compared(*bad, *good, known=known).found
    assert found.issue == "triton-7200"
    other = next(edit for edit in edited("toy", MODULE, 1) if edit.kind.name == "one-turn")
    (found,) = _compared(*bad, *good, known=known, edit=other).found
    assert found.issue == ""


# In FPSan.


def test_in_fpsan_an_edit_is_held_to_the_unedited_kernel_bit_for_bit(tmp_path):
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "toy.py").write_text(MODULE)
    made = edited_run.written(suite, ["toy"], 1, tmp_path / "made", exact=True)
    exact = [one for one in made if one.exact]
    assert len(exact) == len(made) // 2 and {one.kernel for one in exact} == {"toy__fpsan"}
    for one in exact:
        text = (tmp_path / "made" / f"{one.name}.py").read_text()
        imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import)]
        names = {alias.name for node in imports for alias in node.names}
        assert {"toy", one.name.removesuffix("__fpsan")} <= names
        assert all((tmp_path / "made" / f"{name}.py").exists() for name in names if name.startswith("toy"))  # fmt: skip
    ast.parse((tmp_path / "made" / "toy__fpsan.py").read_text())
    has = [ring.has(release) for release in ("2.3.1", "3.8.0", "3.9.0", "3.10.0")]
    assert has == [False, False, True, True]


def test_other_bits_in_fpsan_need_two_witnesses_and_no_other_release():
    exact = ring.in_ring(EDIT)
    plain = [_record("new", exact.kernel, case=case) for case in ("fp32", "fp16")]
    one = _record("new", exact.name, "mismatch")
    two = _record("new", exact.name, "mismatch", "fp16")

    def compared(*cells):
        return metamorphic.compare([*plain, *cells], [exact], ["new"], {"new": "3.9.0"}, ())

    assert not compared(one, replace(two, outcome="pass")).found
    (found,) = compared(one, two).found
    assert (found.kind, found.suspect.good) == ("numbers", None)
    # Where the unedited kernel is not the same twice, nothing is said of an edit.
    plain = []
    assert not compared(one, two).found
