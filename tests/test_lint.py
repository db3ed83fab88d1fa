"""`crosswarp lint`: each rule, each guard, what is no guard, and hostile files."""

# ruff: noqa: E501

from __future__ import annotations

import re
import textwrap

import pytest

from crosswarp.matrix.facts import language_table
from crosswarp.matrix.linting import lint, rules
from crosswarp.matrix.linting.api import Api
from crosswarp.matrix.linting.rules import Where

TABLE = language_table.load()
ALL = tuple(TABLE)
BEFORE_3_4 = ALL[: ALL.index("3.4.0")]
HEAD = "import triton\nimport triton.language as tl\n"


@pytest.fixture
def check(tmp_path):
    """`check(text)`: what is found in a file, as (rule, subject, releases)."""

    def look(text, releases=ALL, name="file.py", result=False, **others):
        for path, content in {name: text, **others}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(textwrap.dedent(content), encoding="utf-8")
        told = lint.lint([tmp_path], releases, table=TABLE, shown=lambda path: path.name)
        if result:
            return told
        assert not told.unreadable
        return [(one.rule, one.subject, one.releases) for one in told.findings]

    return look


def kernel(body, head=HEAD, arguments="x, F: tl.constexpr"):
    return f"{head}@triton.jit\ndef kernel({arguments}):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"


GATHER = ("language-name", "triton.language.gather", ALL[: ALL.index("3.3.1")])
DESCRIPTOR = ("host-name", "triton.tools.tensor_descriptor", BEFORE_3_4)


# Rules


@pytest.mark.parametrize(
    "text, expected",
    [
        (kernel("tl.gather(x, x, 0)"), [GATHER]),
        (kernel("language.gather(x, x, 0)", HEAD + "from triton import language\n"), [GATHER]),
        (HEAD + "from triton.language import gather", [GATHER]),
        (kernel("triton.language.gather(x, x, 0)"), [GATHER]),
        (
            "from triton.language.math import tanh",
            [("language-name", "triton.language.math.tanh", ALL[1:])],
        ),
        (
            "from triton.language.extra import libdevice",
            [("language-name", "triton.language.extra.libdevice", ("2.3.1",))],
        ),
        (kernel("tl.dot(x, x, input_precision='ieee')"), [("language-argument", "triton.language.dot(input_precision)", ("2.3.1",))]),
        (kernel("tl.load(x, None, None, (), '')"), [("language-argument", "triton.language.load()", ("3.9.0",))]),
        (kernel("tl.load(x, boundary_check=(0,))"), [("language-argument", "triton.language.load(boundary_check)", ("3.9.0",))]),
        (kernel("tl.make_block_ptr(x, (), (), (), (), ())"), [("language-removed", "triton.language.make_block_ptr", ("3.9.0",))]),
        ("from triton.tools.tensor_descriptor import TensorDescriptor", [DESCRIPTOR]),
        ("import triton.tools.tensor_descriptor", [DESCRIPTOR]),
        ("import triton.ops.matmul", [("host-name", "triton.ops", ALL[3:])]),
        (
            "from triton.runtime.jit import JITFunction\nprint(JITFunction.cache_hook)",
            [("host-name", "triton.runtime.jit.JITFunction.cache_hook", ALL[ALL.index("3.4.0") :])],
        ),
        (
            "import triton\ntriton.runtime.JITFunction.cache_hook = print",
            [("host-name", "triton.runtime.JITFunction.cache_hook", ALL[ALL.index("3.4.0") :])],
        ),
        (
            "import triton\ntriton.testing.do_bench(print, fast_flush=True)",
            [("host-argument", "triton.testing.do_bench(fast_flush)", ALL[3:])],
        ),
        (
            HEAD + "@triton.autotune(configs=[], key=[], cache_results=True)\n@triton.jit\ndef f(x): pass",
            [("host-argument", "triton.autotune(cache_results)", BEFORE_3_4)],
        ),
        (
            HEAD + "@triton.autotune(configs=[], key=['x', 'BT'])\n@triton.heuristics({})\n@triton.jit\ndef f(x): pass",
            [("autotune-key", "triton.autotune(key)", (*ALL[:3], "3.9.0"))],
        ),
        (
            HEAD + "@triton.autotune([], ['x'], reset_to_zero=['y'])\n@triton.jit\ndef f(x): pass",
            [("autotune-argument-name", "triton.autotune(reset_to_zero)", (*ALL[:3], "3.9.0"))],
        ),
        (
            kernel("pass") + "def run(x):\n    kernel[(1,)](x, 1, launch_pdl=True, num_warps=4)\n",
            [("launch-option", "launch.launch_pdl", BEFORE_3_4)],
        ),
    ],
)  # fmt: skip
def test_rule(check, text, expected):
    assert check(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        kernel("tl.load(x)\ntl.no_release_has_this(x)\ntl.dot(x, x, nor_this=1)"),
        "from triton.experimental.gluon import language as gl"
        if False
        else "import gluon as tl\ntl.gather",
        "from triton_kernels import gather\nimport triton_ascend.ops",
        # Another decorator stands between, and may have other arguments.
        HEAD + "@triton.autotune([], ['BT'])\n@mine\n@triton.jit\ndef f(x): pass",
        # The kernel has an argument of that name.
        kernel("pass", arguments="x, launch_pdl")
        + "def run(x):\n    kernel[(1,)](x, launch_pdl=True)\n",
        # A name of the function itself.
        HEAD + "def run(tl):\n    return tl.gather\n",
        # Nothing is known of what comes in by a star.
        kernel("tl.load(x, *x)"),
        # No release takes so many by position: 3.9 has a fifth parameter, by keyword alone.
        kernel("tl.softmax(x, 0, False, False, None)"),
    ],
)
def test_no_rule(check, text):
    assert check(text) == []


