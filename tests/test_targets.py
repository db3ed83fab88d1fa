"""The target file: real content loads, nonsense is refused."""

from __future__ import annotations

import re
import sys

import pytest

from crosswarp.laboratory.asking import target_probe
from crosswarp.laboratory.commands import asking_targets
from crosswarp.laboratory.pages import targets_page
from crosswarp.matrix import versions
from crosswarp.matrix.cell.pytest_plugin import session
from crosswarp.matrix.errors import ConfigError, UsageError
from crosswarp.matrix.facts import probed_targets, targets

GOOD = {
    "backend": '"cuda"', "arch": "90", "family": '"sm_9"', "warp_size": "32", "max_threads_per_block": "1024",
    "shared_memory_optin": "232448", "registers_per_block": "65536", "multiprocessors": "132", "product": '"H100"',
    "threads_per_multiprocessor": "2048", "blocks_per_multiprocessor": "32",
    "shared_memory_per_multiprocessor": "233472", "source": '["a page"]',
}  # fmt: skip


def write(path, name="sm_90", **changes):
    values = {**GOOD, **changes}
    path.write_text(
        f"[{name}]\n" + "".join(f"{k} = {v}\n" for k, v in values.items() if v is not None)
    )
    return path


def test_the_promised_targets_are_there_with_their_limits():
    listed = targets.load()
    nvidia = "75 80 86 87 89 90 100 103 110 120 121"
    amd = "906 908 90a 942 950 1030 1100 1101 1150 1151 1200 1201 1250"
    promised = [f"sm_{one}" for one in nvidia.split()] + [f"gfx{one}" for one in amd.split()]
    assert list(listed) == promised
    for name, target in listed.items():
        assert target.warp_size == (64 if target.family == "gfx9" else 32)
        assert target.shared_memory_optin <= target.shared_memory_per_multiprocessor
        assert target.max_threads_per_block <= target.threads_per_multiprocessor
        if target.backend == "cuda":
            # The system's own KiB, from sm_80 on.
            reserved = 1024 if target.arch >= 80 else 0
            assert target.shared_memory_per_multiprocessor - target.shared_memory_optin == reserved
        # Each limit is in two places that are not ours.
        assert len(target.source) >= 2, name


def test_what_a_run_covers_by_itself_stays_as_it_is():
    assert list(targets.choose(targets.load(), [targets.DEFAULT_PROFILE])) == [
        "sm_80",
        "sm_90",
        "gfx942",
    ]


def test_choosing():
    listed = targets.load()
    assert list(targets.choose(listed, ["gfx94*", "gfx90a"])) == ["gfx90a", "gfx942"]
    assert list(targets.choose(listed, ["all"])) == list(listed)
    assert list(targets.choose(listed, ["founding"])) == ["sm_80", "sm_90", "gfx942"]
    assert list(targets.choose(listed, ["gfx1100", "founding"]))[-1] == "gfx1100"
    with pytest.raises(UsageError, match="crosswarp targets"):
        targets.choose(listed, ["sm_91"])


def test_the_good_one_loads(tmp_path):
    assert targets.load(write(tmp_path / "t.toml"))["sm_90"].arch == 90


@pytest.mark.parametrize(
    ("name", "changes", "named"),
    [
        ("sm_90", {"warp_size": "48"}, "warp_size"),
        ("sm_90", {"max_threads_per_block": "0"}, "max_threads_per_block"),
        ("sm_90", {"source": None}, "source"),
        ("sm_90", {"arch": '"gfx90a"'}, "arch is a number for cuda"),
        ("sm_80", {}, "[sm_80] describes sm_90"),
        ("sm_90", {"family": '"gfx"'}, "no member of the family"),
        ("sm_90", {"registers": "1"}, "registers"),
        ("hopper", {}, "hopper"),
    ],
)
def test_what_is_refused(tmp_path, name, changes, named):
    with pytest.raises(ConfigError) as caught:
        targets.load(write(tmp_path / "t.toml", name, **changes))
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ("H100", "sm_90"), ("h200", "sm_90"), ("A100", "sm_80"), ("MI300X", "gfx942"), ("RTX 5090", "sm_120"),
        ("rtx5090", "sm_120"), ("rx-7900-xtx", "gfx1100"), ("T4", "sm_75"), ("A10G", "sm_86"), ("l4", "sm_89"),
        ("H20", "sm_90"), ("B200", "sm_100"), ("MI355X", "gfx950"), ("dgx spark", "sm_121"), ("Orin", "sm_87"),
        ("GB300", "sm_103"), ("Strix Halo", "gfx1151"), ("RX 9070 XT", "gfx1201"), ("MI50", "gfx906"),
    ],
)  # fmt: skip
def test_a_product_stands_for_its_target(product, name):
    assert list(targets.choose(targets.load(), [product])) == [name]


@pytest.mark.parametrize("product", ["h100", "RTX 5090", "rx-7900-xtx", "T4", "sm_90"])
def test_the_pytest_plugin_takes_the_same_names(product):
    (name,) = targets.choose(targets.load(), [product])
    assert session.target(product).name == name


