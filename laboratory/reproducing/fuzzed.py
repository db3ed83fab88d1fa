"""A finding of `crosswarp fuzz` as files: a module for --suite, a draft of its issue, a standalone script."""

from __future__ import annotations

import datetime
import inspect
import re
from pathlib import Path

from crosswarp.laboratory.cell.fuzzing import data
from crosswarp.laboratory.fuzzing import costs, triage
from crosswarp.laboratory.fuzzing.judging import NUMBERS, RESOURCES, SLOW
from crosswarp.laboratory.fuzzing.program import BLOCKS, Program
from crosswarp.laboratory.fuzzing.triage import Finding, Shown
from crosswarp.laboratory.fuzzing.values import CARRIED
from crosswarp.matrix import versions
from crosswarp.reports.reproducing.drafts import LINK
from crosswarp.reports.text import escape


def write(finding: Finding, folder: Path) -> Path:
    """The folder with the finding's files: ``<name>.py`` for --suite, ``<name>.toml``, ``<name>_alone.py``."""
    name = module_name(finding)
    made = folder / name
    suite = made / "suite"
    suite.mkdir(parents=True, exist_ok=True)
    (suite / f"{name}.py").write_text(suite_module(finding), "utf-8")
    (made / "issue.toml").write_text(draft(finding), "utf-8")
    (made / "alone.py").write_text(script(finding), "utf-8")
    return made


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
    outputs = [argument.name for argument in program.arguments if argument.salt == 0]
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
        _shared(finding),
        "",
        "",
        "def launch(way):",
        *_allocator(program, "cpu", "    "),
        "    tensors = {name: tensor.clone() for name, tensor in given().items()}",
        f"    kernel[({BLOCKS},)](*tensors.values(), *NUMBERS.values(), **OPTIONS)",
        f"    return {{name: tensors[name] for name in {outputs!r}}}",
        "",
        "",
        "def reference(way):",
        "    return {name: torch.from_numpy(held) for name, held in meant().items()}",
        "",
        "",
        "def inputs(case, device, generator):",
        '    return {"way": case.id}',
        "",
        "",
        "KERNEL = Kernel(",
        f'    name="{name}",',
        "    cases=(",
        f'        Case("found", "fp32", {{"blocks": {BLOCKS}}}, ("compile", "emulate"), {_targets(finding)}),',
        "    ),",
        "    inputs=inputs,",
        "    launch=launch,",
        "    reference=reference,",
        "    # integers, all of them exact",
        '    tolerance={"fp32": 0.0},',
        ")",
    ]
    return "\n".join(lines) + "\n"


def script(finding: Finding) -> str:
    """A script that needs numpy, torch, Triton and a GPU, and says whether it is right there."""
    return (
        "\n".join(
            [
                _head(finding),
                "import numpy as np",
                "import torch",
                "",
                finding.program.kernel.rstrip(),
                "",
                "",
                finding.program.meaning.rstrip(),
                "",
                "",
                _shared(finding),
                "",
                "",
                'if __name__ == "__main__":',
                *_allocator(finding.program, "cuda", "    "),
                "    tensors = {name: tensor.cuda() for name, tensor in given().items()}",
                f"    kernel[({BLOCKS},)](*tensors.values(), *NUMBERS.values(), **OPTIONS)",
                "    for name, held in meant().items():",
                "        wrong = int((tensors[name].cpu().double() != torch.from_numpy(held).double()).sum())",
                '        print(f"{name}: {wrong} of {held.size} wrong")',
            ]
        )
        + "\n"
    )


def _allocator(program: Program, device: str, indent: str) -> list[str]:
    """Descriptors that are made in a kernel lie in memory that the launch asks for."""
    if "make_tensor_descriptor" not in program.kernel:
        return []
    made = f'torch.empty(size, dtype=torch.int8, device="{device}")'
    return [f"{indent}triton.set_allocator(lambda size, alignment, stream: {made})"]


def draft(finding: Shown) -> str:
    """The record, all but the link to an upstream report."""
    bad = finding.suspect.bad
    outcome = "mismatch" if finding.kind == NUMBERS else bad.outcome
    name = module_name(finding)
    # The column of an interpreter of `--here` is here-triton-3.6.0.
    releases = sorted(
        {versions.of_column(cell.column) or cell.column for cell in finding.bad},
        key=versions.sort_key,
    )
    fingerprint = re.sub(r"([\\.^$*+?{}\[\]|()'\"])", ".", bad.fingerprint)
    lanes = (
        '["emulate", "device"]' if finding.kind == NUMBERS else '["compile", "emulate", "device"]'
    )
    lines = [
        f"# {sentence(finding)}",
        f"# Releases that show it: {', '.join(releases)}; found by crosswarp fuzz as {finding.begun}.",
        "[[issue]]",
        f'id = "{name.replace("_", "-")}"',
        f"title = {_quoted(f'{finding.kind}: {bad.fingerprint}'[:120])}",
        'status = "unverified"',
        f'triton = "{_window(releases)}"',
        f"targets = {list(triage.window(finding)) or [bad.target]!r}".replace("'", '"'),
        f"lanes = {lanes}",
        f'kernels = ["{name}"]',
        f'outcome = "{outcome}"',
        f"fingerprint = {_quoted(fingerprint)}",
        f'links = ["{LINK}"]',
        f'case = {{ kernel = "{name}" }}',
        f"checked = {datetime.date.today().isoformat()}",
    ]
    return "\n".join(lines) + "\n"


def _window(releases: list[str]) -> str:
    return (
        f"=={releases[0]}"
        if len(releases) == 1
        else f">={releases[0]},<={releases[-1]}"
        if releases
        else ""
    )


def _quoted(text: str) -> str:
    return "'" + escape.line(text, 240).replace("'", ".") + "'"


def _targets(finding: Finding) -> str:
    return repr((*sorted({cell.target for cell in finding.cells}),))


def _head(finding: Shown) -> str:
    # A docstring of ours, in which a stranger's compiler has its say.
    headline = sentence(finding).replace("\\", "/").replace('"', "'")
    return f'"""Found by crosswarp fuzz, as {finding.begun}: {headline}"""\n'


def _shared(finding: Finding) -> str:
    """Inputs and meant outputs, for both."""
    program = finding.program
    rows = [
        f'    "{argument.name}": '
        f'({argument.size}, "{argument.dtype}", {argument.low}, {argument.high}, {argument.salt}),'
        for argument in program.arguments
    ]
    carried = {argument.name: CARRIED[argument.dtype] for argument in program.arguments}
    outputs = [argument.name for argument in program.arguments if argument.salt == 0]
    return "\n".join(
        [
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
            "def given():",
            "    return {",
            "        name: torch.from_numpy(fill(size, CARRIED[name], low, high, salt)).to(getattr(torch, dtype))",
            "        for name, (size, dtype, low, high, salt) in TENSORS.items()",
            "    }",
            "",
            "",
            "def meant():",
            "    held = {",
            "        name: fill(size, CARRIED[name], low, high, salt)",
            "        for name, (size, _, low, high, salt) in TENSORS.items()",
            "    }",
            f"    for block in range({BLOCKS}):",
            "        meaning(block, *held.values(), *NUMBERS.values())",
            f"    return {{name: held[name] for name in {outputs!r}}}",
        ]
    )