@pytest.mark.parametrize(
    "compare, wrong",
    [
        ("triton.__version__ >= '3.4'", True),
        ("'3.4.0' <= triton.__version__", True),
        ("triton.__version__.split('.')[1] >= '4'", True),
        ("triton.__version__.split('.')[:2] >= ['3', '4']", True),
        # Letters and numbers agree, also later.
        ("triton.__version__ >= '3.1.0'", False),
        ("triton.__version__ >= '3'", False),
        ("triton.__version__ == '3.4.0'", False),
        # A part that does not begin the version: it says nothing of the next release.
        ("triton.__version__.split('.')[2:] >= ['10']", False),
        ("tuple(map(int, triton.__version__.split('.')[:2])) >= (3, 4)", False),
        ("tuple(int(x) for x in triton.__version__.split('.')[:2]) >= (3, 4)", False),
        ("Version(triton.__version__) >= Version('3.4')", False),
        ("torch.__version__ >= '2.4'", False),
    ],
)
def test_versions_as_texts(check, compare, wrong):
    head = "import torch, triton\nfrom packaging.version import Version\n"
    found = check(f"{head}X = {compare}", ALL[1:])
    assert [(rule, releases) for rule, _, releases in found] == [
        ("version-string", (rules.NEXT,))
    ] * wrong


# Guards

