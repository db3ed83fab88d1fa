"""Whose kernels a run is of: a user's failure fails her run, with whose fault it is and the next step in one line."""

from __future__ import annotations

import json
import time

import pytest

from crosswarp.matrix.errors import EXIT_EXPECTED, EXIT_UNEXPECTED
from crosswarp.matrix.facts import issues
from crosswarp.matrix.results import fault, owned
from crosswarp.matrix.results.owned import Expected, Owner
from crosswarp.matrix.work.suite import Suite
from crosswarp.reports.findings.view import view
from crosswarp.reports.text.comment import comment
from crosswarp.reports.text.summary import summary

SUITE = {"suite": "mine"}
NOBODY = Owner("suite")
# As cells say it, on Triton 3.9.0 or 3.2.0: kernel, version, what failed, whose fault it is, and the next step.
TEN = {
    "removed API": (
        "3.9.0", {"outcome": "compile-error", "phase": "compile", "fingerprint":
        "AttributeError: module 'triton.language' has no attribute '_experimental_descriptor_load'"},
        "your kernel: this Triton does not have _experimental_descriptor_load",
    ),
    "a name that never was": (
        "3.9.0", {"outcome": "compile-error", "phase": "compile", "fingerprint":
        "AttributeError: module 'triton.language' has no attribute 'silu'"},
        "your kernel: no release of Triton has silu: correct its name",
    ),
    "removed option": (
        "3.9.0", {"outcome": "api-error", "phase": "bind", "fingerprint":
        "KeyError: 'Keyword argument pipeline_all was specified but unrecognised'"},
        "your kernel: this Triton does not have pipeline_all",
    ),
    "an option in capitals": (
        "3.9.0", {"outcome": "api-error", "phase": "bind", "fingerprint":
        "KeyError: 'Keyword argument NUM_WARPS was specified but unrecognised'"},
        "your kernel: write the option NUM_WARPS as num_warps",
    ),
    "an instruction that the target lacks": (
        "3.9.0", {"outcome": "compile-error", "phase": "compile", "fingerprint":
        "PTXASError: ptxas error : Feature 'cvt.f16x2.e2m1x2' not supported on .target '<target>'",
        "message": "PTXASError: PTXAS error: Internal Triton PTX codegen error"},
        "your kernel: the assembler refuses its inline assembly",
    ),
    "removed attribute": (
        "3.9.0", {"outcome": "api-error", "phase": "bind", "fingerprint":
        "AttributeError: 'JITFunction' object has no attribute 'starter'"},
        "your kernel: this Triton does not have starter",
    ),
    "shared memory": (
        "3.9.0", {"outcome": "limit", "phase": "launch", "reason": "OutOfResources", "fingerprint":
        "OutOfResources: out of resource: shared memory, Required: 262144, Hardware limit: 232448"},
        "your kernel: too large for sm_90: smaller blocks",
    ),
    "syntax": (
        "3.9.0", {"outcome": "api-error", "phase": "import", "reason": "SyntaxError", "fingerprint":
        "SyntaxError: invalid syntax"}, "your kernel: correct its syntax",
    ),
    "no part of the language": (
        "3.9.0", {"outcome": "compile-error", "phase": "compile", "fingerprint":
        "UnsupportedLanguageConstruct: unsupported AST node type: Lambda"},
        "your kernel: write it without lambda",
    ),
    "static assert": (
        "3.9.0", {"outcome": "compile-error", "phase": "compile", "fingerprint":
        "CompileTimeAssertionFailure: BLOCK is 64"},
        "your kernel: its tl.static_assert fails (BLOCK is 64)",
    ),
    "no such type": (
        "3.9.0", {"outcome": "compile-error", "phase": "compile", "target": "sm_80", "fingerprint":
        "CompilationError: type fp8e4nv not supported in this architecture."},
        "your kernel: sm_80 has no fp8e4nv",
    ),
    "NVIDIA's alone": (
        "3.9.0", {"outcome": "compile-error", "phase": "compile", "target": "gfx942", "fingerprint":
        "RuntimeError: MLIR error: failed to legalize operation 'tt.grid_dependency_wait' that was"},
        "your kernel: it uses what NVIDIA's GPUs alone have",
    ),
    "undefined name": (
        "3.2.0", {"outcome": "compile-error", "phase": "compile", "fingerprint":
        "CompilationError: NameError('scale is not defined')"}, "your kernel: define scale",
    ),
    "missing package": (
        "3.9.0", {"outcome": "api-error", "phase": "import", "reason": "ModuleNotFoundError", "fingerprint":
        "ModuleNotFoundError: No module named 'einops'"}, "your environment: pip install einops",
    ),
    "package of another name": (
        "3.9.0", {"outcome": "api-error", "phase": "import", "reason": "ModuleNotFoundError", "fingerprint":
        "ModuleNotFoundError: No module named 'yaml.nodes'"}, "your environment: pip install pyyaml",
    ),
    "package of another name in the message alone": (
        "3.9.0", {"outcome": "api-error", "phase": "import", "reason": "ImportError", "fingerprint":
        "ImportError: needs the DSL", "message": "ModuleNotFoundError: No module named 'cutlass'"},
        "your environment: pip install nvidia-cutlass-dsl",
    ),
    "another release of a package": (
        "3.9.0", {"outcome": "api-error", "phase": "import", "reason": "ImportError", "fingerprint":
        "ImportError: cannot import name 'rotary' from 'einops.layers' (__init__.py)"},
        "your environment: the einops that is installed has no rotary",
    ),
    "known crash": (
        "3.2.0", {"outcome": "crash", "phase": "compile", "reason": "SIGABRT", "fingerprint":
        "LinearLayout.cpp: LinearLayout::reshapeOuts: Assertion `getTotalOutDimSize() == std::accumulate"},
        "Triton: known issue fla-196 (https://github.com/fla-org/flash-linear-attention/issues/196)",
    ),
    "unknown crash": (
        "3.9.0", {"outcome": "crash", "phase": "compile", "reason": "SIGSEGV", "fingerprint": "SIGSEGV"},
        "Triton: its compiler dies: no known issue is like it",
    ),
    "wrong numbers": (
        "3.9.0", {"outcome": "mismatch", "phase": "execute", "fingerprint": "mismatch: y wrong", "lane": "emulate"},
        "your kernel: its numbers differ",
    ),
    "hang": (
        "3.9.0", {"outcome": "timeout", "reason": "longer than 120 s", "fingerprint": "timeout", "lane": "emulate"},
        "your kernel: it does not end",
    ),
    "plain global": (
        "3.9.0", {"outcome": "compile-error", "phase": "compile", "fingerprint":
        "CompilationError: NameError(\"Cannot access global variable LOG2_E from within @jit'ed function"},
        "your kernel: a kernel reads no plain global: LOG2_E = tl.constexpr(...), or pass it to the kernel",
    ),
    "out of bounds": (
        "3.9.0", {"outcome": "crash", "phase": "execute", "lane": "emulate", "fingerprint":
        "fault: out-of-bounds access in lengths"},
        "your kernel: it reads or writes out of its memory",
    ),
    "slow compilation": (
        "3.9.0", {"outcome": "timeout", "reason": "longer than 120 s", "fingerprint": "timeout"},
        "your kernel: it takes too long to compile",
    ),
    "host code without an end": (
        "3.9.0", {"outcome": "timeout", "phase": "host", "reason": "longer than 120 s", "fingerprint": "timeout"},
        "your host code: it takes too long outside of the compiler",
    ),
    "file whose import does not end": (
        "3.9.0", {"outcome": "timeout", "phase": "import", "reason": "longer than 120 s", "fingerprint": "timeout"},
        "your host code: it takes too long in the import of its file",
    ),
    "host code that aborts": (
        "3.9.0", {"outcome": "crash", "phase": "host", "reason": "SIGABRT", "fingerprint": "SIGABRT"},
        "your host code: the process ends outside of the compiler (SIGABRT)",
    ),
    "host code that exits": (
        "3.9.0", {"outcome": "crash", "phase": "host", "reason": "exit 3 without a result", "fingerprint":
        "exit 3 without a result"}, "your host code: the process ends outside of the compiler (exit 3",
    ),
    "boundary_check outside of Gluon": (
        "3.9.0", {"outcome": "compile-error", "phase": "compile", "fingerprint":
        "CompilationError: store() got an unexpected keyword argument 'boundary_check'"},
        "Triton: known issue triton-10833 (https://github.com/triton-lang/triton/pull/10833)",
    ),
    "package that fails in its import": (
        "3.9.0", {"outcome": "api-error", "phase": "import", "reason": "AttributeError", "fingerprint":
        "AttributeError: attribute '__dict__' of 'type' objects is not writable", "message":
        "tests/test_a.py:1: in <module>\n    import lib\n../beside/requires-25ebf8ccb780bd64/tilelang/__init__.py:133: "
        "in <module>\n../beside/requires-25ebf8ccb780bd64/tvm_ffi/registry.py:403: in _add\nE   AttributeError: a"},
        "your environment: tilelang fails while it is imported",
    ),
    "call of a package in an import": (
        "3.9.0", {"outcome": "api-error", "phase": "import", "reason": "OSError", "fingerprint":
        "OSError: Repo id must be in the form", "message":
        "tests/test_a.py:1: in <module>\n    t = f('x')\n../beside/requires-25ebf8ccb780bd64/transformers/auto.py:133: "
        "in from_pretrained\nE   OSError: Repo id must be in the form"},
        "your kernel: the message says where",
    ),
    "test that takes long": (
        "3.9.0", {"kernel": "test_a::test_b", "outcome": "timeout", "reason": "longer than 120 s", "fingerprint":
        "timeout"}, "your environment: the test, with what it compiles, takes longer than its time",
    ),
    "constant given twice": (
        "3.9.0", {"outcome": "api-error", "phase": "bind", "reason": "TypeError", "fingerprint":
        "TypeError: triton.JITFunction.run() got multiple values for keyword argument 'BLOCK'"},
        "your host code: leave BLOCK out of the launch",
    ),
    "constant given twice, several configurations": (
        "3.9.0", {"outcome": "api-error", "phase": "bind", "reason": "ValueError", "fingerprint":
        "ValueError: Conflicting meta-parameters: BLOCK. Make sure that you don't re-define auto-tuned symbols."},
        "your host code: leave BLOCK out of the launch",
    ),
    "no such module of torch": (
        "3.2.0", {"outcome": "api-error", "phase": "import", "reason": "ModuleNotFoundError", "fingerprint":
        "ModuleNotFoundError: No module named 'torch.distributed.pipelines'"},
        "your environment: the torch that is installed has no torch.distributed.pipelines: install another release",
    ),
    "inline assembly": (
        "3.9.0", {"outcome": "compile-error", "phase": "compile", "fingerprint":
        "PTXASError: ptxas fatal : Parsing error near 'no': syntax error"},
        "your kernel: the assembler refuses its inline assembly",
    ),
    "AMD limit": (
        "3.9.0", {"outcome": "limit", "phase": "launch", "reason": "OutOfResources", "target": "gfx942", "fingerprint":
        "OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 65536"},
        "your kernel: too large for gfx942",
    ),
}  # fmt: skip


