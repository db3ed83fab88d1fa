"""The target file: real content loads, nonsense is refused."""

from __future__ import annotations

import pytest

from crosswarp.matrix.errors import ConfigError, UsageError
from crosswarp.matrix.facts import targets

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
        "gfx90a",
        "gfx942",
    ]


def test_choosing():
    listed = targets.load()
    assert list(targets.choose(listed, ["gfx94*", "gfx90a"])) == ["gfx90a", "gfx942"]
    assert list(targets.choose(listed, ["all"])) == list(listed)
    assert list(targets.choose(listed, ["founding"])) == ["sm_80", "sm_90", "gfx90a", "gfx942"]
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


def test_every_target_has_a_product_by_name():
    assert all(target.names for target in targets.load().values())


def test_two_targets_of_one_name_are_refused(tmp_path):
    path = write(tmp_path / "t.toml", names='["H100"]')
    other = {**GOOD, "arch": "80", "family": '"sm_8"', "names": '["h 100"]'}
    text = path.read_text() + "[sm_80]\n" + "".join(f"{k} = {v}\n" for k, v in other.items())
    path.write_text(text)
    with pytest.raises(ConfigError, match=r'both \[sm_90\] and \[sm_80\] are called "h 100"'):
        targets.load(path)