USE = "from triton.language import gather"
GUARDS = [
    f"try:\n    {USE}\nexcept ImportError:\n    gather = None",
    f"try:\n    {USE}\nexcept (AttributeError, ImportError) as error:\n    gather = error",
    f"try:\n    {USE}\nexcept Exception:\n    pass",
    "try:\n    gather = tl.gather\nexcept AttributeError:\n    gather = None",
    f"import contextlib\nwith contextlib.suppress(ImportError):\n    {USE}",
    f"if hasattr(tl, 'gather'):\n    {USE}",
    f"HAS = hasattr(triton.language, 'gather')\nif HAS:\n    {USE}",
    "gather = tl.gather if hasattr(tl, 'gather') else None",
    "gather = hasattr(tl, 'gather') and tl.gather",
    "gather = getattr(tl, 'gather', None)",
    f"if getattr(tl, 'gather', None) is not None:\n    {USE}",
    f"from packaging.version import parse\nif parse(triton.__version__) >= parse('3.3'):\n    {USE}",
    f"from packaging import version as v\nOLD = v.Version(triton.__version__) < v.Version('3.3.0')\nif not OLD:\n    {USE}",
    f"if tuple(map(int, triton.__version__.split('.')[:2])) >= (3, 3):\n    {USE}",
    f"major, minor = (int(x) for x in triton.__version__.split('.')[:2])\nif (major, minor) >= (3, 3):\n    {USE}",
    f"from importlib.metadata import version\nfrom packaging.version import Version\nif Version(version('triton')) >= Version('3.3'):\n    {USE}",
    f"from packaging.version import Version\nif Version(triton.__version__).release >= (3, 3):\n    {USE}",
    f"import operator\nfrom packaging.version import Version\nif operator.ge(Version(triton.__version__), Version('3.3')):\n    {USE}",
    "if not hasattr(tl, 'gather'):\n    raise ImportError('too old')\n" + USE,
    "assert hasattr(tl, 'gather')\n" + USE,
    "def f():\n    if not hasattr(tl, 'gather'):\n        return None\n    return tl.gather",
    f"def has():\n    try:\n        {USE}\n        return True\n    except ImportError:\n        return False\nif has():\n    {USE}",
    f"def new(name, least):\n    import importlib\n    return Version(importlib.import_module(name).__version__) >= Version(least)\n"
    f"from packaging.version import Version\nif new('triton', '3.3'):\n    {USE}",
    f"import functools\n@functools.lru_cache\ndef has():\n    return torch.cuda.is_available() and hasattr(tl, 'gather')\nif has():\n    {USE}",
    f"import importlib.util\nif importlib.util.find_spec('triton.tools.tensor_descriptor'):\n    {USE}",
    f"import inspect\nif 'cache_results' in inspect.signature(triton.autotune).parameters:\n    {USE}",
    f"try:\n    from triton.tools.tensor_descriptor import TensorDescriptor\n    HAS = True\nexcept ImportError:\n    HAS = False\nif HAS:\n    {USE}",
    # The hardware is none for which a published Triton compiles.
    f"if is_npu_available():\n    {USE}",
    f"if device == 'xpu':\n    {USE}",
    # Only called where there is a guard.
    "def f():\n    return tl.gather\nif hasattr(tl, 'gather'):\n    f()",
    "@triton.jit\ndef k(x):\n    tl.gather(x, x, 0)\ndef run(x):\n    if hasattr(tl, 'gather'):\n        k[(1,)](x)",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    " + USE,
    "from __future__ import annotations\ndef f(x: tl.gather):\n    pass",
]  # fmt: skip


@pytest.mark.parametrize("guard", GUARDS)
def test_guard(check, guard):
    assert (
        check(f"{guard.splitlines()[0]}\n{HEAD}{guard}" if "__future__" in guard else HEAD + guard)
        == []
    )


NO_GUARDS = [
    f"try:\n    {USE}\nexcept ValueError:\n    pass",
    f"try:\n    import numpy\nexcept ImportError:\n    pass\n{USE}",
    f"if hasattr(tl, 'dot'):\n    {USE}",
    f"if torch.cuda.is_available():\n    {USE}",
    f"if torch.__version__ >= '2.6':\n    {USE}",
    f"if is_hip():\n    {USE}",
    f"if not hasattr(tl, 'gather'):\n    print('old')\n{USE}",
    # Whoever imports it may call it.
    "def f():\n    return tl.gather",
    "@triton.jit\ndef k(x):\n    tl.gather(x, x, 0)\ndef run(x):\n    k[(1,)](x)",
]


@pytest.mark.parametrize("text", NO_GUARDS)
def test_no_guard(check, text):
    assert check(HEAD + text) == [GATHER]


@pytest.mark.parametrize("test", ["if F:", "if hasattr(tl, 'gather'):", "if HAS:"])
def test_a_dead_branch_of_a_kernel_still_fails_before_3_5(check, test):
    """Measured on all eleven releases: docs/lint.md."""
    head = f"{HEAD}HAS = tl.constexpr(hasattr(tl, 'gather'))\n"
    assert check(kernel(f"{test}\n    tl.gather(x, x, 0)", head)) == [GATHER]
    # Arguments are looked at where the branch is compiled alone; only what is known is left out.
    never = "NEW = tl.constexpr(False)\n"
    assert (
        check(kernel("if NEW:\n    tl.load(x, boundary_check=())", HEAD + never), name="b.py")[1:]
        == []
    )


