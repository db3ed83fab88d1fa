"""A failing cell as one script to attach to an upstream report: it needs only torch and Triton.

The script contains the kernel, its launcher, reference and the one case, with their code from other modules, and judges
as the suite does. Without a GPU it also runs, if crosswarp is installed for its virtual one.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import shlex
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from crosswarp import compat, kernels
from crosswarp.kernels.case import FUNCTIONS
from crosswarp.matrix import reading
from crosswarp.matrix.cell.judging import tuning
from crosswarp.matrix.cell.kinds.suite.in_child import SEED
from crosswarp.matrix.checkout.imports import imported
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts.targets import Target
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.work.suite_modules import kernel_names
from crosswarp.reports.reproducing.flatten import flatten, names
from crosswarp.reports.text import escape

# Crosswarp modules whose code is copied into a script; the others stay imports.
_OURS = {
    "crosswarp.kernels": Path(kernels.__file__).parent,
    "crosswarp.compat.launch": Path(compat.__file__).with_name("launch.py"),
    "crosswarp.compat.features": Path(compat.__file__).with_name("features.py"),
    "crosswarp.compat.errors": Path(compat.__file__).with_name("errors.py"),
}
_THERE = {
    **{name: f"import {name}" for name in ("os", "sys", "torch", "triton")},
    **{name: f"from typing import {name}" for name in ("Any", "Dict")},
}
_RESERVED = (
    "VIRTUAL", "describe", "use_first_configuration", "_main", "_only_configuration", "_poisoned", "_wrong",
)  # fmt: skip
_VERSIONS = ("triton", "torch", "numpy", "python", "ptxas")
_WIDTH = 100

_ONE_CONFIGURATION = '''
def _only_configuration(wanted):
    """Leave every autotuner that has the configuration with that one, so that nothing is measured."""
    for thing in list(globals().values()):
        while thing is not None and not isinstance(thing, triton.runtime.Autotuner):
            thing = getattr(thing, "fn", None)
        kept = [config for config in thing.configs if describe(config) == wanted] if thing else []
        if kept:
            thing.configs = kept
'''

_WRONG = '''
def _wrong(name, out, expected, tolerance):
    """Returns the fault of an output, or an empty text."""
    if out.shape != expected.shape:
        return f"{name}: shape {tuple(out.shape)}, expected {tuple(expected.shape)}"
    out, expected = out.detach().double().cpu(), expected.detach().double().cpu()
    ordinary = torch.isfinite(out) & torch.isfinite(expected)
    if not torch.allclose(out[~ordinary], expected[~ordinary], rtol=0, atol=0, equal_nan=True):
        return f"{name}: NaN or infinite in other places than expected"
    error = torch.linalg.vector_norm((out - expected)[ordinary]).item()
    size = torch.linalg.vector_norm(expected[ordinary]).item()
    error = error / size if size > 0 else error
    print(f"{name}: relative error {error:.3g}, allowed are {tolerance:.3g}")
    return f"{name}: wrong" if not error <= tolerance else ""
'''

_POISON = '''
def _poisoned(allocate):
    """Fill new tensors with NaN, so that an element that nothing writes is seen."""

    def filled(*args, **kwargs):
        tensor = allocate(*args, **kwargs)
        return tensor.fill_(float("nan")) if tensor.is_floating_point() else tensor

    return filled
'''


def script(
    record: Record,
    suite: Path | None,
    targets: Mapping[str, Target],
    name: str = "reproduce.py",
    requires: Sequence[str] = (),
) -> str:
    """Returns the text of the script. `requires`, the packages for its other imports, is in its header.

    Raises UsageError for a kernel whose file is not here or cannot be read.
    """
    source, kernel = _source(record.kernel, suite), escape.line(record.kernel, 200)
    main = f"crosswarp.kernels.{_module(record.kernel)}" if suite is None else record.kernel
    tuned = "autotune" in source

    def find(module: str) -> str | None:
        return (
            _one_case(_spelled_out(source, record.kernel), record.case)
            if module == main
            else _beside(module, suite)
        )

    try:
        wanted = names(source) if record.case == "import" else ["KERNEL"]
        body = flatten({main: wanted}, find, _THERE, _RESERVED)
    except (SyntaxError, LookupError, RecursionError) as error:
        raise UsageError(
            f"{kernel}: its file cannot be made into a script ({error}). Attach the file itself, and run it again "
            f"with: crosswarp run --kernels {kernel}"
        ) from None
    virtual = targets.get(record.target) or (
        # An autotuned kernel asks for a driver as soon as it is decorated, on some Tritons also to be interpreted.
        targets.get("sm_90") if record.lane == "interpret" and tuned else None
    )
    parts = [
        _head(
            record, name, body, suite, virtual is not None and record.lane != "interpret", requires
        ),
        _top(record, virtual, asks_torch=suite is not None),
        body,
        *_tail(record, tuned, virtual is not None),
    ]
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


def _source(kernel: str, suite: Path | None) -> str:
    where = suite if suite is not None else _OURS["crosswarp.kernels"]
    # The name comes from a record. Only a kernel's file may be handed on, wherever it is.
    if kernel not in kernel_names(suite):
        raise UsageError(
            f"{escape.line(kernel, 200)}: the kernel's file cannot be read ({escape.line(str(where), 300)} has no file "
            "of that name that sets KERNEL). Name the folder of its suite with --suite."
        )
    path = where / (f"{_module(kernel).replace('.', '/')}.py" if suite is None else f"{kernel}.py")
    try:
        return reading.text(path)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(
            f"{escape.line(str(path), 300)}: the kernel's file cannot be read ({error}). Name the folder of its suite "
            "with --suite."
        ) from None


def _module(kernel: str) -> str:
    return f"known_issues.{kernel}" if kernel in kernels.KNOWN_ISSUES else kernel


def _beside(module: str, suite: Path | None) -> str | None:
    if suite is not None and module.isidentifier() and (suite / f"{module}.py").is_file():
        return reading.text(suite / f"{module}.py")
    if module in _OURS:
        path = _OURS[module]
    elif module.startswith("crosswarp.kernels."):
        path = _OURS["crosswarp.kernels"] / module.removeprefix("crosswarp.kernels.").replace(
            ".", "/"
        )
    else:
        return None
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    # A script's errors need no common base (crosswarp/compat/copies.py).
    return path.read_text("utf-8").replace("@the_same_for_all\n", "") if path.is_file() else None


def _spelled_out(source: str, kernel: str) -> str:
    """Returns the source with `Kernel(name=…, …)` in place of `kernel_of(globals(), …)`: a script has another name."""
    _, _, call = source.partition("kernel_of(\n")
    functions = [
        name for name in FUNCTIONS if name in names(source) and f"\n    {name}=" not in call
    ]
    fields = [f"{name}={name}" for name in functions]
    given = ",\n    ".join([f"name={_quoted(kernel)}", *fields])
    plain = source.replace("kernel_of(\n    globals()", f"Kernel(\n    {given}")
    return re.sub(r"\bkernel_of\b", "Kernel", plain)


def _one_case(source: str, case: str) -> str:
    """Returns the source with this case only, or unchanged where the case cannot be identified."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.keyword)
            and node.arg == "cases"
            and isinstance(node.value, ast.Tuple)
        ):
            listed = node.value.elts
            chosen = [
                call_node
                for call_node in listed
                if isinstance(call_node, ast.Call) and _first(call_node) == case
            ]
            if len(chosen) == 1 and len(listed) > 1:
                only_case = ast.get_source_segment(source, chosen[0]) or ""
                before = _upto(source, listed[0].lineno, listed[0].col_offset)
                rest = source[
                    len(_upto(source, listed[-1].end_lineno, listed[-1].end_col_offset)) :
                ]
                # A tuple of one needs its comma, whether or not the last one had it.
                return f"{before}{only_case}{'' if rest.lstrip().startswith(',') else ','}{rest}"
    return source


