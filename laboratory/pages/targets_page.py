"""The page of the targets: limits with their sources, and which release compiles for which."""

from __future__ import annotations

from collections.abc import Mapping

from tabulate import tabulate

from crosswarp.matrix.facts.probed_targets import Probed, Release
from crosswarp.matrix.facts.targets import Target
from crosswarp.reports.text import escape
from crosswarp.reports.text.markdown import pipes

_WORKS, _NO_DOT, _FAILS = "✓", "no dot", "–"
_SUITE = """
## The suite on them

[The suite on every target](evidence/suite-on-targets.md): all cases of all kernels, compiled, by release and target.
"""
_INTEL = """
## Intel XPU

Not among them. What stands in the way:

- Its compiler is another package: the published wheels of `triton` hold the backends of NVIDIA and AMD alone
  (`triton/backends` of 3.0.0 to 3.9.0). Intel's is built from a repository of its own
  (intel-xpu-backend-for-triton) and published under another name (`pytorch-triton-xpu`) beside torch's builds for XPU.
  A column would need that index, and its versions are Triton's with builds of their own: the window of a known issue
  would not say which of the two is meant.
- The stand-in for a driver answers what a launch on CUDA or HIP asks. Intel's backend compiles to SPIR-V and asks a
  Level Zero driver for a device before it does; sub-group size, registers and shared local memory are decided by that
  device.
- What a launch costs is read from cubin and amdgcn here; registers and spills of a SPIR-V module are known only when
  Intel's graphics compiler has made a binary of it, which comes with the driver.

What needs no target is the lane `interpret`: `crosswarp run --here PYTHON --lanes interpret` in an environment with
Intel's Triton. Nobody has tried that here.
"""


def page(targets: Mapping[str, Target], probed: Mapping[str, Release]) -> str:
    """Markdown, with every release that was asked as a column."""
    heads = [
        "target",
        "products",
        "warp",
        "threads",
        "shared memory",
        "registers",
        "multiprocessors",
    ]
    parts = [
        "# Targets",
        "Made from `matrix/facts/targets.toml` and `probed_targets.json` by `crosswarp docs`; change those, not this "
        "page. A product's name may be written in place of its target: `--targets H100`.",
        pipes([*heads, "on each: threads, blocks, shared memory"], [_limits(*limits) for limits in targets.items()]),
        "Threads, shared memory (bytes) and registers (of 32 bits) are those of one block. Multiprocessors are those "
        "of one product.",
        "## Which release compiles for which",
        f"Measured on the published wheels. {_WORKS}: an addition and a dot product in fp16 compile; {_NO_DOT}: the "
        f"addition alone; {_FAILS}: neither. `crosswarp targets --probe --here PYTHON` asks again. Where a release "
        "does not compile for a target, its cells are `unsupported`. Compiling says nothing of running: most of these "
        "GPUs nobody has tried.",
        pipes(
            ["target", *map(escape.markdown, probed)],
            [[f"`{name}`", *(_sign(release.targets.get(name)) for release in probed.values())] for name in targets],
        ),
        *_asked(probed),
        *_reasons(targets, probed),
        "## Sources",
        "\n".join(f"- `{name}`: {', '.join(map(_source, target.source))}" for name, target in targets.items()),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n" + _SUITE + _INTEL


def _asked(probed: Mapping[str, Release]) -> list[str]:
    """The date, and the torch beside it: not always the one that pins this Triton."""
    facts = [
        f"{version}: torch {release.about['torch']}, ptxas {release.about['ptxas']}, {release.about['checked']}"
        for version, release in probed.items()
    ]
    return [f"Asked: {escape.markdown('; '.join(facts))}."] if facts else []


def terminal(probed: Mapping[str, Release], targets: Mapping[str, Target]) -> str:
    rows = [
        [name, *(_sign(release.targets.get(name)) for release in probed.values())]
        for name in targets
    ]
    return tabulate(rows, ["target", *probed], disable_numparse=True)


def _limits(name: str, target: Target) -> list[str]:
    return [
        f"`{name}`",
        escape.markdown(", ".join(target.names)),
        f"{target.warp_size}",
        f"{target.max_threads_per_block:,}",
        f"{target.shared_memory_optin:,}",
        f"{target.registers_per_block:,}",
        f"{target.multiprocessors}",
        f"{target.threads_per_multiprocessor:,}, {target.blocks_per_multiprocessor}, "
        f"{target.shared_memory_per_multiprocessor:,}",
    ]


def _reasons(targets: Mapping[str, Target], probed: Mapping[str, Release]) -> list[str]:
    """Returns the compilers' messages, each once."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for version, release in probed.items():
        for name in targets:
            state = release.targets.get(name)
            if state is None or state.works:
                continue
            for text in dict.fromkeys(filter(None, (state.add, state.dot))):
                reasons.setdefault(text, {}).setdefault(name, []).append(version)
    rows = [
        [
            escape.code(escape.line(text, 160)),
            "; ".join(
                f"`{name}`: {escape.markdown(', '.join(found_on))}"
                for name, found_on in where.items()
            ),
        ]
        for text, where in reasons.items()
    ]
    return [pipes(["what it says", "where"], rows)] if rows else []


def _sign(probed: Probed | None) -> str:
    if probed is None:
        return "?"
    if probed.works:
        return _WORKS
    return _FAILS if probed.add else _NO_DOT


def _source(text: str) -> str:
    return (
        escape.link(text.partition("://")[2], text)
        if text.startswith("https://")
        else escape.markdown(text)
    )