def test_a_dead_branch_of_a_kernel_is_a_guard_from_3_5(check):
    text = kernel(
        "if HAS:\n    tl.atomic_load(x)", f"{HEAD}HAS = tl.constexpr(hasattr(tl, 'atomic_load'))\n"
    )
    assert check(text) == [
        ("language-name", "triton.language.atomic_load", ALL[: ALL.index("3.5.1")])
    ]


def test_flags_and_functions_of_other_files(check):
    package = {
        "lib/__init__.py": "",
        "lib/flags.py": f"{HEAD}from .more import *\nHAS = hasattr(tl, 'gather')\n",
        "lib/more.py": f"{HEAD}def new():\n    return hasattr(tl, 'gather')\n",
    }
    use = f"{HEAD}from .flags import HAS, new\nfrom . import flags\n"
    for guard in ("HAS", "flags.HAS", "new()"):
        assert check(f"{use}if {guard}:\n    {USE}\n", name="lib/use.py", **package) == []
    assert check(f"{use}if not HAS:\n    {USE}\n", name="lib/use.py", **package) == [GATHER]


def test_a_folder_of_a_package_without_an_init_file(check):
    package = {
        "lib/__init__.py": "",
        "lib/ops/deep/__init__.py": "",
        "lib/ops/deep/flags.py": f"{HEAD}HAS = hasattr(tl, 'gather')\n",
    }
    for where in ("lib.ops.deep.flags", "deep.flags", ".flags"):
        use = f"{HEAD}from {where} import HAS\nif HAS:\n    {USE}\n"
        assert check(use, name="lib/ops/deep/use.py", **package) == []


@pytest.mark.parametrize(
    "imports",
    [
        "import other\nif other.has_triton():\n    import triton\n    from triton import language as tl\nelse:\n    triton, tl = other.Stub(), None",
        "import other\nif other.has_triton():\n    import triton\n    import triton.language as tl",
        "try:\n    import other\n    import triton\n    import triton.language as tl\nexcept ImportError:\n    triton = tl = None",
    ],
)
def test_a_placeholder_where_triton_is_missing(check, imports):
    text = f"from names import triton, tl\n{kernel('tl.gather(x, x, 0)', head='')}"
    assert check(text, **{"names.py": imports}) == [GATHER]
    # Two modules of Triton's stay two.
    assert (
        check(text, **{"names.py": f"{imports}\nif other.flag:\n    import triton.testing as tl\n"})
        == []
    )


@pytest.mark.parametrize(
    "text, where",
    [
        (HEAD + USE, Where.IMPORT),
        (HEAD + "class A:\n    x = tl.gather", Where.IMPORT),
        (
            HEAD + "@triton.heuristics({'x': tl.gather})\n@triton.jit\ndef f(x): pass",
            Where.DECORATE,
        ),
        (kernel("tl.gather(x, x, 0)"), Where.KERNEL),
        (HEAD + "def f():\n    return tl.gather", Where.CALL),
        (HEAD + "class A:\n    def f(self):\n        return tl.gather", Where.CALL),
    ],
)
def test_what_happens(check, text, where):
    [found] = check(text, result=True).findings
    assert (
        found.where is where and f"is not in Triton 2.3.1..3.2.0: {where.value}; " in found.message
    )


@pytest.mark.parametrize(("indent", "where"), [("", Where.DECORATE), ("    ", Where.CALL)])
def test_a_wrong_key_fails_where_the_kernel_is_decorated(check, indent, where):
    tuned = "@triton.autotune(configs=[], key=['BT'])\n@triton.jit\ndef k(x): pass\n"
    text = ("def f():\n" if indent else "") + textwrap.indent(tuned, indent)
    assert [one.where for one in check(HEAD + text, result=True).findings] == [where]


