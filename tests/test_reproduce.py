"""Scripts that show a red cell, and records of what is not known: that they run is tested on real columns."""

from __future__ import annotations

import ast
import re
import tomllib

import pytest

from crosswarp import kernels
from crosswarp.matrix.errors import ConfigError, UsageError
from crosswarp.matrix.facts import issues, targets
from crosswarp.matrix.results.store import Environment
from crosswarp.matrix.results.verdict import judge
from crosswarp.reports.reproducing import needs
from crosswarp.reports.reproducing.drafts import LINK, drafts
from crosswarp.reports.reproducing.reproducer import script
from crosswarp.reports.text.summary import summary

RELEASES = ("2.3.1", "3.0.0", "3.1.0", "3.2.0", "3.3.1")


@pytest.fixture
def made(make_record):
    """`made(kernel="softmax", ...)`: the script of a cell of our own suite."""

    def make(suite=None, requires=(), **changes):
        values = {
            "kernel": "softmax", "case": "fp16-33x77", "outcome": "crash", "fingerprint": "SIGABRT: x",
            "versions": {"triton": "3.2.0", "torch": "2.6.0"},
        }  # fmt: skip
        return script(
            make_record(**{**values, **changes}), suite, targets.load(), requires=requires
        )

    return make


@pytest.mark.parametrize("kernel", kernels.NAMES)
def test_every_kernel_of_ours_makes_a_script_that_needs_nothing_else(made, kernel):
    text = made(kernel=kernel)
    tree = ast.parse(text)
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    ours = {name for name in imported if name.startswith("crosswarp")}
    # For the virtual GPU alone, behind its option.
    assert ours == {"crosswarp.matrix.cell.standins.virtual_gpu"}
    assert {name.partition(".")[0] for name in imported - ours} <= {
        "dataclasses", "fnmatch", "json", "pathlib", "uuid", "functools", "os", "sys", "torch", "triton", "typing",
        "contextlib", "importlib", "inspect", "math", "types",
    }  # fmt: skip
    assert max(map(len, text.splitlines())) <= 140


def test_only_the_case_is_left(made):
    text = made()
    assert '"fp16-33x77"' in text and '"bf16-5x1500"' not in text
    # One that the text does not spell is found when the script runs.
    assert '.get("computed")' in made(case="computed") and '"bf16-5x1500"' in made(case="computed")


def test_what_the_cell_was_stands_above(made):
    text = made(config="num_warps=8", message="x")
    for said in (
        "# softmax, case fp16-33x77, num_warps=8\n# crash: SIGABRT: x\n",
        "# Seen on sm_90, lane compile with triton 3.2.0, torch 2.6.0.",
        "python reproduce.py              on a GPU (sm_90): needs torch and triton\n",
        "python reproduce.py --virtual    without one",
        '_only_configuration("num_warps=8")',
    ):
        assert said in text


def test_the_lanes_and_modes(made):
    interpreted = made(lane="interpret", target="cpu")
    assert '"TRITON_INTERPRET"] = "1"' in interpreted and "--virtual" not in interpreted
    # An autotuner is not to measure there, and asks for a driver when it decorates.
    tuned = made(kernel="matmul", lane="interpret", target="cpu")
    assert "    use_first_configuration()" in tuned and "activate(target)" in tuned
    shimmed = made(mode="shimmed")
    assert "compat.install()" in shimmed and "needs torch and triton and crosswarp" in shimmed
    assert "--virtual" not in made(target="sm_1")


def test_a_configuration_loses_what_the_suite_added_to_its_name(made):
    assert '_only_configuration("BLOCK=1,num_warps=8")' in made(
        config="_kernel: BLOCK=1,num_warps=8 #2"
    )


def test_what_a_cell_says_stays_a_comment(made, hostile):
    text = made(fingerprint=hostile, config=f"a {hostile}", case=hostile)
    ast.parse(text)
    assert "\x1b" not in text and not re.search(r"^next", text, re.MULTILINE)
    assert "<script>" not in "\n".join(
        line for line in text.splitlines() if not line.startswith("#") and "(" not in line
    )


def test_a_suite_of_ones_own(made, tmp_path):
    (tmp_path / "double.py").write_text(
        "import helper\nfrom shared import factor\n"
        "from crosswarp.kernels import Case, Kernel\nfrom crosswarp import compat\n"
        'KERNEL = Kernel("double", (Case("a", "fp32", {}),), helper.f, factor, compat, {})\n'
    )
    (tmp_path / "shared.py").write_text("def factor(x):\n    return x\n")
    (tmp_path / "helper.py").write_text("f = 1\n")
    text = made(suite=tmp_path, kernel="double", case="a")
    assert "def factor" in text and "class Kernel" in text and "from crosswarp.kernels" not in text
    assert "needs torch and triton and crosswarp and helper.py beside it" in text


