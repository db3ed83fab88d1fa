"""Which kernels a release's compiler may die of: every crash that the baseline holds, and none besides by release."""

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest

from crosswarp.compat import known_crashes
from crosswarp.compat.known_crashes import CRASHES, Features, possible_on
from crosswarp.compat.shims.compiler_crash import SHIM
from crosswarp.compat.versions import in_window
from crosswarp.matrix.facts import issues
from crosswarp.matrix.results import baseline

ROOT = Path(__file__).resolve().parent.parent


def features_of(kernel):
    """As `known_crashes.features_of`, from the file alone: what stands anywhere in it."""
    paths = (ROOT / "kernels" / f"{kernel}.py", ROOT / "kernels/known_issues" / f"{kernel}.py")
    tree = ast.parse(next(path for path in paths if path.exists()).read_text())
    nodes = list(ast.walk(tree))
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    names |= {node.id for node in nodes if isinstance(node, ast.Name)}
    loops = any(isinstance(node, (ast.For, ast.While)) for node in nodes)
    return Features(frozenset(names), loops, "bf16" in ast.dump(tree))


# What asks for a cluster of blocks.
NUM_CTAS = {"cluster_tiles": 2}


@pytest.fixture(scope="module")
def died():
    """(kernel, release, target) of the cells without compat in which the compiler killed its process."""
    found = {
        (record.kernel, record.column.removeprefix("triton-"), record.target)
        for record in baseline.read(ROOT / "baseline/all.json")
        if (record.mode, record.lane, record.outcome) == ("bare", "compile", "crash")
    }
    assert len(found) > 50
    return found


def backend_of(target):
    return "hip" if target.startswith("gfx") else "cuda"


def test_each_crash_of_the_baseline_is_foreseen(died):
    missed = []
    for kernel, release, target in sorted(died):
        # Where another fix takes the crash away, nothing is compiled in a child either.
        if not in_window(SHIM.window, release):
            continue
        possible = possible_on(release, backend_of(target), NUM_CTAS.get(kernel, 1))
        if not any(crash.takes(features_of(kernel)) for crash in possible):
            missed.append((kernel, release, target))
    assert missed == []


@pytest.mark.parametrize("release", ["3.3.1", "3.4.0", "3.5.1", "3.6.0", "3.7.1", "3.8.0", "3.9.0"])
def test_no_crash_is_possible_where_the_compiler_raises(release):
    assert possible_on(release, "cuda", 2) == possible_on(release, "hip") == []


@pytest.mark.parametrize("crash", CRASHES, ids=lambda crash: crash.issue)
def test_each_crash_names_a_known_issue_with_a_release_in_common(crash, died):
    issue = next(issue for issue in issues.load() if issue.id == crash.issue)
    releases = ("2.3.1", "3.0.0", "3.1.0", "3.2.0")
    common = [r for r in releases if in_window(crash.window, r) and in_window(issue.triton, r)]
    assert common and "crash" in issue.outcome


PLAIN = Features(frozenset({"load", "store", "arange", "program_id"}), loops=False, bfloat16=False)


@pytest.mark.parametrize("release", ["2.3.1", "3.0.0", "3.1.0", "3.2.0"])
@pytest.mark.parametrize("backend", ["cuda", "hip", None])
def test_a_kernel_without_any_of_the_features_meets_no_crash(release, backend):
    possible = possible_on(release, backend)
    assert possible
    assert not any(crash.takes(PLAIN) for crash in possible)


@pytest.mark.parametrize(
    ("release", "backend", "change"),
    [
        ("3.2.0", "cuda", {"names": frozenset({"dot"})}),
        ("3.2.0", None, {"names": frozenset({"sum"}), "loops": True}),
        ("2.3.1", "cuda", {"names": frozenset({"cumsum"})}),
        ("3.1.0", "hip", {"bfloat16": True}),
        ("3.0.0", "hip", {"loops": True}),
        ("3.2.0", "hip", {"names": frozenset({"atomic_add"}), "loops": True}),
    ],
)
def test_each_feature_counts(release, backend, change):
    kernel = PLAIN._replace(**change)
    assert any(crash.takes(kernel) for crash in possible_on(release, backend))
    assert not any(crash.takes(kernel) for crash in possible_on("3.6.0", backend))


def test_a_cluster_counts_before_the_compiler_raises():
    assert any(crash.takes(PLAIN) for crash in possible_on("3.2.0", "cuda", 2))
    assert not any(crash.takes(PLAIN) for crash in possible_on("3.2.0", "hip", 2))


def _loads(x, tl):
    return tl.load(x)


def _converts(x, tl):
    return tl.load(x).to(tl.bfloat16)


@pytest.mark.parametrize(
    ("kernel", "text", "called", "type_name", "expected"),
    [
        (_loads, "return tl.load(x)", (), "*fp32", (False, False)),
        (_loads, "return tl.load(x)", (), "*bf16", (False, True)),
        (_converts, "return tl.load(x).to(tl.bfloat16)", (), "*fp32", (False, True)),
        (_loads, "    while x:\n        tl.load(x)", (), "*fp32", (True, False)),
        # Of a function that it calls, and of one that comes after it.
        (_loads, "return f(x)", [(_converts, "for_ = 1")], "*fp32", (False, True)),
        (_loads, "return f(x)", [(_loads, "for y in x:")], "*fp32", (True, False)),
        (_loads, "for y in x:", [(_loads, "return x")], "*fp32", (True, False)),
    ],
)
def test_a_kernel_has_the_features_of_all_that_it_calls(
    monkeypatch, kernel, text, called, type_name, expected
):
    monkeypatch.setattr(known_crashes, "reachable", iter)
    first, *others = (
        SimpleNamespace(fn=function, src=body) for function, body in [(kernel, text), *called]
    )
    signature = {"x": "i32", "y": type_name}
    source = SimpleNamespace(fn=first, constants=dict(enumerate(others)), signature=signature)
    features = known_crashes.features_of(source)
    assert (features.loops, features.bfloat16) == expected and "load" in features.names
