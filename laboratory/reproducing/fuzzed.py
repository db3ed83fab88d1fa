"""A finding of `crosswarp fuzz` as files: a module for --suite, a draft of its issue, a standalone script."""

from __future__ import annotations

import datetime
import inspect
import re
from collections.abc import Mapping
from pathlib import Path

from crosswarp.laboratory.cell.fuzzing import data
from crosswarp.laboratory.fuzzing import costs, triage
from crosswarp.laboratory.fuzzing.judging import NUMBERS, RESOURCES, SLOW
from crosswarp.laboratory.fuzzing.program import BLOCKS
from crosswarp.laboratory.fuzzing.triage import Finding, Shown
from crosswarp.laboratory.fuzzing.values import CARRIED
from crosswarp.matrix import versions
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts.targets import Target
from crosswarp.matrix.results.record import Record
from crosswarp.reports.reproducing import drafts
from crosswarp.reports.reproducing.reproducer import script
from crosswarp.reports.text import escape

_CASE = "found"


def write(finding: Finding, table: Mapping[str, Target], folder: Path) -> Path:
    """The folder with the finding's files: a suite of one module, ``issue.toml``, ``alone.py``."""
    name = module_name(finding)
    made = folder / name
    suite = made / "suite"
    suite.mkdir(parents=True, exist_ok=True)
    (suite / f"{name}.py").write_text(suite_module(finding), "utf-8")
    (made / "issue.toml").write_text(draft(finding), "utf-8")
    bad = finding.suspect.bad
    record = Record(
        bad.column, bad.target, "emulate", "bare", name, _CASE, outcome=_outcome(finding), fingerprint=bad.fingerprint
    )  # fmt: skip
    write_script(made, record, suite, table)
    return made


def write_script(made: Path, record: Record, suite: Path, table: Mapping[str, Target]) -> None:
    """Writes ``alone.py``; ``alone.txt`` says why the module cannot be flattened."""
    try:
        text, name = script(record, suite, table, "alone.py"), "alone.py"
    except UsageError as error:
        # The module in the suite shows the same.
        text, name = f"{error}\n", "alone.txt"
    (made / name).write_text(text, "utf-8", "replace")


def module_name(finding: Shown) -> str:
    return re.sub(r"[^a-z0-9]+", "_", finding.name.lower())


def sentence(finding: Shown) -> str:
    """Says in a few words what fails, where, and where not."""
    bad = finding.suspect.bad
    good = finding.suspect.good
    what = {
        NUMBERS: "wrong numbers",
        SLOW: f"{bad.compile_seconds or 0:.1f} s of compilation",
        RESOURCES: costs.words(costs.more(bad, good)) if good is not None else "",
    }.get(finding.kind, f"{bad.outcome}: {bad.fingerprint}")
    where = "; ".join(
        f"{target}: {', '.join(columns)}" for target, columns in triage.window(finding).items()
    )
    return escape.line(f"{what} ({where or f'{bad.column}, {bad.target}'})", 400)


