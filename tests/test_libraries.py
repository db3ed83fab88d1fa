"""`crosswarp libraries`: its data file, the judgement, the page, and two libraries' ops for real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from crosswarp.laboratory.commands import libraries as command
from crosswarp.laboratory.pages.libraries_page import Facts, page
from crosswarp.matrix.environments.uvtool import Answer
from crosswarp.matrix.errors import EXIT_ENVIRONMENT, ConfigError, UsageError
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.work import library_ops
from crosswarp.matrix.work.library_ops import Cause, Library, LibraryFile, cells, judge

ROOT = Path(__file__).resolve().parent.parent
FACTS = Facts("2026-11-21", "2026-11-21", 2)


@pytest.fixture
def library():
    return Library(
        name="liger-kernel", release="0.5.10", family="liger", requires=("liger-kernel==0.5.10",),
        triton=">=2.3.1", torch=">=2.7", source=("the index",),
    )  # fmt: skip


@pytest.fixture
def cause():
    return Cause.model_validate(
        {
            "id": "no-bf16-atomics", "title": "Triton has no bf16 atomics", "of": "triton", "triton": "<3.4",
            "outcome": "compile-error", "fingerprint": "atomic_add", "links": ["https://example.org/a/b/issues/1"],
            "checked": "2026-11-21",
        }
    )  # fmt: skip


@pytest.fixture
def both(make_record):
    """The two records of an op, bare and shimmed."""

    def make(bare="pass", shimmed="pass", op="rms_norm", fingerprint="", **changes):
        values = {"kernel": "liger_norms", "case": f"{op}-0.5.10", "versions": {"torch": "2.6.0"}}
        return [
            make_record(mode=mode, outcome=outcome, fingerprint=fingerprint, **{**values, **changes})
            for mode, outcome in (("bare", bare), ("shimmed", shimmed))
        ]  # fmt: skip

    return make


def test_our_own_file_is_valid_and_holds_what_the_table_promises():
    ids = {one.id for one in library_ops.load().library}
    assert {"liger-kernel-0.3.0", "liger-kernel-0.5.10"} <= ids
    assert len({one.name for one in library_ops.load().library}) >= 7
    assert sum(name.startswith("flash-linear-attention-") for name in ids) >= 2


def test_no_release_brings_a_torch_or_triton_along():
    for library in library_ops.load().library:
        names = {name.split("==")[0] for name in library.requires}
        assert not names & {"torch", "triton", "numpy", "packaging", "pytest"}, library.id


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[library]]\nname = "a"', "Field required"),
        ("library = []", "at least 1 item"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(tmp_path, text, said):
    path = tmp_path / "libraries.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        library_ops.load(path)


def test_a_cause_names_outcomes_that_are_red(cause):
    with pytest.raises(ValueError, match='"pass" is none of'):
        Cause.model_validate({**cause.model_dump(), "outcome": "pass"})
    with pytest.raises(ValueError, match="fingerprint"):
        Cause.model_validate({**cause.model_dump(), "fingerprint": ""})


def test_the_same_id_twice_is_refused(library):
    with pytest.raises(ValueError, match="twice: liger-kernel-0.5.10"):
        LibraryFile(library=(library, library))


def test_an_unknown_library_is_answered_with_the_list(library):
    with pytest.raises(UsageError, match="There are: liger-kernel-0.5.10"):
        library_ops.choose(LibraryFile(library=(library,)), ["apex*"])


def test_the_modes_of_an_op_become_one_cell(library, both, make_record):
    single = make_record(kernel="liger_norms", case="rms_norm-0.5.10", config="num_warps=4")
    other = make_record(kernel="softmax", case="fp16-7x33")
    (cell,) = cells([*both(), single, other], [library])
    assert (cell.op, cell.column, cell.target) == ("rms_norm", "triton-3.2.0", "sm_90")
    assert cell.bare.mode == "bare" and cell.shimmed.mode == "shimmed"


def test_a_process_that_dies_after_its_op_counts(library, both, make_record):
    died = make_record(
        kernel="liger_norms", case="rms_norm-0.5.10", mode="shimmed", config="worker died", outcome="crash"
    )  # fmt: skip
    (cell,) = cells([*both(), died], [library])
    assert cell.shimmed.outcome == "crash"


def test_releases_whose_names_end_alike_are_told_apart(library, make_record):
    shorter = library.model_copy(update={"release": "10"})
    record = make_record(kernel="liger_norms", case="rms_norm-0.5.10")
    assert library_ops.located(record, [shorter, library]) == (library, "rms_norm")


def test_green_bare_and_red_shimmed_is_never_excused(library, cause, both):
    found = cells(both("pass", "compile-error", fingerprint="atomic_add"), [library])
    verdict = judge(found, [cause])
    assert verdict.broken == found
    assert not verdict.as_expected and command.exit_code(0, verdict) == 1


def test_red_shimmed_needs_a_cause(library, cause, both):
    records = both("compile-error", "compile-error", fingerprint="ValueError: atomic_add")
    found = cells(records, [library])
    assert judge(found, []).unexplained == found
    verdict = judge(found, [cause])
    assert verdict.explained == {found[0]: cause}
    assert verdict.as_expected and command.exit_code(0, verdict) == 0


@pytest.mark.parametrize(
    "change",
    [
        {"triton": ">=3.4"},
        {"targets": ("gfx*",)},
        {"ops": ("layer*",)},
        {"libraries": ("fla*",)},
        {"outcome": ("crash",)},
        {"fingerprint": "descriptor"},
    ],
)
def test_a_cause_explains_nothing_outside_its_window(library, cause, both, change):
    found = cells(both("compile-error", "compile-error", fingerprint="atomic_add"), [library])
    assert judge(found, [cause.model_copy(update=change)]).unexplained == found


def test_a_cause_that_explains_nothing_any_more_is_idle(library, cause, both):
    assert judge(cells(both(), [library]), [cause]).idle == [cause]
    # Nothing was run where it could be seen.
    assert judge(cells(both(column="triton-3.9.0"), [library]), [cause]).idle == []


def test_what_did_not_run_is_not_green(library, both):
    verdict = judge(cells(both("not-run", "not-run"), [library]), [])
    assert len(verdict.not_run) == 1 and not verdict.as_expected


def test_a_failed_environment_is_told_before_everything_else(library, both):
    verdict = judge(cells(both("pass", "crash"), [library]), [])
    assert command.exit_code(EXIT_ENVIRONMENT, verdict) == EXIT_ENVIRONMENT


def test_the_page(library, cause, both):
    records = [
        *both(),
        *both("api-error", "pass", op="layer_norm"),
        *both("compile-error", "compile-error", op="group_norm", fingerprint="atomic_add"),
        *both("unsupported", "unsupported", column="triton-2.3.1", target="gfx942"),
        *both("pass", "crash", op="jsd"),
    ]
    file = LibraryFile(library=(library,), cause=(cause,))
    text = page(cells(records, [library]), file, FACTS)
    assert "| `rms_norm` | ok |" in text
    assert "| `layer_norm` | api-error → ok |" in text
    assert "| `group_norm` | compile-error [1](#causes) |" in text
    assert "| `jsd` | **ok → crash** |" in text
    assert "| `rms_norm` | no target |" in text
    assert "Outside of that, and run all the same: 2.3.1, 3.2.0." in text
    assert "**1 pass without compat and fail with it**" in text
    assert "| 1 | Triton has no bf16 atomics" in text
    assert "| one that adds names or arguments | 3.2.0 | sm_90 | 1 |" in text


def test_columns_stand_in_the_order_of_versions(library, both):
    records = [
        record
        for version in ("3.10.0", "3.2.0", "2.3.1")
        for record in both(column=f"triton-{version}")
    ]
    text = page(cells(records, [library]), LibraryFile(library=(library,)), FACTS)
    assert "| op | 2.3.1 | 3.2.0 | 3.10.0 |" in text


def test_the_table_takes_the_newest_of_each_cell_and_names_what_is_older_than_the_shims(
    tmp_path, both
):
    with Store(tmp_path / "libraries.db") as store:
        for identity, outcome in (("old", "crash"), ("new", "pass")):
            run = store.begin([], {"identity": identity, "configurations": 2})
            ops = ("rms_norm", "layer_norm") if identity == "old" else ("rms_norm",)
            for op in ops:
                store.cells(run, both(outcome, outcome, op=op))
        records, facts = command.newest(store, "new")
    assert [r.outcome for r in records if r.case == "rms_norm-0.5.10"] == ["pass", "pass"]
    assert [r.outcome for r in records if r.case == "layer_norm-0.5.10"] == ["crash", "crash"]
    assert facts.outdated == ("triton-3.2.0",)
    text = command.summary([], judge([], []), facts)
    assert "crosswarp libraries --triton triton-3.2.0\n" in text


def test_a_column_that_had_no_turn_is_told_until_it_has_been_run(tmp_path, both):
    waiting = both("not-run", "not-run", case="*")
    with Store(tmp_path / "libraries.db") as store:
        store.cells(store.begin([], {}), waiting)
        assert {r.outcome for r in command.newest(store, "")[0]} == {"not-run"}
        store.cells(store.begin([], {}), both())
        assert {r.outcome for r in command.newest(store, "")[0]} == {"pass"}


def test_a_change_of_a_shim_changes_the_identity(monkeypatch, tmp_path):
    before = library_ops.identity()
    (tmp_path / "a.py").write_text("")
    monkeypatch.setattr(library_ops, "SUITE", tmp_path)
    assert library_ops.identity() != before


def test_settings_keep_what_is_preloaded_for_one_release_to_its_folder(library):
    library = library.model_copy(update={"preload": ("transformers",)})
    other = library.model_copy(update={"release": "0.3.0", "preload": ()})
    folders = {library: Path("/w/l"), other: Path("/w/o")}
    made = library_ops.LibraryOps(folders=folders).asked("triton-3.9.0", {})
    assert made.preload == {"/w/l": ["transformers"]}
    assert made.libraries.releases == {"liger-kernel": {"0.5.10": "/w/l", "0.3.0": "/w/o"}}


def test_a_release_of_sources_alone_is_built_with_what_its_setup_imports(library, tmp_path):
    calls = []

    def uv(arguments, environ):
        calls.append((arguments, dict(environ)))
        Path(arguments[arguments.index("--target") + 1]).mkdir(parents=True)
        return Answer(0, "", "")

    said = []
    install = library_ops.Installer(tmp_path, uv, said.append)
    install(library)
    sources = library.model_copy(
        update={"name": "mamba-ssm", "build": ("torch==2.13.0",), "build_environment": ("SKIP=1",)}
    )
    home = install(sources)
    (plain, none), (built, told) = calls
    assert plain[:2] == ["pip", "install"] and not none
    assert (
        built[0] == "--config-file" and built[2:4] == ["pip", "install"] and told == {"SKIP": "1"}
    )
    config = tomllib.loads(Path(built[1]).read_text("utf-8"))
    assert config == {"extra-build-dependencies": {"mamba-ssm": ["torch==2.13.0"]}}
    assert home.parent == Path(built[1]).parent and len(said) == 2


@pytest.mark.integration
def test_two_ops_of_a_library_on_two_columns(tmp_path):
    """2.3.1 and 3.2.0, from the package index, bare and shimmed."""
    work = Path(os.environ.get("CROSSWARP_TEST_WORK") or ROOT / ".crosswarp")
    store = tmp_path / "libraries.db"
    done = subprocess.run(
        [
            sys.executable, "-m", "crosswarp.reports.cli", "libraries", "--libraries", "liger-kernel-0.5.10",
            "--columns", "triton-2.3.1,triton-3.2.0", "--targets", "sm_90", "--ops", "rms_norm,layer_norm",
            "--work", str(work), "--store", str(store), "--out", str(tmp_path),
        ],
        capture_output=True, text=True, timeout=900, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "libraries.md").read_text("utf-8")
    assert "| `rms_norm` | ok | ok |" in text and "| `layer_norm` | ok | ok |" in text
    with Store(store) as opened:
        records = opened.records(1)
    # Forward and backward, each with kernels of its own.
    launched = {record.case: record.resources["launches"] for record in records}
    assert all(len(launches) >= 2 for launches in launched.values()), json.dumps(launched)