def test_a_kernel_of_the_suite_is_spelled_out(made):
    text = made(kernel="flash_attention_one_pass")
    call = text[text.index("\nKERNEL = ") :]
    assert call.startswith('\nKERNEL = Kernel(\n    name="flash_attention_one_pass",\n    launch=')
    assert call.count("inputs=") == call.count("reference=") == 1
    assert "class Kernel:" in text and "kernel_of" not in text


def test_what_other_packages_bring_stays_an_import_and_is_said(made, tmp_path):
    (tmp_path / "double.py").write_text(
        "import os, os.path\nimport small_math.factors as sf\nfrom small_math import *\nfrom other_one import two\n"
        "from unused import nothing\nfrom crosswarp.kernels import Case, Kernel\n"
        'KERNEL = Kernel("double", (Case("a", "fp32", {}),), sf.f, thrice, two, os.sep, {})\n'
    )
    wanted = ["small-math==1.5", "other @ file:///o"]
    text = made(suite=tmp_path, kernel="double", case="a", requires=wanted)
    for line in ("small_math.factors as sf", "small_math import *", "other_one import two"):
        assert f" {line}\n" in text
    assert "unused" not in text
    head = " ".join(line.lstrip("# ") for line in text.splitlines() if line.startswith("#"))
    assert (
        "It imports small_math, other_one, which has to be installed: pip install small-math==1.5"
        in head
    )
    assert "which has to be installed" not in made()


def test_what_was_installed_beside_a_column_is_named_at_its_version(stored, make_record):
    pins = ("triton==3.2.0", "numpy", "Small.Math==1.5", "other==2")
    made = Environment("triton-3.2.0", "triton-3.2.0", "ready", "", {}, pins, 0.0)
    asked = ["small_math[x]>=1; python_version>'3'", "lost", "other @ file:///o", "-- no"]
    view = stored([make_record()], environments=[made], requires=asked)
    assert needs.of_suite(view, "triton-3.2.0") == [
        'small_math[x]==1.5; python_version > "3"', "lost", "other @ file:///o",
    ]  # fmt: skip
    assert needs.of_suite(view, "triton-9") == [
        'small_math[x]>=1; python_version > "3"', "lost", "other @ file:///o",
    ]  # fmt: skip


def test_a_module_that_fails_to_be_imported_is_there_as_a_whole(made, tmp_path):
    (tmp_path / "bad.py").write_text(
        "import no_such_module\nimport triton\nVALUE = triton.no_such\nKERNEL = 1\n"
    )
    text = made(suite=tmp_path, kernel="bad", case="import")
    assert (
        "import no_such_module\n" in text
        and "VALUE = triton.no_such" in text
        and "_main" not in text
    )


def test_what_cannot_be_made_into_a_script(made, tmp_path):
    with pytest.raises(UsageError, match="cannot be read.*--suite"):
        made(suite=tmp_path, kernel="gone")
    (tmp_path / "odd.py").write_text("KERNEL = (\n")
    with pytest.raises(UsageError, match="cannot be made into a script.*Attach the file itself"):
        made(suite=tmp_path, kernel="odd", case="a")


@pytest.fixture
def unknown(make_record, stored):
    """A run in which softmax crashes on 3.1.0 and 3.2.0 for sm_90, with 8 warps, and nobody knows of it."""
    records = []
    for release in RELEASES:
        for target in ("sm_80", "sm_90"):
            for warps in (4, 8):
                at = {
                    "column": f"triton-{release}", "target": target, "config": f"num_warps={warps}",
                    "case": "fp16-33x77",
                }  # fmt: skip
                red = release in ("3.1.0", "3.2.0") and target == "sm_90" and warps == 8
                said = {"outcome": "crash", "fingerprint": 'a::b(c*) "d" [1] \\ e'} if red else {}
                records.append(make_record(**at, **said))
                records.append(make_record(**at, mode="shimmed", shims=("heals",) if red else ()))
    return lambda more=(), **known: stored([*records, *more], code=1, **known)


def test_a_record_says_what_was_measured(unknown):
    view = unknown()
    (text,) = drafts(view, [])
    entry = tomllib.loads(text)["issue"][0]
    del entry["checked"]
    assert entry == {
        "id": "softmax-crash", "title": 'softmax: crash: a::b(c*) "d" [1] \\ e', "status": "reproduced",
        "triton": ">=3.1,<3.3", "targets": ["sm_90"], "lanes": ["compile"], "kernels": ["softmax"], "outcome": "crash",
        "fingerprint": r'a::b\(c\*\) "d" \[1\] \\ e', "links": [LINK], "fixed_in": "3.3.1", "shim": "heals",
        "case": {"kernel": "softmax", "case": "fp16-33x77", "configs": ["num_warps=8"]},
    }  # fmt: skip


