"""`crosswarp lint` on Python's own in kernels and hooks, and on folders that are listed apart."""

from __future__ import annotations

import io
import json
import sys
import textwrap

import pytest

from crosswarp.matrix.checkout import apart
from crosswarp.matrix.facts import language_table
from crosswarp.matrix.linting import lint
from crosswarp.matrix.running import progress
from crosswarp.reports.text import lint_text

TABLE = language_table.load()
ALL = tuple(TABLE)
HEAD = "import math\nimport triton\nimport triton.language as tl\n"
GLUON = "from triton.experimental import gluon\n"


def since(first, last=ALL[-1]):
    return ALL[ALL.index(first) : ALL.index(last) + 1]


@pytest.fixture
def look(tmp_path):
    def go(files, releases=ALL):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(textwrap.dedent(text), encoding="utf-8")
        return lint.lint([tmp_path], releases, table=TABLE, shown=lambda p: str(p.relative_to(tmp_path)))  # fmt: skip

    return go


def kernel(body, before="", arguments="x, B: tl.constexpr"):
    return f"{HEAD}{before}\n@triton.jit\ndef kernel({arguments}):\n    {body}\n"


@pytest.mark.parametrize(
    "text, subject, releases",
    [
        (kernel("tl.store(x, F)", "F = 1.5"), "plain global F", since("3.0.0")),
        (kernel("tl.store(x, F)", "F = -2 * math.pi"), "plain global F", since("3.0.0")),
        (kernel("tl.store(x, F)", "if B:\n    F = 1\nelse:\n    F = 2"), "plain global F", since("3.0.0")),
        (kernel("tl.store(x, F[0])", "F = [1, 2]"), "plain global F", since("3.0.0")),
        (kernel("tl.store(x, F)", "G = 3\nF = G"), "plain global F", since("3.0.0")),
        (kernel("tl.store(x, F)", "from other import F"), "plain global F", since("3.0.0")),
        (kernel("tl.store(x, F)", "F: tl.constexpr = 3"), "annotated global F", since("3.3.1")),
        (kernel("tl.store(x, math.sqrt(B))"), "math.sqrt", since("3.0.0", "3.1.0")),
        (kernel("tl.store(x, ln(2))", "from math import log as ln"), "math.log", since("3.0.0", "3.1.0")),
        (kernel("pass") + "kernel.cache", "triton.runtime.jit.JITFunction.cache", since("3.3.1")),
        (kernel("pass") + "kernel.device_caches", "triton.runtime.jit.JITFunction.device_caches", ALL[:4]),
        (f"{GLUON}@gluon.aggregate\nclass A:\n    pass\n", "triton.experimental.gluon.aggregate",
         since("3.4.0", "3.7.1")),
    ],
)  # fmt: skip
def test_found(look, text, subject, releases):
    files = {"file.py": text, "other.py": "import triton\nF = 2.0\n"}
    found = [one for one in look(files).findings if one.subject != "triton.experimental"]
    assert [(one.path, one.subject, one.releases) for one in found] == [
        ("file.py", subject, releases)
    ]