def _upto(source: str, line: int | None, column: int | None) -> str:
    """The text before a place, of which ast counts the bytes."""
    lines = source.splitlines(keepends=True)
    whole = (line or 1) - 1
    return "".join(lines[:whole]) + lines[whole].encode()[: column or 0].decode()


def _first(call: ast.Call) -> object:
    given = (
        call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "id"), None)
    )
    return given.value if isinstance(given, ast.Constant) else None


def _head(
    record: Record, name: str, body: str, suite: Path | None, virtual: bool, requires: Sequence[str]
) -> str:
    what = f"{record.outcome}: {record.fingerprint or record.reason}"
    installed = [
        f"{name} {record.versions[name]}" for name in _VERSIONS if record.versions.get(name)
    ]
    where = f"{record.target}, lane {record.lane}" + (
        ", with compat" if record.mode == "shimmed" else ""
    )
    case = f"{record.kernel}, case {record.case}" + (f", {record.config}" if record.config else "")
    lines = [case, what, f"Seen on {where} with {', '.join(installed) or record.column}.", ""]
    needs = " and ".join(_needs(record, body, suite))
    on = escape.line(record.target, 60)
    if record.lane == "interpret":
        lines.append(f"    python {name}    needs {needs}, and no GPU")
    else:
        lines.append(f"    python {name}              on a GPU ({on}): needs {needs}")
        if virtual:
            does = "executes the compiled code" if record.lane == "emulate" else "runs nothing"
            lines.append(
                f"    python {name} --virtual    without one, with crosswarp: compiles for it, {does}"
            )
    others = _others(body, suite)
    if others:
        with_it = f": pip install {shlex.join(requires)}" if requires else ""
        lines += ["", f"It imports {', '.join(others)}, which has to be installed{with_it}"]
    lines += [
        "",
        "Exit status 0: it does not show here; 2: it was not tried. Made by crosswarp from its kernel suite.",
    ]
    return "\n".join(
        f"# {part}".rstrip()
        for line in lines
        for part in (
            [line]
            if line.startswith("    ") or not line
            else textwrap.wrap(escape.line(line, 1200), _WIDTH, break_on_hyphens=False)
        )
    )


