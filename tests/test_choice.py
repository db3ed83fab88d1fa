"""Which shims somebody gets: by tier, by the environment, and on a Triton that nobody has tested."""

import logging
import subprocess
import sys
import textwrap
import warnings

import pytest

from crosswarp import compat
from crosswarp.compat import choice, errors
from crosswarp.compat.copies import COMMON
from crosswarp.compat.install import wanted_shims
from crosswarp.compat.versions import TESTED_UP_TO, in_window, read
from crosswarp.matrix.facts import columns

PUBLISHED = [column.triton for column in columns.load() if column.triton]


@pytest.mark.parametrize(
    ("text", "release", "published", "newer"),
    [
        ("3.6.0", "3.6.0", True, False),
        ("3.2.0+cu124", "3.2.0", True, False),
        ("3.4.0+rocm6.4.1", "3.4.0", True, False),
        ("3.3.1.post19", "3.3.1", True, False),
        ("3.9.7", "3.9.7", True, False),
        ("3.8.0a0+git1234", "3.8.0", False, False),
        ("3.8.0.dev20260101", "3.8.0", False, False),
        ("3.5.1+gitbfeb0668", "3.5.1", False, False),
        ("3.9.0-dirty", "3.9.0", False, False),
        ("3.9.x", "3.9", False, False),
        ("v3.4.0-12-gabcdef", "3.4.0", False, False),
        ("main", TESTED_UP_TO, False, False),
        ("", TESTED_UP_TO, False, False),
        ("3.10.0", "3.10.0", True, True),
        ("3.10.0+git1a2b3c4", "3.10.0", False, True),
        ("3.10", "3.10", True, True),
        ("4.0.0-dirty", "4.0.0", False, True),
        ("9" * 5000, "999999", False, True),
        ("3." + "9" * 5000, "3.999999", False, True),
    ],
)
def test_a_version_is_read_as_far_as_it_can_be(text, release, published, newer):
    found = read(text)
    assert (found.release, found.published, found.newer) == (release, published, newer)
    assert found.tested == (published and not newer)
    assert in_window(">=2.0", text) and not in_window("<2.0", text)


def test_the_newest_tested_release_is_the_newest_column():
    newest = max(tuple(map(int, version.split(".")[:2])) for version in PUBLISHED)
    assert TESTED_UP_TO == ".".join(map(str, newest))


@pytest.mark.parametrize("shim", compat.all_shims(), ids=lambda shim: shim.name)
def test_each_window_ends_at_the_latest_with_what_was_tested(shim):
    assert not any(in_window(shim.window, version) for version in ("3.10.0", "3.11.2", "4.0.0"))
    assert any(in_window(shim.window, version) for version in PUBLISHED)
    assert shim.tier in choice.TIERS


def wanted(version, **options):
    return {shim.name for shim in wanted_shims("auto", version, **options)}


def test_tiers_divide_what_is_installed():
    parts = [wanted("3.6.0", tiers=[tier]) for tier in choice.TIERS]
    assert sum(map(len, parts)) == len(wanted("3.6.0")) > 20
    assert set().union(*parts) == wanted("3.6.0")
    assert wanted("3.6.0", tiers="silent", exclude=["thread_locality"]) == parts[-1] - {
        "thread_locality"
    }


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"tiers": ["quiet"]}, "tiers: there is no tier 'quiet'.* names, refused"),
        ({"tiers": ["silnet"]}, "did you mean silent"),
        ({"scope": "my-lib"}, "scope='my-lib' is no package's name"),
        ({"scope": ["mylib"]}, "is no package's name"),
        ({"only": ["thread_localiti"]}, "only: there is no shim .* did you mean thread_locality"),
    ],
)
def test_what_is_not_known_says_what_is(arguments, says):
    with pytest.raises(compat.CompatError, match=says):
        compat.install(**arguments)
    assert compat.active() == []


@pytest.mark.parametrize("version", ["3.10.0", "4.0.0", "3.10.0+git12", "4.0.0-dirty"])
def test_a_newer_triton_gets_names_alone_unless_it_is_asked_for(version, monkeypatch):
    names = wanted("3.9.0", tiers=["names"])
    assert wanted(version) == names != wanted("3.9.0")
    assert wanted(version, untested=True) == wanted("3.9.0")
    monkeypatch.setenv(choice.ENVIRONMENT, "+untested")
    assert wanted(version) == wanted("3.9.0")