@pytest.mark.parametrize(
    "text",
    [
        kernel("tl.store(x, F)", "F = tl.constexpr(1.5)"),
        kernel("tl.store(x, F)", "F = tl.constexpr(1.5) * 2"),
        kernel("x.to(F)", "F = tl.float32"),
        kernel("tl.store(x, F)", "F = something()"),
        kernel("tl.store(x, F)", "try:\n    from other import G as F\nexcept ImportError:\n    F = 1"),
        kernel("F = 2\n    tl.store(x, F)", "F = 1.5"),
        kernel("tl.store(x, F)", "F = 1.5", "x, B: tl.constexpr, F: tl.constexpr = 3"),
        kernel("tl.store(x, B)", "F = 1.5", "x, B: tl.constexpr = F"),
        kernel("tl.store(x, F)", "F = 1.5\nimport os\nos.environ['TRITON_ALLOW_NON_CONSTEXPR_GLOBALS'] = '1'"),
        kernel("tl.store(x, math.pi)"),
        kernel("tl.store(x, math.sqrt(x))", "from triton.language import math"),
        HEAD + "F = 2\ndef host():\n    return F * math.sqrt(F)\n",
        kernel("pass") + "if hasattr(kernel, 'cache'):\n    kernel.cache\n",
        kernel("pass") + "try:\n    kernel.cache\nexcept AttributeError:\n    pass\n",
        kernel("pass").replace("@triton.jit", "@triton.autotune(configs=[], key=[])\n@triton.jit") + "kernel.cache",
        kernel("pass") + "kernel.src\nkernel.fn\nkernel.arg_names\n",
    ],
)  # fmt: skip
def test_not_found(look, text):
    assert not look({"file.py": text, "other.py": "import triton\nG = object()\n"}).findings


TUNED = (
    HEAD + "{before}\n@triton.autotune(configs=[], key=[], {option})\n@triton.jit\n"
    "def kernel(x, n, B: tl.constexpr):\n    pass\ndef f(x):\n    kernel[(1,)]({call})\n"
)


@pytest.mark.parametrize(
    "before, option, call, rule, releases",
    [
        ("def h(args, reset_only=False):\n    args[0].zero_()", "pre_hook=h", "x, 1", "autotune-hook", since("3.2.0")),
        ("def h(a, reset_only=False):\n    a['x'].zero_()", "pre_hook=h", "x, 1", "autotune-hook", ALL[:3]),
        ("", "post_hook=lambda a, exception: a[1]", "x, 1", "autotune-hook", since("3.2.0")),
        ("", "restore_value=['x']", "x=x, n=1", "autotune-restored", ALL[:3]),
        ("", "reset_to_zero=['x', 'n']", "x, n=1", "autotune-restored", ALL[:3]),
        ("", "restore_value=['x']", "x, n=1", None, ()),
        ("def h(a, reset_only=False):\n    b = {}\n    b['x'] = a", "pre_hook=h", "x, 1", None, ()),
    ],
)  # fmt: skip
def test_what_autotune_hands_over(look, before, option, call, rule, releases):
    found = look({"file.py": TUNED.format(before=before, option=option, call=call)}).findings
    found = [one for one in found if one.rule != "host-argument"]
    assert [(one.rule, one.releases) for one in found] == ([(rule, releases)] if rule else [])


def test_the_code_that_a_message_names_stands_on_its_line(look):
    """Of code that another file calls as well: once, in the file that has it, with who calls it."""
    ops = kernel("tl.store(x, F * tl.gather(x, x, 0))", "F = 2.0")
    layer = "import triton\nfrom ops import kernel\n\n\ndef f(x):\n    kernel[(1,)](x, B=4)\n"
    found = look({"ops.py": ops, "layer.py": layer, "layer2.py": layer}).findings
    assert [(one.path, one.rule) for one in found] == [
        ("ops.py", "plain-global"),
        ("ops.py", "language-name"),
    ]
    lines = ops.splitlines()
    for one, code in zip(found, ("F", "tl.gather"), strict=True):
        assert lines[one.line - 1][one.column - 1 :].startswith(code)
        assert one.callers == ("layer.py:6",)


@pytest.mark.skipif(
    sys.version_info < (3, 10), reason="Python 3.9 does not say where a name of an import stands"
)
def test_a_name_of_an_import_over_several_lines_stands_on_its_own(look):
    text = "from triton.language import (\n    load,\n    gather,\n)\n"
    [one] = look({"ops.py": text}).findings
    assert text.splitlines()[one.line - 1][one.column - 1 :] == "gather,"