def _quoted(value: object) -> str:
    """As Python, and as most of us write it."""
    return json.dumps(value) if isinstance(value, str) and value.isascii() else repr(value)


def _imported(body: str) -> list[str]:
    """Returns the top-level modules that a script imports, anywhere in it."""
    names = imported(ast.walk(ast.parse(body)))
    return list(dict.fromkeys(name.partition(".")[0] for name, _ in names))


def _others(body: str, suite: Path | None) -> list[str]:
    """Those of other packages than torch, Triton and crosswarp."""
    known = {"torch", "triton", "crosswarp", "", *sys.stdlib_module_names}
    return [
        name
        for name in _imported(body)
        if name not in known and not (suite and (suite / f"{name}.py").is_file())
    ]


def _needs(record: Record, body: str, suite: Path | None) -> list[str]:
    """Returns the packages to install, and the files that lie beside the script."""
    first = _imported(body)
    ours = record.mode == "shimmed" or "crosswarp" in first
    beside = [
        f"{name}.py beside it" for name in first if suite and (suite / f"{name}.py").is_file()
    ]
    return ["torch", "triton", *(["crosswarp"] if ours else []), *beside]


def _top(record: Record, virtual: Target | None, asks_torch: bool) -> str:
    lines = ["import os", "import sys", "from typing import Any, Dict"]
    if record.lane == "interpret":
        lines += ["", 'os.environ["TRITON_INTERPRET"] = "1"']
    lines += ["", "import torch", "import triton", ""]
    if record.mode == "shimmed":
        lines += ["from crosswarp import compat", "", "compat.install()", ""]
    if virtual is not None:
        table = asdict(virtual)
        for field in ("product", "names", "source", "profile"):
            del table[field]
        name = f"sm_{virtual.arch}" if virtual.backend == "cuda" else str(virtual.arch)
        given = ", ".join([_quoted(name), *(f"{field}={_quoted(table[field])}" for field in table)])
        indent = " " * 8
        given = textwrap.fill(given, _WIDTH, initial_indent=indent, subsequent_indent=indent)
        lines += [
            'VIRTUAL = "--virtual" in sys.argv', "if VIRTUAL:",
            "    # before the kernels: Triton 3.2 and 3.3 ask for a driver to decorate one",
            "    from crosswarp.matrix.cell.standins.virtual_gpu import Target, activate", "",
            f"    target = Target(\n{given}\n    )", "    activate(target)",
        ]  # fmt: skip
        if asks_torch:
            lines += [
                "    # what a launcher asks torch.cuda",
                "    from crosswarp.matrix.cell.standins import virtual_torch", "",
                "    virtual_torch.install(target)",
            ]  # fmt: skip
        if record.lane == "emulate":
            lines += [
                "    # executed on the CPU; half an hour, for machines of all kinds",
                "    from crosswarp.matrix.cell.emulate import Machine",
                "    from crosswarp.matrix.cell.standins.virtual_gpu.launching import run_with",
                "", f"    run_with(Machine(seconds=1800{', sanitize=True' if record.outcome == 'fault' else ''}))",
            ]  # fmt: skip
    else:
        lines.append("VIRTUAL = False")
    return "\n".join(lines)


