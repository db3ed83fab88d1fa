"""What the compiler made of a cell: which cells, what is kept of their texts, what differs, and whose code may run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from crosswarp.matrix.facts import columns
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running import ir
from crosswarp.matrix.running.ir import Compiled
from crosswarp.matrix.running.progress import PlainProgress
from crosswarp.reports import page
from crosswarp.reports.findings.ir_cells import Shown, chosen
from crosswarp.reports.findings.view import view
from crosswarp.reports.page import ir as ir_page


def test_of_the_machine_nothing_stays_in_a_text():
    text = """#loc = loc("/home/someone/kernel.py":3:0)
module attributes {"ttg.num-warps" = 4 : i32} {
  %0 = tt.get_program_id x : i32 loc(#loc1)
  tt.return loc("a(b)"("/home/someone/kernel.py":9:2))
} loc(#loc)
  %5 = add i32 %1, 2, !dbg !17
!17 = !DIFile(filename: "kernel.py", directory: "/home/someone")
.loc 1 3 0
\t.file\t1 "/home/someone/kernel.py"
\tadd.s32 %r1, %r2, 3;
        /*0010*/ MOV R1, c[0x0][0x28] ; /* 0x00000a0000017a02 */
.section\t.debug_abbrev
.b8 1
"""
    found = ir.cleaned(text)
    assert (
        "someone" not in found and "loc" not in found and "dbg" not in found and ".b8" not in found
    )
    for kept in (
        "tt.get_program_id x : i32",
        "add.s32 %r1, %r2, 3;",
        "MOV R1, c[0x0][0x28] ;",
        "%5 = add i32 %1, 2",
    ):
        assert kept in found
    long = ir.cleaned("x" * (ir.LONGEST + 5))
    assert long.endswith("[... 5 characters left out ...]")


@pytest.fixture
def cache(tmp_path):
    """Two launches that ended, and one whose compiler died at its second stage."""
    for number, (warps, stages) in enumerate(
        ((4, ("ttir", "ttgir", "ptx")), (8, ("ttir", "ttgir")))
    ):
        folder = tmp_path / f"hash{number}"
        folder.mkdir()
        for stage in stages:
            (folder / f"_kernel.{stage}").write_text(
                f'{stage} of {warps} "ttg.num-warps" = {warps}'
            )
        if "ptx" in stages:
            metadata = {"num_warps": warps, "num_stages": 3}
            (folder / "_kernel.json").write_text(json.dumps(metadata))
    probe = tmp_path / "probe"
    probe.mkdir()
    (probe / "add.ttir").write_text('#loc = loc("/x/matrix/cell/starting/probe_kernels.py":8:0)')
    return tmp_path


@pytest.mark.parametrize(
    ("options", "stages"),
    [
        ({"num_warps": 4}, {"_kernel, 4 warps, 3 stages": ["ttir", "ttgir", "ptx"]}),
        ({"num_warps": 8}, {"_kernel, 8 warps": ["ttir", "ttgir"]}),
        ({"num_warps": 8, "num_stages": 1}, {"_kernel, 8 warps": ["ttir", "ttgir"]}),
        ({"num_stages": 1}, {"_kernel, 8 warps": ["ttir", "ttgir"]}),
    ],
)
def test_of_the_cache_what_the_configuration_made(cache, tmp_path, options, stages):
    found = ir.of_cache(cache, options, tmp_path / "bin" / "python")
    assert {name: list(texts) for name, texts in found.items()} == stages


def entry(before, after, what="regressed"):
    shown = Shown("softmax", "a", "num_warps=8", "sm_90", what, "triton-3.1.0", "triton-3.2.0")
    return page.Entry(shown, before, after)


def test_what_differs_and_what_is_missing():
    before = Compiled({"_k": {"ttir": "a\nb\nc", "ptx": "same"}}, "pass")
    after = Compiled({"_k": {"ttir": "a\nB\nc", "ptx": "same", "llir": "x"}}, "crash: SIGABRT")
    ((name, stages),) = ir_page.context(entry(before, after))["launches"]
    by_stage = {one["stage"]: one for one in stages}
    assert name == "_k" and list(by_stage) == ["ttir", "llir", "ptx"]
    assert ("del", "-b") in by_stage["ttir"]["changed"] and ("add", "+B") in by_stage["ttir"][
        "changed"
    ]
    assert (by_stage["ttir"]["added"], by_stage["ttir"]["removed"]) == (1, 1)
    assert by_stage["ptx"]["why"] == "They are the same." and "none" in by_stage["llir"]["why"]
    gone = entry(Compiled(missing="Its environment is not there."), after)
    assert ir_page.context(gone)["launches"]


def test_the_regressed_come_first_and_each_kernel_once(page_run, make_issue):
    issues = [make_issue()]
    with Store(page_run()) as store:
        shown = view(store, issues)
    model = page.Model(shown, issues)
    steps = [
        model.upgrades["triton-3.1.0", "triton-3.2.0"],
        model.upgrades["triton-3.2.0", "triton-3.3.1"],
    ]
    found = chosen(steps, 9)
    assert [(one.kernel, one.what) for one in found] == [
        ("chunk", "regressed"),
        ("softmax", "resource-regressed"),
    ]
    assert (found[0].config, found[0].before, found[0].after) == (
        "num_warps=8",
        "triton-3.1.0",
        "triton-3.2.0",
    )
    assert len(chosen(steps, 1)) == 1


def test_no_kernel_that_a_store_alone_names_is_run(command, page_run, tmp_path):
    out = [
        "--format",
        "html",
        "--out",
        str(tmp_path / "site"),
        "--ir",
        "--work",
        str(tmp_path / "none"),
    ]
    planted = tmp_path / "suite"
    planted.mkdir()
    (planted / "chunk.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nKERNEL = None\n")
    store = page_run(plan={"suite": str(planted)})
    status, _, said = command("report", *out, "--store", str(store))
    assert status == 2 and "--suite DIR" in said
    status, _, said = command("report", "--ir", "--store", str(store))
    assert status == 2 and "--format html" in said
    # Named, it would be compiled where an environment is; here is none, and the page says so.
    status, _, said = command("report", *out, "--store", str(store), "--suite", str(planted))
    assert status == 0, said
    text = (tmp_path / "site" / "ir" / "index.html").read_text("utf-8")
    assert "Its environment is not there. Build it: crosswarp run --triton 3.1.0" in text
    assert not (tmp_path / "ran").exists()
    status, _, said = command(
        "report", *out, "--store", str(store), "--suite", str(planted), "--ir-python", "x=nowhere"
    )
    assert status == 2 and "COLUMN=PYTHON" in said


def test_a_compiler_that_was_not_reached_says_why(tmp_path, fake_run):
    (column,) = columns.choose(columns.load(), ["triton-3.2.0"])
    red = {"event": "cell", "target": "sm_90", "lane": "compile", "mode": "bare", "kernel": "softmax", "case": "a",
           "config": "", "outcome": "api-error", "fingerprint": "TypeError: no", "seconds": 0.1}  # fmt: skip
    item = "sm_90/compile/bare/softmax/a"
    session = {"event": "session", "lane": "compile", "versions": {"triton": "3.2.0"}, "planned": 1}
    fake_run.script(
        [session, {"event": "start", "item": item}, red, {"event": "end", "item": item}]
    )
    wanted = ir.Wanted("triton-3.2.0", "sm_90", "softmax", "a")
    said = PlainProgress(fake_run.said)
    found = ir.compiled(
        wanted, fake_run.plan(), column, Path(sys.executable), said, command=fake_run.argv
    )
    assert found.outcome == "api-error: TypeError: no" and not found.texts
    assert "left nothing (api-error: TypeError: no)" in found.missing
