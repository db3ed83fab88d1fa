"""The document of `crosswarp check --format json`, for docs/schemas/ (see schemas.py)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from crosswarp.reports.text.export import Outcome


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Argument(_Part):
    name: str
    type: str = Field(description="*fp16, i32, fp32, i1, none, constexpr, descriptor, …")
    hint: str = Field(
        description="16: a multiple of 16; any: neither that nor 1; 1; empty: its value is known"
    )
    value: Any = Field(
        description="of a number that is known; of a constexpr, {value}, {dtype}, {name} or {made} by a call"
    )
    origin: str = Field(description="where it was read")
    assumed: bool = Field(
        description="the file does not say it: its dtype, or its type or value as a whole"
    )
    others: list[str] = Field(description="what else the file says of it, which is not compiled")


class _Signature(_Part):
    id: str = Field(description="line-N: of the launch there; given; declared: by the kernel alone")
    lines: list[int]
    arguments: list[_Argument]
    options: dict[str, Any] = Field(description="of the launch")
    origins: dict[str, str] = Field(description="of the options")
    by_decorators: list[str] = Field(description="parameters that autotune or heuristics give")
    notes: list[str]


class _Kernel(_Part):
    name: str
    line: int
    not_checked: str = Field(description="why not, and what to do; empty: it was")
    part_of: list[str] = Field(description="kernels that call it, where nobody launches it")
    device: bool = Field(
        description="it returns a value or takes blocks, and no kernel calls it: nothing is compiled"
    )
    left_out: list[str] = Field(description="launches of which too little is known")
    signatures: list[_Signature]


class _Column(_Part):
    id: str
    label: str
    versions: dict[str, str]


class _Cell(_Part):
    column: str
    target: str
    mode: Literal["bare", "shimmed"]
    kernel: str
    case: str = Field(description="id of the signature")
    config: str = Field(
        description="one configuration of an autotuned kernel; empty: the case as a whole"
    )
    outcome: Outcome
    reason: str
    fingerprint: str
    message: str
    phase: str
    seconds: float
    issue: str = Field(description="the known issue that it is; empty: none")
    shims: list[str] = Field(description="those that acted")
    shim: str = Field(description="that of the issue; empty: none")


class Checked(_Part):
    """`crosswarp check`"""

    format: Literal[1]
    file: str
    targets: list[str]
    modes: list[str]
    kernels: list[_Kernel]
    columns: list[_Column]
    cells: list[_Cell]
    notes: list[str]
    outcomes: dict[str, int] = Field(description="how many cases as a whole, by mode each")
    seconds: float
    missing_packages: list[str] = Field(
        description="modules that the file imports and no environment has"
    )
    ending: str = Field(description="the result in a sentence, with the reason of the exit code")
    exit_code: int