def _tail(record: Record, tuned: bool, virtual: bool) -> list[str]:
    if record.case == "import":
        return ['print("imported, on triton", triton.__version__)']
    compiled = record.lane != "interpret"
    executed = record.lane in ("interpret", "emulate")
    where = '"cpu" if VIRTUAL else "cuda"' if compiled else '"cpu"'
    lines = [
        "def _main():",
        f"    case = {{one.id: one for one in KERNEL.cases}}.get({_quoted(record.case)})",
        "    if case is None:",
        '        print("The kernel has no such case any more.")',
        "        return 2",
        f"    where = {where}",
        '    gpu = torch.cuda.get_device_name() if where == "cuda" and torch.cuda.is_available() else "no GPU"',
        '    print("triton", triton.__version__, "torch", torch.__version__, "python", sys.version.split()[0], gpu)',
    ]
    if compiled:
        lines += [
            '    if where == "cuda" and gpu == "no GPU":',
            f'        print("There is no GPU here.{" With crosswarp installed: --virtual" if virtual else ""}")',
            "        return 2",
        ]
    parts = [_POISON, _WRONG]
    if record.config:
        # The name of the kernel before it and the number of the tuning after it are the suite's.
        wanted = re.sub(r"^\w+: | #\d+$", "", record.config)
        lines.append(f"    _only_configuration({_quoted(wanted)})")
        parts = [inspect.getsource(tuning.describe), _ONE_CONFIGURATION, *parts]
    elif record.lane == "interpret" and tuned:
        lines.append("    use_first_configuration()")
        parts = [inspect.getsource(tuning.use_first_configuration), *parts]
    lines += [
        f"    generator = torch.Generator(device=\"cpu\").manual_seed({SEED})",
        '    inputs = KERNEL.inputs(case, torch.device("cpu"), generator) if KERNEL.inputs else {}',
        "    inputs = {k: v.to(where) if isinstance(v, torch.Tensor) else v for k, v in inputs.items()}",
        "    kept = {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in inputs.items()}",
        "    torch.empty, torch.empty_like = _poisoned(torch.empty), _poisoned(torch.empty_like)",
        "    outputs = KERNEL.launch(**inputs, **case.options)",
        "" if executed else "    if VIRTUAL:",
        "" if executed else '        print("Compiled and launched without an error: it does not show here.")',
        "" if executed else "        return 0",
        "" if executed else "    if KERNEL.reference is None:",
        "" if executed else '        print("It launched without an error; there is no reference to compare with.")',
        "" if executed else "        return 0",
        f"    target = {_quoted(record.target)}",
        "    here = [by for family, by in KERNEL.tolerance_on.items() if target.startswith(family)]",
        "    tolerance = next((by[case.dtype] for by in here if case.dtype in by), None)",
        "    tolerance = KERNEL.tolerance[case.dtype] if tolerance is None else tolerance",
        "    expected = KERNEL.reference(**kept)",
        "    wrong = [_wrong(name, outputs[name], expected[name], tolerance) for name in sorted(expected)]",
        '    print("; ".join(filter(None, wrong)) or "The numbers are right: it does not show here.")',
        "    return 1 if any(wrong) else 0",
    ]  # fmt: skip
    main = "\n".join(line for line in lines if line)
    return [*parts, main, 'if __name__ == "__main__":\n    sys.exit(_main())']
