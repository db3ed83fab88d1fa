"""What `crosswarp fuzz` believes: the oracles, as pure functions of the cells of one program."""

import dataclasses

import pytest

from crosswarp.laboratory.fuzzing import costs, known, triage
from crosswarp.laboratory.fuzzing.judging import (
    CRASH,
    NUMBERS,
    REFUSAL,
    RESOURCES,
    SLOW,
    Cell,
    judge,
    witness,
)
from crosswarp.laboratory.fuzzing.program import Program
from crosswarp.matrix.facts import issues

OLD, MID, NEW = "triton-3.1.0", "triton-3.2.0", "triton-3.6.0"


def cell(column, outcome="pass", target="sm_80", **more):
    more.setdefault("phase", "compare" if outcome == "mismatch" else "compile")
    more.setdefault("compile_seconds", 0.5)
    return Cell(column, target, outcome, **more)


def kinds(*cells):
    return [(one.kind, one.bad.column, one.doubt) for one in judge(cells)]


def test_nothing_is_found_where_all_agree():
    assert not kinds(cell(OLD), cell(MID), cell(NEW))
    assert not kinds(cell(OLD), cell(MID, "unsupported"), cell(NEW, "limit"), cell(NEW, "not-run"))


@pytest.mark.parametrize("outcome", ["crash", "timeout"])
def test_a_compiler_that_dies_is_found_even_alone(outcome):
    assert kinds(cell(MID, outcome)) == [(CRASH, MID, "")]
    found = judge([cell(OLD), cell(MID, outcome), cell(NEW)])
    assert [(one.kind, one.good.column) for one in found] == [(CRASH, OLD)]


def test_a_refusal_counts_where_another_column_compiles_for_the_same_target():
    assert kinds(cell(OLD, "compile-error"), cell(NEW)) == [(REFUSAL, OLD, "")]
    # The generator's own mistake, and a target's limit.
    assert not kinds(cell(OLD, "compile-error"), cell(NEW, "api-error"))
    assert not kinds(cell(OLD, "compile-error"), cell(NEW, target="sm_90"))


def test_a_slow_compilation_is_five_times_its_neighbours_and_some_seconds():
    usual = [cell(OLD, compile_seconds=1.0), cell(NEW, compile_seconds=1.4)]
    assert kinds(*usual, cell(MID, compile_seconds=9.0)) == [(SLOW, MID, "")]
    assert not kinds(*usual, cell(MID, compile_seconds=4.9))
    quick = [cell(OLD, compile_seconds=0.1), cell(NEW, compile_seconds=0.1)]
    assert not kinds(*quick, cell(MID, compile_seconds=4.0))
    # One neighbour may be the odd one.
    assert not kinds(cell(OLD, compile_seconds=1.0), cell(MID, compile_seconds=9.0))


def costing(column, target="sm_80", **figures):
    figures = {"num_warps": 4, "registers": 40, "stack": 0, "spills": None, "shared": 1024, **figures}  # fmt: skip
    return cell(column, target=target, resources=figures)


def test_a_jump_in_resources_is_beside_both_neighbours_and_by_the_thresholds_of_the_matrix():
    (found,) = judge([costing(OLD), costing(MID, stack=512), costing(NEW)])
    assert (found.kind, found.bad.column, found.good.column) == (RESOURCES, MID, OLD)
    assert costs.words(costs.more(found.bad, found.good)) == "stack 0 -> 512"
    # A little; a column that was better than all; one neighbour; another target.
    assert not kinds(costing(OLD), costing(MID, stack=32), costing(NEW))
    worse = {"registers": 255, "stack": 800}
    assert not kinds(costing(OLD, **worse), costing(MID), costing(NEW, **worse))
    assert not kinds(costing(OLD), costing(MID, stack=512))
    assert not kinds(costing(OLD), costing(MID, "sm_90", stack=512), costing(NEW))
    # What an older crosswarp kept has no number of warps, and is compared with nothing.
    bare = cell(MID, resources={"registers": 255, "spills": 90, "shared": 0})
    assert not kinds(costing(OLD), bare, costing(NEW))


def test_what_costs_more_is_shown_where_it_costs_more():
    cells = [costing(OLD), costing(MID, stack=512), costing(NEW)]
    (suspect,) = judge(cells)
    assert [triage.shows(one, suspect, cells) for one in cells] == [False, True, False]


def test_wrong_numbers_need_right_ones_elsewhere():
    assert kinds(cell(OLD, "mismatch"), cell(NEW, "mismatch"))[0][2].startswith("no column has")


def test_wrong_numbers_need_a_second_witness():
    assert kinds(cell(OLD), cell(NEW, "mismatch")) == [(NUMBERS, NEW, "no second witness")]
    both = [cell(OLD), cell(MID, "mismatch"), cell(NEW, "mismatch")]
    assert kinds(*both) == [(NUMBERS, MID, ""), (NUMBERS, NEW, "")]
    targets = [cell(OLD), cell(NEW, "mismatch"), cell(NEW, "mismatch", target="sm_90")]
    assert kinds(*targets) == [(NUMBERS, NEW, "")] * 2
    warps = dataclasses.replace(cell(NEW, "mismatch"), options=(("num_warps", 8),))
    assert witness(cell(NEW, "mismatch"), warps)
    assert not witness(cell(NEW, "mismatch"), cell(NEW, "mismatch"))