def test_what_a_shim_heals(check):
    text = kernel("tl.make_tensor_descriptor(x, [], [], [])\ntl.advance(x, ())\ntl.gather(x, x, 0)")
    fixed = {
        one.subject.rpartition(".")[2]: dict(one.fixed_by)
        for one in check(text, result=True).findings
    }
    assert fixed == {
        "make_tensor_descriptor": {"3.3.1": "descriptor_names"},
        "advance": {"3.9.0": "block_pointers"},
        "gather": dict.fromkeys(["2.3.1", "3.0.0", "3.1.0", "3.2.0"], "gather"),
    }


def test_ignored(check):
    line = "from triton.language import gather"
    for comment in (
        "crosswarp: ignore",
        "crosswarp: ignore[language-name]",
        "crosswarp:ignore[x, language-name]",
    ):
        told = check(f"{line}  # noqa  # {comment}", result=True)
        assert (told.findings, told.ignored) == ([], 1)
    assert check(f"{line}  # crosswarp: ignore[host-name]") == [GATHER]
    assert check(f'{line}; x = "# crosswarp: ignore"') == [GATHER]


# Hostile files


@pytest.mark.parametrize(
    "data, why",
    [
        (b"import triton\ndef f(:\n", "syntax error"),
        (b"import triton\0\n", "null bytes"),
        (b"import triton # \xff\n", "UTF-8"),
        (b"# coding: nonsense\nimport triton\n", "encoding"),
        (b"import triton\nx = " + b"(" * 500 + b")" * 500, "cannot be parsed|syntax error"),
        (b"import triton\nx = " + b"-" * 300 + b"1\n", "deep|cannot be parsed"),
        (b"import triton\nx = 1" + b" + 1" * 3000, "deep|cannot be parsed"),
        (b"import triton\n" + b"#" * 4_000_001, "longer than 4 MB"),
    ],
)
def test_a_file_that_cannot_be_checked_stops_no_other(tmp_path, data, why):
    (tmp_path / "bad.py").write_bytes(data)
    (tmp_path / "good.py").write_text(USE)
    told = lint.lint([tmp_path], ALL, table=TABLE, shown=lambda path: path.name)
    [bad] = told.unreadable
    assert bad.path == "bad.py" and re.search(why, bad.why)
    assert [one.path for one in told.findings] == ["good.py"] and told.files == 2


def test_rings_of_imports_and_functions_come_to_an_end(check):
    ring = {
        "lib/__init__.py": "",
        "lib/b.py": f"{HEAD}from .a import f, X\nX = X\ndef g():\n    return f()\n",
    }
    text = f"{HEAD}from .b import g, X\ndef f():\n    return g()\nif f() or X:\n    {USE}\n"
    assert check(text, name="lib/a.py", **ring) == [GATHER]


def test_every_name_of_the_host_is_found_under_its_full_name():
    api = Api(TABLE)
    assert api.has("3.9.0", "triton.language.dot") is True
    assert api.has("3.2.0", "triton.language.extra.cuda.gdc_wait") is False
    assert api.has("2.3.1", "triton.language.math.tanh") is True
    assert api.has("3.9.0", "triton.language.no_release_has_this") is None
    assert api.parameters("3.9.0", "triton.language.store")["*"] == ""