def test_every_target_has_a_product_by_name():
    assert all(target.names for target in targets.load().values())


def test_two_targets_of_one_name_are_refused(tmp_path):
    path = write(tmp_path / "t.toml", names='["H100"]')
    other = {**GOOD, "arch": "80", "family": '"sm_8"', "names": '["h 100"]'}
    text = path.read_text() + "[sm_80]\n" + "".join(f"{k} = {v}\n" for k, v in other.items())
    path.write_text(text)
    with pytest.raises(ConfigError, match=r'both \[sm_90\] and \[sm_80\] are called "h 100"'):
        targets.load(path)


def test_the_releases_of_a_target_are_those_that_compiled_for_it():
    """What targets.toml declares is what `crosswarp targets --probe` measured, on every release that was asked."""
    measured = probed_targets.load()
    assert {"2.3.1", "3.2.0", "3.6.0", "3.9.0"} <= measured.keys()
    wrong = [
        f"{name} on {version}"
        for version, release in measured.items()
        for name, target in targets.load().items()
        if versions.within(version, target.triton) != release.targets[name].works
    ]
    assert wrong == []


def test_what_was_measured_is_kept_as_it_is(tmp_path):
    path = tmp_path / "probed.json"
    assert probed_targets.load(path) == {}
    probed_targets.write(path, probed_targets.load())
    assert path.read_text("utf-8") == probed_targets.DEFAULT_FILE.read_text("utf-8")
    path.write_text('{"crosswarp_targets": 2, "releases": {}}')
    with pytest.raises(ConfigError, match="crosswarp targets --probe --write"):
        probed_targets.load(path)


# An environment that compiles for all but sm_75, of which the dot product fails; it dies where it is told to.
FAKE = """
import json, sys
spec = json.load(open(sys.argv[-1]))
out = open(spec["records"], "a")
def say(**line): print(json.dumps(line), file=out, flush=True)
say(triton=VERSION, triton_build="b", ptxas="12", torch="2", python="3.11")
for name in spec["targets"]:
    if name == DIES: sys.exit(3)
    say(target=name, add="", dot="no mma" if name == "sm_75" else "")
"""


@pytest.fixture
def asked(tmp_path, monkeypatch, command):
    """`asked(...)`: `crosswarp targets --probe` of an environment that is no such thing."""
    script = tmp_path / "probe.py"
    monkeypatch.setattr(
        target_probe, "argv", lambda python, spec: [sys.executable, str(script), str(spec)]
    )
    monkeypatch.setattr(
        asking_targets.here, "look", lambda python: asking_targets.here.Here(python, {})
    )

    def call(*arguments, version="3.9.0", dies=""):
        script.write_text(FAKE.replace("VERSION", repr(version)).replace("DIES", repr(dies)))
        path = ("--probed-file", str(tmp_path / "probed.json"))
        return command("targets", "--probe", "--here", "python", *path, *arguments)

    return call


def test_asking_and_recording(asked, tmp_path):
    status, out, _ = asked("--targets", "sm_75,T4,sm_80")
    assert status == 0 and "3.9.0: compiles for 1 of 2" in out
    assert re.search(r"sm_75 +no dot", out) and re.search(r"sm_80 +✓", out)
    assert asked("--targets", "sm_75,sm_80", "--write")[0] == 0
    # Those that are not asked now keep what they had.
    assert asked("--targets", "sm_80", "--write", version="3.10.0")[0] == 0
    assert asked("--targets", "sm_80", "--write")[0] == 0
    kept = probed_targets.load(tmp_path / "probed.json")
    assert {version: list(one.targets) for version, one in kept.items()} == {
        "3.9.0": ["sm_75", "sm_80"],
        "3.10.0": ["sm_80"],
    }
    assert not kept["3.9.0"].targets["sm_75"].works


def test_what_is_not_as_recorded_is_said(asked, tmp_path):
    asked("--targets", "sm_75,sm_80", "--write")
    path = tmp_path / "probed.json"
    assert asked("--targets", "sm_75,sm_80")[0] == 0
    path.write_text(path.read_text().replace("no mma", "another reason"))
    status, out, _ = asked("--targets", "sm_75,sm_80")
    assert status == 1 and "3.9.0 sm_75: dot: another reason -> no mma" in out


def test_an_environment_that_dies_records_nothing(asked, tmp_path):
    status, _, err = asked("--targets", "sm_75,sm_80", "--write", dies="sm_80")
    assert status == 1 and "ended with status 3 before its last target" in err
    assert not (tmp_path / "probed.json").exists()


def test_options_of_asking_are_for_asking(command):
    assert "add --probe" in command("targets", "--write")[2]
    assert "name the environments" in command("targets", "--probe")[2]


def test_the_page_has_every_target_and_release():
    listed, measured = targets.load(), probed_targets.load()
    page = targets_page.page(listed, measured)
    for name in listed:
        assert page.count(f"| `{name}` |") == 2 and f"- `{name}`: " in page
    assert f"| target | {' | '.join(measured)} |" in page.replace("\\", "")
    assert "## Intel XPU" in page
