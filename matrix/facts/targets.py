"""The targets that Triton compiles for, with the limits of their devices, read from targets.toml."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from crosswarp.matrix.facts import datafile, selection, validators
from crosswarp.matrix.facts.validators import Rule, Strict

DEFAULT_FILE = Path(__file__).with_name("targets.toml")
DEFAULT_PROFILE = "founding"
Positive = Annotated[int, Rule(gt=0)]


@dataclass(frozen=True, kw_only=True)
class Target(Strict):
    backend: Literal["cuda", "hip"]
    arch: int | str
    family: Annotated[str, Rule(min_length=1)]
    warp_size: Literal[32, 64]
    max_threads_per_block: Positive
    shared_memory_optin: Positive
    registers_per_block: Positive
    multiprocessors: Positive
    threads_per_multiprocessor: Positive
    blocks_per_multiprocessor: Positive
    shared_memory_per_multiprocessor: Positive
    product: str
    # Other names by which a user may ask for the target: products ("H100").
    names: tuple[Annotated[str, Rule(pattern=r"^[A-Za-z0-9][A-Za-z0-9 -]*$")], ...] = ()
    triton: Annotated[str, Rule(validators.specifier)] = ""
    profile: tuple[str, ...] = ()
    source: Annotated[tuple[str, ...], Rule(min_length=1)]

    def consistent(self) -> None:
        # Triton's own spelling: 90 for CUDA, "gfx942" for HIP.
        if isinstance(self.arch, int) != (self.backend == "cuda"):
            raise ValueError("arch is a number for cuda (90) and a name for hip (gfx942)")


@dataclass(frozen=True)
class TargetFile(Strict):
    target: Annotated[
        dict[Annotated[str, Rule(pattern=r"^(sm_\d+[a-z]?|gfx[0-9a-f]+)$")], Target],
        Rule(min_length=1),
    ]

    def consistent(self) -> None:
        self._names_agree()
        self._one_target_of_a_name()

    def _names_agree(self) -> None:
        for name, target in self.target.items():
            spelled = f"sm_{target.arch}" if target.backend == "cuda" else target.arch
            if spelled != name:
                raise ValueError(f"[{name}] describes {spelled}")
            if not name.startswith(target.family):
                raise ValueError(f'[{name}] is no member of the family "{target.family}"')

    def _one_target_of_a_name(self) -> None:
        names = {_plain(name): name for name in self.target}
        for name, target in self.target.items():
            for alias in target.names:
                other = names.setdefault(_plain(alias), name)
                if other != name:
                    raise ValueError(f'both [{other}] and [{name}] are called "{alias}"')


def load(path: Path = DEFAULT_FILE) -> dict[str, Target]:
    if path != DEFAULT_FILE:
        return datafile.load(path, TargetFile, wrap="target").target
    return {name: datafile.unchecked(Target, row) for name, row in datafile.document(path).items()}


def _plain(name: str) -> str:
    """`rtx5090` of "RTX 5090", so that a maker's spelling does not matter."""
    return re.sub(r"[ _-]", "", name).lower()


def named(targets: Mapping[str, Target], wanted: Sequence[str]) -> list[str]:
    """`wanted` with the target in place of a product's name: `sm_90` for `H100`. The rest is left as it is."""
    products = {_plain(alias): name for name, target in targets.items() for alias in target.names}
    return [text if text in targets else products.get(_plain(text), text) for text in wanted]


def choose(targets: Mapping[str, Target], wanted: Sequence[str]) -> dict[str, Target]:
    """Targets by name, product, glob or profile, in the order of the table. Raises UsageError where none matches."""
    names: set[str] = set()
    for text in named(targets, wanted):
        profile = [name for name, target in targets.items() if text in target.profile]
        names.update(
            profile
            or selection.choose([text], list(targets), "target", "`crosswarp targets` lists them.")
        )
    return {name: target for name, target in targets.items() if name in names}