def suite_module(finding: Finding) -> str:
    """Returns a kernel module for `crosswarp run --suite`; the result is compared bit for bit."""
    program = finding.program
    name = module_name(finding)
    rows = [
        f'    "{argument.name}": '
        f'({argument.size}, "{argument.dtype}", {argument.low}, {argument.high}, {argument.salt}),'
        for argument in program.arguments
    ]
    carried = {argument.name: CARRIED[argument.dtype] for argument in program.arguments}
    outputs = [argument.name for argument in program.arguments if argument.salt == 0]
    targets = (*sorted({cell.target for cell in finding.cells}),)
    # Descriptors that are made in a kernel lie in memory that the launch asks for.
    memory = "torch.empty(size, dtype=torch.int8, device=next(iter(tensors.values())).device)"
    allocator = [f"    triton.set_allocator(lambda size, alignment, stream: {memory})"]
    lines = [
        _head(finding),
        "import numpy as np",
        "import torch",
        "",
        "from crosswarp.kernels.case import Case, Kernel",
        "",
        program.kernel.rstrip(),
        "",
        "",
        program.meaning.rstrip(),
        "",
        "",
        f"NUMBERS = {dict(program.numbers)!r}",
        f"OPTIONS = {dict(program.options)!r}",
        "# elements, type, least, greatest, which numbers",
        "TENSORS = {",
        *rows,
        "}",
        f"CARRIED = {carried!r}",
        "",
        "",
        inspect.getsource(data.fill).rstrip(),
        "",
        "",
        "def inputs(case, device, generator):",
        "    return {",
        "        name: torch.from_numpy(fill(size, CARRIED[name], low, high, salt)).to(getattr(torch, dtype))",
        "        for name, (size, dtype, low, high, salt) in TENSORS.items()",
        "    }",
        "",
        "",
        "def launch(**tensors):",
        *(allocator if "make_tensor_descriptor" in program.kernel else []),
        f"    kernel[({BLOCKS},)](*tensors.values(), *NUMBERS.values(), **OPTIONS)",
        f"    return {{name: tensors[name] for name in {outputs!r}}}",
        "",
        "",
        "def reference(**tensors):",
        "    held = {",
        "        name: fill(size, CARRIED[name], low, high, salt)",
        "        for name, (size, _, low, high, salt) in TENSORS.items()",
        "    }",
        f"    for block in range({BLOCKS}):",
        "        meaning(block, *held.values(), *NUMBERS.values())",
        f"    return {{name: torch.from_numpy(held[name]) for name in {outputs!r}}}",
        "",
        "",
        "KERNEL = Kernel(",
        f'    name="{name}",',
        "    cases=(",
        f'        Case("{_CASE}", "fp32", {{"blocks": {BLOCKS}}}, ("compile", "emulate"), {targets!r}),',
        "    ),",
        "    inputs=inputs,",
        "    launch=launch,",
        "    reference=reference,",
        "    # integers, all of them exact",
        '    tolerance={"fp32": 0.0},',
        ")",
    ]
    return "\n".join(lines) + "\n"


def draft(finding: Shown) -> str:
    """The record, all but the link to an upstream report."""
    bad, name = finding.suspect.bad, module_name(finding)
    # The column of an interpreter of `--here` is here-triton-3.6.0.
    releases = sorted(
        {versions.of_column(cell.column) or cell.column for cell in finding.bad},
        key=versions.sort_key,
    )
    fields = [
        ("id", name.replace("_", "-")),
        ("title", escape.line(f"{finding.kind}: {bad.fingerprint}", 120)),
        ("status", "unverified"),
        ("triton", _window(releases)),
        ("targets", list(triage.window(finding)) or [bad.target]),
        ("lanes", [*([] if finding.kind == NUMBERS else ["compile"]), "emulate", "device"]),
        ("kernels", [name]),
        ("outcome", _outcome(finding)),
        ("fingerprint", drafts.pattern(bad.fingerprint)),
        ("links", [drafts.LINK]),
    ]
    lines = [
        f"# {sentence(finding)}",
        f"# Releases that show it: {', '.join(releases)}; found by crosswarp fuzz as {finding.begun}.",
        *drafts.entry(fields),
        f'case = {{ kernel = "{name}" }}',
        f"checked = {datetime.date.today().isoformat()}",
    ]
    return "\n".join(lines) + "\n"


def _outcome(finding: Shown) -> str:
    return "mismatch" if finding.kind == NUMBERS else finding.suspect.bad.outcome


def _window(releases: list[str]) -> str:
    return (
        f"=={releases[0]}"
        if len(releases) == 1
        else f">={releases[0]},<={releases[-1]}"
        if releases
        else ""
    )


def _head(finding: Shown) -> str:
    # A docstring of ours, in which a stranger's compiler has its say.
    headline = sentence(finding).replace("\\", "/").replace('"', "'")
    return f'"""Found by crosswarp fuzz, as {finding.begun}: {headline}"""\n'