def test_a_fault_while_it_is_executed_is_a_wrong_number_and_no_crash_of_the_compiler():
    fault = cell(NEW, "crash", phase="execute")
    assert kinds(cell(OLD), fault)[0][0] == NUMBERS
    # The machine's own time limit says nothing.
    assert not kinds(cell(OLD), cell(NEW, "timeout", phase="execute", reason="longer than 60 s"))


def test_the_good_cell_is_the_nearest_on_the_same_target():
    cells = [cell(OLD), cell(MID, "crash"), cell(NEW), cell(MID, target="sm_90")]
    assert judge(cells)[0].good == cells[0]
    cells = [cell(MID, "crash"), cell(NEW, target="sm_90"), cell(MID, target="sm_90")]
    assert judge(cells)[0].good.column == MID


def test_what_is_avoided_is_in_the_window_of_its_issue():
    table = issues.load()
    assert all(name in {issue.id for issue in table} for _, _, name in known.SHAPES)
    assert "alias-start" in known.avoided(table, ["3.2.0", "3.9.0"], 0)
    assert "alias-start" not in known.avoided(table, ["3.2.0"], 0)
    # One in eight is made of everything.
    assert not known.avoided(table, ["3.9.0"], known.UNRESTRICTED - 1)


def test_a_known_crash_is_known_inside_its_window_alone():
    table = issues.load()
    text = (
        "LinearLayout.cpp: LinearLayout::reshapeOuts: Assertion `getTotalOutDimSize() == 1' failed"
    )
    suspect = judge([cell(MID, "crash", target="sm_90", fingerprint=text)])[0]
    assert known.explains(suspect, (), "3.2.0", table) == "fla-196"
    assert known.explains(suspect, (), "3.6.0", table) == ""


def test_wrong_numbers_are_known_by_a_shape_and_a_window():
    table = issues.load()
    suspect = judge([cell(OLD), cell(NEW, "mismatch"), cell(NEW, "mismatch", target="sm_90")])[0]
    assert known.explains(suspect, {"alias-start"}, "3.6.0", table) == "triton-7200"
    assert known.explains(suspect, {"loop"}, "3.6.0", table) == ""
    assert known.explains(suspect, {"alias-start"}, "3.2.0", table) == ""


def _finding(name, tags, bad, fingerprint=""):
    kind = CRASH if fingerprint else NUMBERS
    outcome = "crash" if fingerprint else "mismatch"
    cells = [
        cell(column, outcome if column in bad else "pass", fingerprint=fingerprint)
        for column in (OLD, MID, NEW)
    ]
    program = Program(name, "", "", (), {}, {}, frozenset(tags))
    shown = next(one for one in cells if one.outcome != "pass")
    return triage.Finding(name, kind, program, name, triage.Suspect(kind, shown, None), cells)


def test_two_findings_are_one_cause_by_text_or_by_shape_and_window():
    one = _finding("a", {"dot-acc"}, [MID], "abort A")
    assert triage.same_cause(one, _finding("b", {"scan"}, [OLD], "abort A"))
    assert not triage.same_cause(one, _finding("b", {"dot-acc"}, [MID], "abort B"))
    wrong = _finding("a", {"loop", "cast-int8"}, [MID, NEW])
    assert triage.same_cause(wrong, _finding("b", {"loop", "cast-int16"}, [MID, NEW]))
    assert not triage.same_cause(wrong, _finding("b", {"loop"}, [MID]))
    assert not triage.same_cause(wrong, _finding("b", {"dot-acc"}, [MID, NEW]))
    assert not triage.same_cause(wrong, one)
    assert triage.window(wrong) == {"sm_80": [MID, NEW]}


def test_a_refusal_is_known_by_shape_text_and_window():
    table = issues.load()
    text = "CompilationError: AssertionError('Currently only support flipping the last dimension')"
    suspect = judge([cell(MID, "compile-error", fingerprint=text), cell(NEW)])[0]
    assert known.explains(suspect, {"flip-outer"}, "3.2.0", table) == "triton-6853"
    assert known.explains(suspect, {"flip"}, "3.2.0", table) == ""
    assert known.explains(suspect, {"flip-outer"}, "3.6.0", table) == ""
    other = judge([cell(MID, "compile-error", fingerprint="something else"), cell(NEW)])[0]
    assert known.explains(other, {"flip-outer"}, "3.2.0", table) == ""