def cell(kernel="mine", mode="bare", **changes):
    found = {
        "event": "cell", "target": "sm_90", "lane": "compile", "mode": mode, "kernel": kernel, "case": "a",
        "config": "", "outcome": "pass", "seconds": 0.1, **changes,
    }  # fmt: skip
    item = "/".join(found[name] for name in ("target", "lane", "mode", "kernel", "case"))
    return [{"event": "start", "item": item}, found, {"event": "end", "item": item, "cells": 1}]


@pytest.fixture
def ran(fake_run, monkeypatch, tmp_path):
    """`ran(cells, owner)`: the exit status of a run of a user's suite, its summary, and its view."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "mine.py").write_text("KERNEL = None\n")

    def go(*cells, owner=NOBODY, version="3.2.0", known=None, modes=("bare", "shimmed")):
        known = issues.load(issues.DEFAULT_FILE) if known is None else known
        lane = cells[0][1]["lane"]
        steps = [
            {
                "event": "session",
                "lane": lane,
                "versions": {"triton": version},
                "planned": len(cells),
            }
        ]
        result = fake_run(
            [*steps, *(step for one in cells for step in one)], (f"triton-{version}",), known,
            work=Suite(folder, owner=owner), modes=modes, lanes=(lane,),
        )  # fmt: skip
        with fake_run.store() as store:
            ended = view(store, known, result.run)
        return result.exit_code, summary(ended), ended

    return go


@pytest.mark.parametrize("why", TEN)
def test_a_users_failure_fails_her_run_with_its_owner_and_the_next_step(ran, why):
    version, failure, said = TEN[why]
    code, text, ended = ran(
        cell(**failure), cell(**{**failure, "mode": "shimmed"}), version=version
    )
    assert code == EXIT_UNEXPECTED
    # In one line, whole.
    assert any(line.strip().startswith(said) for line in text.splitlines()), text
    for ours in (
        "FAILS UNEXPECTEDLY",
        "WRONG WINDOW",
        "Correct the shim",
        "all known upstream",
    ):
        assert ours not in text, text
    if not said.startswith("Triton: its compiler"):
        assert "report it upstream" not in text
    assert said.split(":")[0] in comment(ended) and "✅" not in comment(ended)


def test_what_compat_fixes_fails_until_her_settings_say_that_she_installs_it(ran):
    version, failure, said = TEN["known crash"]
    cells = cell(**failure), cell(mode="shimmed", shims=["compiler_crash"])
    code, text, _ = ran(*cells, version=version)
    assert code == EXIT_UNEXPECTED and f"fixed by compat: {fault.INSTALL}" in text
    code, text, _ = ran(*cells, owner=Owner("suite", compat=True), version=version)
    assert code == EXIT_EXPECTED and "1 fail as you expect" in text
    # With compat it is red as well: compat decides.
    both = cell(**failure), cell(**{**failure, "mode": "shimmed"})
    assert ran(*both, owner=Owner("suite", compat=True), version=version)[0] == EXIT_UNEXPECTED
    # Nothing says so where compat did not run.
    alone = ran(
        cell(**failure), owner=Owner("suite", compat=True), version=version, modes=("bare",)
    )
    assert alone[0] == EXIT_UNEXPECTED


def test_what_compat_alone_breaks_is_crosswarps(ran):
    code, text, _ = ran(
        cell(), cell(mode="shimmed", outcome="compile-error", fingerprint="TypeError: x")
    )
    assert code == EXIT_UNEXPECTED and "crosswarp: report it to crosswarp" in text


def test_what_she_lists_is_expected_and_strict(ran):
    failure = {"outcome": "compile-error", "fingerprint": "TypeError: x"}
    owner = Owner("suite", xfail=(Expected("mi*/a", triton="<3.3"),))
    both = cell(**failure), cell(**{**failure, "mode": "shimmed"})
    code, text, _ = ran(*both, owner=owner)
    assert code == EXIT_EXPECTED and "Expected by you: 2 cells (xfail" in text
    assert ran(*both, owner=owner, version="3.3.1")[0] == EXIT_UNEXPECTED
    code, text, _ = ran(cell(), cell(mode="shimmed"), owner=owner)
    assert code == EXIT_UNEXPECTED and "PASSES UNEXPECTEDLY (1 cell)" in text


def test_what_her_baseline_has_is_expected_and_nothing_else(ran):
    failure = {"outcome": "compile-error", "fingerprint": "TypeError: x"}
    _, _, ended = ran(cell(**failure), modes=("bare",))
    owner = Owner("suite", accepted=owned.accepted(ended.records))
    assert ran(cell(**failure), owner=owner, modes=("bare",))[0] == EXIT_EXPECTED
    other = {**failure, "fingerprint": "TypeError: y"}
    assert ran(cell(**other), owner=owner, modes=("bare",))[0] == EXIT_UNEXPECTED


def test_a_fingerprint_of_everybodys_mistakes_only_looks_like_an_issue(ran):
    version, failure, _ = TEN["undefined name"]
    _, text, ended = ran(cell(**failure), cell(**{**failure, "mode": "shimmed"}), version=version)
    assert "looks like triton-3035" in text and not ended.issue_of
    # Where its own shim was seen to fix it, it is that.
    _, text, ended = ran(
        cell(**failure), cell(mode="shimmed", shims=["closure_names"]), version=version
    )
    assert "known issue triton-3035" in text and "looks like" not in text


def test_a_tuning_key_that_3_9_refuses_while_a_file_is_imported_looks_like_its_issue(ran):
    failure = {
        "kernel": "collection", "case": "import", "outcome": "api-error",
        "fingerprint": "ValueError: key contains names that are not kernel arguments: BT. Valid argument names are: h",
    }  # fmt: skip
    _, text, _ = ran(cell(**failure), modes=("bare",), version="3.9.0")
    assert "looks like triton-11602" in text and "Take the name out of the key" in text
    _, text, _ = ran(cell(**failure), modes=("bare",), version="3.8.0")
    assert "triton-11602" not in text


def test_a_kernel_that_is_called_as_one_of_ours_has_none_of_its_issues(ran):
    ours = next(
        one for one in issues.load(issues.DEFAULT_FILE) if one.case and one.kernels != ("*",)
    )
    name = ours.case[0].kernel
    code, text, _ = ran(cell(kernel=name), cell(kernel=name, mode="shimmed"), version="3.2.0")
    assert code == EXIT_EXPECTED and "GREEN" not in text


def test_her_own_records_are_as_strict_as_ours(ran, make_issue):
    hers = make_issue(
        id="hers-1", kernels=["mine"], fingerprint="TypeError", outcome="compile-error", case={"kernel": "mine"},
        status="reproduced", shim=None, configs=["*"], triton="",
    )  # fmt: skip
    owner = Owner("suite", issues=frozenset({"hers-1"}))
    failure = {"outcome": "compile-error", "fingerprint": "TypeError: x"}
    assert ran(cell(**failure), owner=owner, known=[hers], modes=("bare",))[0] == EXIT_EXPECTED
    assert ran(cell(), owner=owner, known=[hers], modes=("bare",))[0] == EXIT_UNEXPECTED


def test_crosswarps_own_suite_stays_as_it_is(fake_run, make_issue):
    issue = make_issue(
        kernels=["softmax"], fingerprint="SIGABRT", case={"kernel": "softmax"}, configs=["*"]
    )
    steps = [{"event": "session", "lane": "compile", "versions": {"triton": "3.2.0"}, "planned": 1}]
    steps += cell("softmax", outcome="crash", fingerprint="SIGABRT")
    assert fake_run(steps, issues=[issue]).exit_code == EXIT_EXPECTED


def test_what_the_store_keeps_of_an_owner_is_the_owner():
    owner = Owner(
        "suite", True, (Expected("a*", "<3.3", ("gfx*",), "why"),), frozenset({"x"}), frozenset({("c", "w")})
    )  # fmt: skip
    assert owned.of_plan({**SUITE, **json.loads(json.dumps(owner.about()))}) == owner
    assert owned.of_plan({}) == Owner() and owned.of_plan({"library": {}, "owner": 1}).whose == ""
    assert not Owner("suite").about()


def test_a_long_word_in_a_message_takes_no_time(make_record):
    record = make_record(outcome="compile-error", message="w" * 40_000)
    before = time.process_time()
    assert fault.of(record).whose
    assert time.process_time() - before < 0.5


_ABORTS = "LLVM ERROR: Cannot select"
_PTXAS = "ptxas fatal : Unexpected instruction types"
_LEGALIZE = "RuntimeError: failed to legalize operation 'ttng.tmem_alloc'"
# Cells that differ from a neighbour's in one field -> how the answer begins.
FAULTS = [
    ({"fingerprint": "IndentationError: unexpected indent"}, "your kernel: correct its syntax"),
    ({"fingerprint": "x", "message": "SyntaxError: invalid"}, "your kernel: correct its syntax"),
    ({"reason": "harness: no frame", "fingerprint": "SyntaxError"}, "crosswarp: report it"),
    ({"fingerprint": "CompileTimeAssertionFailure"}, "your kernel: its tl.static_assert fails: pass"),
    ({"fingerprint": "ModuleNotFoundError: No module named 'torch'"}, "your kernel: the message says where"),
    ({"fingerprint": "ModuleNotFoundError: No module named 'triton.tools.experimental'"},
     "your kernel: this Triton does not have triton.tools.experimental"),
    ({"fingerprint": "ModuleNotFoundError: No module named 'triton.language.extra.tlx'"}, "your kernel: TLX is"),
    ({"fingerprint": "AttributeError: module 'triton.language' has no attribute 'dot'"},
     "your kernel: this Triton does not have dot"),
    ({"fingerprint": "x() got an unexpected keyword argument 'allow_tf32'"},
     "your kernel: this Triton does not have allow_tf32"),
    ({"fingerprint": "x() got an unexpected keyword argument 'NUM_WARPS'"},
     "your kernel: this Triton does not have NUM_WARPS"),
    ({"fingerprint": "KeyError: 'Keyword argument num_foo was specified but unrecognised'"},
     "your kernel: this Triton does not have num_foo"),
    ({"fingerprint": "TypeError: block pointers have been removed"}, "your kernel: this Triton does not have it"),
    ({"fingerprint": _LEGALIZE, "target": "gfx942", "outcome": "compile-error"}, "your kernel: it uses what NVIDIA's"),
    ({"fingerprint": _LEGALIZE, "outcome": "compile-error"}, "Triton: its compiler fails"),
    ({"outcome": "limit", "fingerprint": _ABORTS}, "your kernel: too large for sm_90"),
    ({"outcome": "mismatch", "fingerprint": _ABORTS}, "your kernel: its numbers differ"),
    ({"outcome": "fault"}, "your kernel: it reads or writes out of its memory"),
    ({"outcome": "crash", "phase": "execute", "reason": "SIGSEGV"}, "your kernel: the message says where"),
    ({"outcome": "crash", "phase": "execute", "reason": "memory limit"}, "your environment: it needs more memory"),
    ({"outcome": "mismatch", "reason": "memory limit"}, "your kernel: its numbers differ"),
    ({"outcome": "crash", "phase": "import", "reason": "SIGABRT"},
     "your host code: the process ends in the import of its file (SIGABRT)"),
    ({"outcome": "crash", "phase": "import", "reason": "SIGABRT", "message": _ABORTS}, "Triton: its compiler fails"),
    ({"outcome": "crash", "phase": "host", "reason": "SIGABRT", "message": _ABORTS}, "Triton: its compiler dies"),
    ({"outcome": "crash", "phase": "compile", "reason": "exit 3"}, "your kernel: the message says where"),
    ({"outcome": "crash", "phase": "compile", "reason": "exit 3", "message": _ABORTS}, "Triton: its compiler fails"),
    ({"outcome": "compile-error", "message": _ABORTS}, "Triton: its compiler fails"),
    ({"outcome": "compile-error", "fingerprint": _PTXAS}, "your kernel: the assembler refuses"),
    ({"outcome": "api-error", "fingerprint": _PTXAS}, "your kernel: the message says where"),
    ({"outcome": "api-error", "message": _ABORTS}, "your kernel: the message says where"),
    ({"outcome": "timeout", "kernel": "a::b", "lane": "emulate"}, "your environment: the test, with what"),
    ({"outcome": "timeout", "kernel": "a::b", "phase": "host"}, "your host code: it takes too long outside"),
    ({"outcome": "timeout", "phase": "compile"}, "your kernel: it takes too long to compile"),
    ({"outcome": "timeout", "lane": "emulate"}, "your kernel: it does not end"),
]  # fmt: skip


@pytest.mark.parametrize("changes, begin", FAULTS)
def test_whose_fault_a_failure_is(make_record, changes, begin):
    answer = str(fault.of(make_record(**{"outcome": "api-error", **changes})))
    assert answer.startswith(begin), answer


@pytest.mark.parametrize(
    "fixed, broken, changes, answer",
    [
        ((), False, {}, f"passes with compat: {fault.INSTALL}"),
        (("a", "b"), False, {}, f"passes with compat (a, b): {fault.INSTALL}"),
        (None, True, {}, "report it to crosswarp, with `crosswarp reproduce`"),
        (None, False, {"shim": None}, "no fix is known yet"),
        (None, False, {"shim": None, "fixed_in": "3.3.0"}, "fixed in Triton 3.3.0"),
        (None, False, {"workaround": "Use 4 warps."}, "Use 4 warps."),
        ((), False, {"workaround": "Use 4 warps."}, f"fixed by compat: {fault.INSTALL}"),
        ((), False, {"fixed_in": "3.3.0"}, f"fixed by compat: {fault.INSTALL}; or fixed in Triton 3.3.0"),
    ],
)  # fmt: skip
def test_the_ways_out(make_record, make_issue, fixed, broken, changes, answer):
    issue = make_issue(**changes) if changes else None
    judged = fault.of(make_record(outcome="crash"), issue, None, fixed, broken)
    known = "" if issue is None else f"known issue {issue.id} ({issue.links[0]}): "
    assert judged.next == known + answer


def test_what_looks_like_an_issue_says_so_once(make_record, make_issue):
    record, issue = make_record(outcome="fault"), make_issue(shim=None)
    plain = fault.of(record).next
    like = f"; looks like triton-1 ({issue.links[0]})"
    assert fault.of(record, alike=issue).next == plain + like
    advised = make_issue(workaround="Use 4 warps.")
    assert fault.of(record, alike=advised).next == f"{plain}{like}: Use 4 warps."
    assert "looks like" not in fault.of(record, issue, issue).next
    reads = make_record(outcome="compile-error", fingerprint="Cannot access global variable A from")
    assert "looks like" not in fault.of(reads, alike=issue).next


RED = {"kernel": "mine", "outcome": "crash", "fingerprint": "reshapeOuts"}
PASSED, SHIMMED = {"outcome": "pass"}, {"mode": "shimmed"}
ANY, ONE_OF_OURS = {"kernels": ["*"]}, {"kernels": ["softmax"]}
# The difference in each cell, in the issue and in the owner -> how many cells each list of the verdict has.
JUDGED = [
    ([{}], ANY, {}, {"unexpected_red": 1, "explained": 1}),
    ([{}], ONE_OF_OURS, {}, {"unexpected_red": 1}),
    ([{}], {**ANY, "looks_like": True}, {}, {"unexpected_red": 1, "alike": 1}),
    ([{}], {"kernels": ["m*"]}, {"issues": {"triton-1"}}, {"known": 1}),
    ([{"fingerprint": "x"}], ANY, {"issues": {"triton-1"}}, {"unexpected_red": 1}),
    # With compat, which the library installs, the cell with compat decides.
    ([{}], ANY, {"compat": True}, {"unexpected_red": 1, "explained": 1}),
    ([{}, {**PASSED, **SHIMMED}], ANY, {"compat": True}, {"known": 1, "fixes": 1}),
    ([{"fingerprint": "x"}, {**PASSED, **SHIMMED}], ANY, {"compat": True}, {"expected": 1, "fixed": 1}),
    ([{}, SHIMMED], ANY, {"compat": True}, {"known": 1, "unexpected_red": 1, "explained": 1}),
    ([PASSED, SHIMMED], ANY, {"compat": True}, {"unexpected_red": 1, "alike": 1}),
    ([{}, {**PASSED, **SHIMMED}], ANY, {}, {"unexpected_red": 1, "explained": 1, "fixes": 1}),
    ([{"fingerprint": "x"}, {**PASSED, **SHIMMED}], ANY, {}, {"unexpected_red": 1, "fixed": 1}),
    # A likeness is sure where the issue's own shim acted.
    ([{}, {**PASSED, **SHIMMED, "shims": ("guarded_autotune",)}], {**ANY, "looks_like": True}, {},
     {"unexpected_red": 1, "explained": 1, "fixes": 1}),
    ([{}, {**PASSED, **SHIMMED, "shims": ("other",)}], {**ANY, "looks_like": True}, {},
     {"unexpected_red": 1, "alike": 1, "fixed": 1}),
    # The owner's list and the baseline.
    ([{}, SHIMMED], ANY, {"xfail": (Expected("mine"),)}, {"expected": 2}),
    ([{}], ANY, {"xfail": (Expected("other"),)}, {"unexpected_red": 1, "explained": 1}),
    ([{}], ANY, {"accepted": True}, {"expected": 1}),
    ([{"case": "other"}], ANY, {"accepted": True}, {"unexpected_red": 1, "explained": 1}),
    ([PASSED], ANY, {"xfail": (Expected("mine"),)}, {"unexpected_pass": 1}),
    ([PASSED], ANY, {"xfail": (Expected("other"),)}, {}),
    ([{**PASSED, "config": "x"}], ANY, {"xfail": (Expected("mine"),)}, {}),
    ([{**PASSED, **SHIMMED}], ANY, {"xfail": (Expected("mine"),)}, {}),
    ([PASSED, {**PASSED, **SHIMMED}], ANY, {"xfail": (Expected("mine"),), "compat": True}, {"unexpected_pass": 1}),
    ([{"outcome": "unsupported"}], ANY, {"xfail": (Expected("mine"),)}, {}),
    ([{"outcome": "skipped"}], ANY, {"xfail": (Expected("mine"),)}, {}),
    ([PASSED], {**ANY, "case": {"kernel": "mine"}}, {"issues": {"triton-1"}}, {"unexpectedly_green": 1}),
    ([PASSED], {**ANY, "case": {"kernel": "mine"}, "status": "by chance"}, {"issues": {"triton-1"}}, {}),
    ([PASSED], {**ANY, "case": {"kernel": "mine"}, "triton": "<3"}, {"issues": {"triton-1"}}, {}),
    ([{**PASSED, **SHIMMED}], {**ANY, "case": {"kernel": "mine"}}, {"issues": {"triton-1"}}, {}),
]  # fmt: skip
LISTS = ("known", "unexpected_red", "unexpectedly_green", "shim_failed", "fixes", "explained", "alike", "fixed",
         "expected", "unexpected_pass")  # fmt: skip


@pytest.mark.parametrize("cells, issue, owner, lists", JUDGED)
def test_the_verdict_on_cells_of_an_owner(make_record, make_issue, cells, issue, owner, lists):
    records = [make_record(**{**RED, **changes}) for changes in cells]
    known = make_issue(**{"configs": ["*"], "triton": "", **issue})
    if owner.get("accepted"):
        owner = {"accepted": owned.accepted([make_record(**RED)])}
    plan = {"suite": "mine", **Owner("suite", **owner).about()}
    verdict = owned.judge(records, [known], plan)
    assert {name: len(getattr(verdict, name)) for name in LISTS if getattr(verdict, name)} == lists
    for fix in verdict.fixes:
        assert (fix.issue, fix.bare) == (known, records[0])


def test_an_owner_is_stored_in_order():
    cells = frozenset({("b", "x"), ("a", "y"), ("c", "w")})
    about = Owner("suite", accepted=cells, issues=frozenset("cab")).about()["owner"]
    assert about["accepted"] == [["a", "y"], ["b", "x"], ["c", "w"]]
    assert about["issues"] == ["a", "b", "c"]