@pytest.mark.parametrize("version", ["3.9.0-dirty", "main", "3.9.x", "3.9.0a0+git12"])
def test_a_build_in_between_gets_all_but_what_changes_compiled_kernels(version):
    silent = wanted("3.9.0", tiers=["silent"])
    assert silent and wanted(version) <= wanted("3.9.0") - silent
    assert wanted(version) >= wanted("3.9.0", tiers=["names", "torch", "interpreter"])
    assert wanted(version, untested=True) == wanted("3.9.0")


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("", set()),
        ("off", wanted("3.6.0")),
        ("-thread_locality", {"thread_locality"}),
        (" -thread_locality , -read_back,", {"thread_locality", "read_back"}),
        ("-silent", wanted("3.6.0", tiers=["silent"])),
        ("-silent,-names", wanted("3.6.0", tiers=["silent", "names"])),
    ],
)
def test_the_environment_takes_shims_away(monkeypatch, text, gone):
    everything = wanted("3.6.0")
    monkeypatch.setenv(choice.ENVIRONMENT, text)
    assert wanted("3.6.0") == everything - gone


@pytest.mark.parametrize("text", ["of", "-no_such", "thread_locality", "+tested", "-" + "x" * 9999])
def test_an_unknown_word_in_the_environment_is_warned_of_and_takes_nothing(monkeypatch, text):
    monkeypatch.setattr(choice, "_read", {})
    monkeypatch.setattr(COMMON, "said", set())
    everything = wanted("3.6.0")
    monkeypatch.setenv(choice.ENVIRONMENT, f"{text},-read_back")
    with pytest.warns(compat.CompatWarning, match="is not known and changes nothing") as said:
        assert wanted("3.6.0") == everything - {"read_back"}
        wanted("3.6.0")
    assert len(said) == 1 and len(str(said[0].message)) < 400


def test_a_warning_goes_to_the_logger_as_well(monkeypatch, caplog):
    monkeypatch.setattr(COMMON, "said", set())
    with caplog.at_level(logging.INFO, "crosswarp.compat"), warnings.catch_warnings():
        warnings.simplefilter("error")
        errors.say_without_raising("once")
        errors.say_without_raising("once")
        errors.log("installed")
    assert [(one.levelname, one.message) for one in caplog.records] == [
        ("WARNING", "once"),
        ("INFO", "installed"),
    ]


def python(code, **environ):
    import os

    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False,
        env={**os.environ, **environ},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


FAKE_TRITON = """
    import sys, types
    triton = types.ModuleType("triton")
    triton.__path__, triton.__version__, triton.jit = [], {version!r}, object()
    sys.modules["triton"] = triton
    import crosswarp.compat
    shims = tuple(
        crosswarp.compat.Shim(tier, "i", ">=3.9,<3.10", "s", "l", "d", lambda patches: None, tier=tier)
        for tier in sys.modules['crosswarp.compat.choice'].TIERS)
    sys.modules["crosswarp.compat.install"].listed = lambda: shims
    from crosswarp import compat
"""


@pytest.mark.parametrize(
    ("version", "installed"),
    [
        ("3.9.0", "interpreter names refused silent torch"),
        ("3.9.0-dirty", "interpreter names refused torch"),
        ("main", "interpreter names refused torch"),
        ("4.0.0", "names"),
    ],
)
def test_what_is_held_back_is_said_once_with_what_switches_it_on(version, installed):
    code = (
        FAKE_TRITON.format(version=version)
        + """
    compat.install()
    compat.install(tiers=["names", "silent"])
    print(*sorted(shim.name for shim in compat.active()))
    """
    )
    out, err = python(code)
    assert out == installed
    warned = err.count("CompatWarning")
    assert warned == (0 if version == "3.9.0" else 1)
    assert ("install(untested=True)" in err) == bool(warned)
    assert python(code, CROSSWARP_COMPAT="+untested") == (
        "interpreter names refused silent torch",
        "",
    )
    assert python(code, CROSSWARP_COMPAT="off") == ("", "")


def test_whoever_asks_for_names_alone_hears_nothing():
    code = (
        FAKE_TRITON.format(version="4.0.0")
        + """
    compat.install(tiers=["names"])
    print(*[shim.name for shim in compat.active()])
    """
    )
    assert python(code) == ("names", "")


def test_a_scope_is_a_package_and_what_lies_below_it(monkeypatch):
    code = (
        FAKE_TRITON.format(version="3.9.0")
        + """
    from crosswarp.compat.scopes import in_scope
    def kernel(module):
        function = lambda: None
        function.__module__ = module
        return types.SimpleNamespace(fn=function)
    def seen(shim):
        return [name for name in ("one", "one.ops", "oneself", "two", "two.x") if in_scope(shim, kernel(name))]
    compat.install(scope="one")
    compat.install(tiers=["refused"], scope="two")
    print(seen("silent"), seen("refused"))
    with compat.installed(only=["silent"]):
        print(seen("silent"), seen("refused"))
    print(seen("silent"), in_scope("silent", kernel("one").fn))
    compat.uninstall()
    print(seen("silent"))
    """
    )
    one, two = ["one", "one.ops"], ["two", "two.x"]
    everybody = ["one", "one.ops", "oneself", "two", "two.x"]
    assert python(code)[0].split("\n") == [
        f"{one} {one + two}", f"{everybody} {one + two}", f"{one} True", f"{everybody}",
    ]  # fmt: skip