# Python says the same of them.
KNOWN = """
[1] + [2] == [1, 2]
[1] + [2] == [2, 1]
-1 < 0
-1.5 == 1.5
not []
not [0]
not None
1 if [] else 0
0 if [] else 1
{'a': 1}.get('a') == 1
{'a': 1}.get('b') is None
{'a': 1}.get('b', 2) == 3
list({'a': 1}.keys()) == ['a']
list({'a': 1}.values()) == [2]
'a' in {'a', 'b'}
'c' in {'a', 'b'}
'c' not in ('a', 'b')
(1, 2)[0] == 1
(1, 2)[1:] == (2,)
[1, 2, 3][::2] == [1, 3]
[1, 2, 3][-1] == 3
{'a': 1}['a'] == 1
'3.4.0'.split('.')[0] == '3'
'3.4.0'.rsplit('.', 1)[1] == '0'
'3.4+git'.partition('+')[0] == '3.4'
'a-b'.rpartition('-')[2] == 'a'
'abc'.startswith('ab')
'abc'.endswith('ab')
' a '.strip() == 'a'
' a'.lstrip() == 'a'
'a '.rstrip() == ' a'
'A'.lower() == 'a'
'a'.upper() == 'a'
'12'.isdigit()
'abc'.removeprefix('a') == 'bc'
'abc'.removesuffix('c') == 'bc'
'abc'.replace('b', '') == 'ac'
int('12') == 12
int('x' in 'xy') == 1
str(3) == '3'
len((1, 2)) == 2
bool('')
any([0, 1])
all([0, 1])
any(())
all(())
min(3, 2) == 2
max(3, 2) == 2
tuple([1]) == (1,)
set([1]) == {1}
list(map(int, ['1', '2'])) == [1, 2]
tuple(map(int, '3.4'.split('.'))) >= (3, 4)
[int(part) for part in '3.4'.split('.')] == [3, 4]
1 < 2 < 3
1 < 2 > 3
3 >= 3
3 <= 2
1 != 1
None is None
0 or 1
1 and 0
'' or []
(value := 3) == 3
"""
# Expressions that depend on something else.
OPEN = """
unknown
unknown()
unknown.name
not unknown
unknown and 1
unknown or 0
[*unknown] == []
(*unknown,) == ()
{**unknown} == {}
{unknown: 1} == {}
{unknown} == set()
[unknown] == [1]
-unknown < 0
'a' * 2 == 'aa'
1 + 1 == 2
[1][5] == 1
{'a': 1}['b'] == 1
int('x') == 1
int('1234567890') == 1
'a'.center(3) == ' a '
'a'.startswith(unknown)
[1] + unknown == [1]
1 < unknown < 3
[part for part in unknown] == []
[part for part in [1] if part] == [1]
(lambda: 1)
1 < 'a'
unknown[0] == 1
[1][unknown] == 1
f'{unknown}' == ''
"""
TRUTHS = [
    *((text, bool(eval(text))) for text in KNOWN.strip().splitlines()),
    *((text, None) for text in OPEN.strip().splitlines()),
]


@pytest.mark.parametrize("text, known", TRUTHS)
def test_what_an_expression_is_known_to_be(check, text, known):
    """A branch that is never taken is not looked at, and both are where nothing is known."""
    gone = [("host-name", "triton.ops", ("3.9.0",))]
    branches = (
        f"if {text}:\n    import triton.ops.matmul\n",
        f"if {text}:\n    pass\nelse:\n    import triton.ops.matmul\n",
    )
    findings = [check(branch, releases=("3.9.0",)) == gone for branch in branches]
    assert findings == {True: [True, False], False: [False, True], None: [True, True]}[known]


@pytest.mark.parametrize(
    "text, caught",
    [
        ("try:\n    {}\nexcept ImportError:\n    pass", True), ("try:\n    {}\nexcept:\n    pass", True),
        ("try:\n    {}\nexcept (KeyError, ModuleNotFoundError):\n    pass", True),
        ("try:\n    {}\nexcept BaseException:\n    pass", True), ("try:\n    {}\nexcept KeyError:\n    pass", False),
        ("try:\n    {}\nfinally:\n    pass", False), ("try:\n    pass\nexcept ImportError:\n    {}", True),
        ("with contextlib.suppress(ImportError):\n    {}", True), ("with suppress(Exception):\n    {}", True),
        ("with suppress(KeyError):\n    {}", False), ("with other(ImportError):\n    {}", False),
        ("with other:\n    {}", False), ("for x in y:\n    {}", False), ("for x in y:\n    pass\nelse:\n    {}", False),
        ("while y:\n    {}", False), ("while False:\n    {}", True), ("while False:\n    pass\nelse:\n    {}", False),
        ("while y:\n    pass\nelse:\n    {}", False), ("assert {}", None),
    ],
)  # fmt: skip
def test_which_statements_an_error_ends(check, text, caught):
    statement = "import triton.ops.matmul"
    if caught is None:
        text, caught = "def f():\n    {}\nf()", False
    findings = check(text.format(statement), releases=("3.9.0",))
    assert findings == ([] if caught else [("host-name", "triton.ops", ("3.9.0",))])