def test_a_record_is_refused_until_its_link_is_filled_in_and_then_explains_the_run(
    unknown, tmp_path
):
    view = unknown()
    (text,) = drafts(view, [])
    path = tmp_path / "issues.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="give the upstream report's"):
        issues.load(path)
    path.write_text(text.replace(LINK, "https://example.org/owner/project/issues/1"))
    verdict = judge(view.records, issues.load(path))
    assert verdict.as_expected and len(verdict.known) == len(verdict.fixes) == 2


def test_a_case_that_is_not_red_on_the_whole_window_proves_nothing(unknown, make_record):
    """On 3.1.0 one target more is red: then no case is red on all of window and targets."""
    red = {"outcome": "crash", "fingerprint": "f", "column": "triton-3.1.0", "kernel": "chunk"}
    green = make_record(column="triton-3.2.0", kernel="chunk")
    records = [
        make_record(**red), make_record(**red, target="sm_80"),
        make_record(**{**red, "column": "triton-3.2.0"}, target="sm_80"), green,
    ]  # fmt: skip
    _, text = drafts(unknown(records), [])
    assert text.startswith("# No case of it fails on all of these releases")
    assert tomllib.loads(text)["issue"][0]["status"] == "unverified"


def test_ids_do_not_collide(unknown, make_record, make_issue):
    other = make_record(outcome="crash", fingerprint="other", case="b")
    texts = drafts(unknown([other]), [make_issue(id="softmax-crash")])
    assert [tomllib.loads(text)["issue"][0]["id"] for text in texts] == [
        "softmax-crash-2",
        "softmax-crash-3",
    ]


def test_red_with_the_shims_alone_is_a_fault_of_ours(stored, make_record):
    red = make_record(mode="shimmed", outcome="crash", fingerprint="f")
    (text,) = drafts(stored([make_record(), red], code=1), [])
    assert tomllib.loads(text) == {} and "a bug of crosswarp.compat" in text


def test_hostile_text_is_text_in_a_record_too(hostile_view, hostile):
    for text in drafts(hostile_view, []):
        for entry in tomllib.loads(text).get("issue", ()):
            assert re.compile(entry["fingerprint"]) and "\x1b" not in entry["title"]


def test_the_summary_offers_both(unknown, command, tmp_path, monkeypatch):
    view = unknown()
    said = summary(view)
    assert "a script to attach  crosswarp reproduce --run 1\n" in said
    assert "an entry to paste   crosswarp issues --run 1 --new\n" in said
    monkeypatch.chdir(tmp_path)
    (tmp_path / "known.toml").write_text("")
    where = ["--run", "1", "--store", "store.db", "--issues-file", "known.toml"]
    status, out, _ = command("reproduce", *where)
    assert status == 0 and (tmp_path / out.strip()).read_text().startswith(
        "# softmax, case fp16-33x77, num_warps=8\n"
    )
    status, out, _ = command("issues", "--new", *where)
    assert status == 0 and out == drafts(view, [])[0]


def test_one_cell(unknown, command, tmp_path, monkeypatch):
    unknown()
    monkeypatch.chdir(tmp_path)
    cell = "triton-3.1.0/sm_90/compile/bare/softmax/fp16-33x77/num_warps=8"
    status, out, _ = command("reproduce", cell, "--store", "store.db")
    assert status == 0 and "--virtual" in out
    status, out, _ = command("reproduce", cell, "--store", "store.db", "--out", "x.py")
    assert (status, out) == (0, "x.py\n") and "python x.py --virtual" in (
        tmp_path / "x.py"
    ).read_text()
    for wrong, said in (
        (cell.replace("=8", "=4"), "is pass. Name a failing cell"),
        ("softmax", f'has no cell "softmax". Near it: {cell.replace("3.1.0", "3.")}'[:40]),
    ):
        status, _, err = command("reproduce", wrong, "--store", "store.db")
        assert status == 2 and said in err
    status, _, err = command("reproduce", cell, "--store", "store.db", "--out", "no/such/folder.py")
    assert status == 2 and "Name a file that can be written" in err


def test_an_issue_on_github_holds_both(unknown, command, tmp_path, monkeypatch):
    unknown()
    monkeypatch.chdir(tmp_path)
    status, _, _ = command("github", "issues", "--dry-run", "--store", "store.db", "--out", "out")
    (body,) = (path.read_text("utf-8") for path in (tmp_path / "out").glob("*.md"))
    assert status == 0 and "```python\n# softmax, case" in body and "```toml\n[[issue]]" in body
    assert len(body) < 65536