def test_what_the_first_long_run_found_is_known_by_its_shape():
    table = issues.load()

    def named(outcome, text, tag, release):
        cells = [
            cell(MID, outcome, fingerprint=text),
            cell(MID, outcome, target="sm_90"),
            cell(NEW),
        ]
        return known.explains(judge(cells)[0], {tag}, release, table)

    short = ("mismatch", "", "scan-short")
    assert [named(*short, one) for one in ("3.0.0", "3.2.0", "3.3.1")] == ["triton-5840"] * 2 + [""]
    refused = (
        "compile-error",
        "CompilationError: AssertionError in semantic.py: dot",
        "dot-int8-acc",
    )
    assert [named(*refused, one) for one in ("3.4.0", "3.5.1", "3.8.0")] == ["", "triton-10341", ""]
    text = "SIGABRT: LLVM ERROR: Failed to translate TritonGPU to LLVM IR."
    assert named("crash", text, "max-bfloat16", "2.3.1") == "triton-2677"
    assert named("crash", text, "max-bfloat16", "3.0.0") == ""
    # the finding refusal_s902_207: a scan with tl.maximum
    text = "CompilationError: MLIR error: 'tt.scan' op type mismatch on combine operation."
    assert named("compile-error", text, "max-bfloat16", "3.8.0") == "triton-3220"
    assert named("compile-error", text, "max-bfloat16", "3.9.0") == ""
    assert named("compile-error", text, "loop", "3.8.0") == ""
    # the finding crash_s902_221: tl.trans of a constant
    text = (
        "SIGABRT: UNREACHABLE in Dialect.cpp: getElemsPerThread is not supported for shared layout"
    )
    assert named("crash", text, "trans", "2.3.1") == "constant-transposed"
    assert named("crash", text, "dot-trans", "2.3.1") == "constant-transposed"
    assert named("crash", text, "loop", "2.3.1") == ""
    # programs 178, 221 and 457 of seed 902, and 24894 of seed 1002
    told = [
        [named("mismatch", "", tag, one) for one in ("2.3.1", "3.0.0", "3.2.0", "3.4.0", "3.9.0")]
        for tag in (
            "dot-trans-cast",
            "dot-int8-made",
            "dot-made-cast",
            "loop-mask",
            "atomic-result",
            "fetched-inside",
        )  # fmt: skip
    ]
    assert told == [
        ["", "transposed-product", "transposed-product", "", ""],
        ["triton-3580"] * 3 + [""] * 2,
        ["triton-3580-converted"] * 3 + [""] * 2,
        ["ragged-mask"] * 2 + [""] * 3,
        ["triton-7402"] * 4 + [""],
        ["overwritten-operand"] * 5,
    ]
    for tag, release in (
        ("dot-trans-cast", "3.1.0"),
        ("dot-int8-made", "2.3.1"),
        ("dot-made-cast", "3.2.0"),
        ("loop-mask", "3.1.0"),
        ("atomic-result", "3.4.0"),
        ("scan-short", "3.1.0"),
        ("histogram-reduced", "3.4.0"),
        ("dot-int8-acc", "3.6.0"),
        ("max-bfloat16", "2.3.1"),
    ):
        assert tag in known.avoided(table, [release], 0)
        assert tag not in known.avoided(table, ["3.9.0"], 0)


def test_what_a_cluster_gets_wrong_is_known_of_programs_with_one():
    table = issues.load()

    def named(outcome, text, tag, release):
        cells = [
            cell(MID, outcome, target="sm_90", fingerprint=text),
            cell(OLD, outcome, target="sm_90"),
            cell(NEW, target="sm_90"),
        ]
        return known.explains(judge(cells)[0], {tag}, release, table)

    # program 5147 of seed 1002, 23973 of the same, 2375 and 15835 of seed 1001
    wrong = [
        named("mismatch", "", tag, "3.9.0") for tag in ("cluster-gather", "gather", "num-ctas")
    ]
    assert wrong == ["cluster-gather", "", ""]
    for text, tag, release, name in (
        ("setOptimizedGatherLayout: Assertion `GatherLoweringHelper(op).isWarpLocal()' failed",
         "cluster-gather", "3.3.1", "cluster-gather-refused"),
        ("RuntimeError: MLIR error: 'nvvm.mapa' op result #0 must be LLVM pointer in address space 0",
         "num-ctas", "3.6.0", "cluster-trans"),
        ("RuntimeError: LLVM ERROR: Invalid bases passed to LinearLayout. Expect all bases",
         "num-ctas", "3.7.1", "cluster-join"),
        ("RuntimeError: MLIR error: failed to legalize operation 'ttg.local_alloc' that was explicitly marked illegal",
         "num-ctas", "3.5.1", "cluster-product-turned"),
    ):  # fmt: skip
        assert named("compile-error", text, tag, release) == name
        assert named("compile-error", text, "loop", release) == ""


def test_the_numbers_of_variables_are_no_cause():
    said = "CompilationError: v{} = tl.dot(v{}, v3.to(tl.float16)) of 16"
    found = [
        judge([cell(OLD), cell(MID, "compile-error", fingerprint=said.format(*numbers))])[0]
        for numbers in ((1, 2), (14, 21))
    ]
    assert (
        found[0].key
        == found[1].key
        == (REFUSAL, "CompilationError: v = tl.dot(v, v.to(tl.float16)) of 16")
    )