@pytest.mark.parametrize(
    "path, folder, vendor",
    [
        ("src/lib/backend/_ascend/ops/a.py", "src/lib/backend/_ascend", "Ascend"),
        ("lib/vendors/_cambricon/a.py", "lib/vendors/_cambricon", "Cambricon"),
        ("lib/ops/npu_kernels.py", "lib/ops/npu_kernels.py", "Ascend"),
        ("lib/xpu/a.py", "lib/xpu", "XPU"),
        ("third_party/flash_attn/ops/a.py", "third_party/flash_attn", ""),
        ("lib/_vendor/a.py", "lib/_vendor", ""),
        ("lib/3rdparty/a.py", "lib/3rdparty", ""),
        ("lib/input/a.py", None, ""),
        ("lib/output.py", None, ""),
        ("vendor.py", None, ""),
    ],
)
def test_folders_that_are_listed_apart(path, folder, vendor):
    assert apart.of(path) == (apart.Apart(folder, vendor) if folder else None)


def test_other_vendors_and_copies_are_listed_apart(look):
    use = "from triton.language import gather\n"
    files = {"own.py": use, "_musa/a.py": use, "_musa/b.py": use, "third_party/x/c.py": use}
    result = look(files)
    text = lint_text.text(result).splitlines()
    assert [line.partition(":")[0] for line in text] == [
        "own.py", "For other vendors' chips, which have a Triton of their own (not counted; --format json has each)",
        "    _musa (Moore Threads)", "In vendored copies of other libraries (--format json has each)",
        "    third_party/x", "2 found in 4 files, 2 for other vendors' chips; against Triton 2.3.1, 3.0.0, 3.1.0, "
        "3.2.0, 3.3.1, 3.4.0, 3.5.1, 3.6.0, 3.7.1, 3.8.0, 3.9.0.",
    ]  # fmt: skip
    assert text[2].endswith("2 findings in 2 files")
    found = json.loads(lint_text.as_json(result))["findings"]
    assert {one["path"]: one["apart"] for one in found} == {
        "own.py": None, "_musa/a.py": {"folder": "_musa", "vendor": "Moore Threads"},
        "_musa/b.py": {"folder": "_musa", "vendor": "Moore Threads"},
        "third_party/x/c.py": {"folder": "third_party/x", "vendor": ""},
    }  # fmt: skip
    assert "_musa" not in lint_text.github(result) and "_musa" not in lint_text.sarif(result)


def test_only_other_vendors_findings_fail_nothing(tmp_path, command):
    folder = tmp_path / "lib" / "npu"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("from triton.language import gather\n")
    assert command("lint", str(tmp_path / "lib"), "--triton", "3.2.0")[0] == 0
    # Whoever names the folder asks about it.
    assert command("lint", str(folder), "--triton", "3.2.0")[0] == 1


def test_progress_is_said_while_it_takes_long(monkeypatch):
    monkeypatch.setattr(progress, "_COUNTING_SECONDS", -1.0)
    said = io.StringIO()
    with progress.counting("files checked", said) as count:
        count(3, 763)
    assert said.getvalue() == "3 of 763 files checked\n"


def test_what_is_announced_is_a_note_until_the_library_decides(look):
    files = {"k.py": kernel("tl.store(x, 1)")}
    result = look(files, ("3.8.0", "3.9.0"))
    assert [one.release for one in result.announced] == ["3.10"] and not result.findings
    assert "Announced for Triton 3.10: Multiplications and additions" in lint_text.text(result)
    assert json.loads(lint_text.as_json(result))["announced"][0]["release"] == "3.10"
    assert not look(files, ("3.8.0",)).announced
    cat = kernel("tl.cat(x, x, can_reorder=True)")
    assert "tl.cat(can_reorder=True)" in look({"c.py": cat}, ("3.9.0",)).announced[-1].title
    assert not look({**files, "c.py": "# TRITON_DEFAULT_FP_FUSION=1\n"}, ("3.9.0",)).announced


def test_a_library_without_kernels_is_not_concerned(look):
    assert not look({"a.py": "import triton\n"}, ("3.9.0",)).announced
