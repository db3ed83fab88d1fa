"""A record: what happened in one cell, as the cell side streams it and the store keeps it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

LANES = ("compile", "emulate", "interpret", "device")
# The lanes that run on a target; the others have a place of their own, `cpu` and `gpu`.
LANES_OF_TARGETS = ("compile", "emulate")
MODES = ("bare", "shimmed")
RED = ("mismatch", "api-error", "compile-error", "crash", "limit", "timeout")
OUTCOMES = ("pass", *RED, "unsupported", "not-run")

# Standard error is our evidence, but one cell must not be able to fill the disk.
MAX_TEXT = 20_000


@dataclass(frozen=True)
class Record:
    column: str
    target: str
    lane: str
    mode: str
    kernel: str
    case: str
    config: str = ""
    outcome: str = "not-run"
    reason: str = ""
    fingerprint: str = ""
    message: str = ""
    phase: str = ""
    seconds: float = 0.0
    resources: Mapping[str, Any] = field(default_factory=dict)
    shims: tuple[str, ...] = ()
    issue: str = ""
    versions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return "/".join(
            (self.column, self.target, self.lane, self.mode, self.kernel, self.case, self.config)
        )

    @property
    def item(self) -> str:
        return "/".join((self.target, self.lane, self.mode, self.kernel, self.case))

    @property
    def red(self) -> bool:
        return self.outcome in RED

    @property
    def ran(self) -> bool:
        return self.outcome not in ("unsupported", "not-run")

    def with_issue(self, issue: str) -> Record:
        return replace(self, issue=issue)


def from_event(event: Mapping[str, Any], column: str) -> Record:
    """The record of a `cell` event. Raises ValueError when it is none: the host trusts nothing that a cell wrote."""
    words = {}
    for name in ("target", "lane", "mode", "kernel", "case"):
        value = event.get(name)
        if not isinstance(value, str) or not value:
            raise ValueError(f"a cell event without {name}")
        words[name] = clean_text(value)
    if words["lane"] not in LANES or words["mode"] not in MODES:
        raise ValueError(f"a cell event of lane {words['lane']!r}, mode {words['mode']!r}")
    outcome = event.get("outcome")
    if outcome not in OUTCOMES:
        raise ValueError(f"a cell event with the outcome {outcome!r}")
    seconds = event.get("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        seconds = 0.0
    resources = clean(event.get("resources") or {})
    shims = event.get("shims") or []
    return Record(
        column=column,
        config=_text(event, "config"),
        outcome=outcome,
        reason=_text(event, "reason"),
        fingerprint=_text(event, "fingerprint"),
        message=_text(event, "message"),
        phase=_text(event, "phase"),
        seconds=float(seconds) if math.isfinite(seconds) else 0.0,
        resources=resources if isinstance(resources, dict) else {"value": resources},
        shims=tuple(clean_text(str(shim)) for shim in shims) if isinstance(shims, list) else (),
        target=words["target"],
        lane=words["lane"],
        mode=words["mode"],
        kernel=words["kernel"],
        case=words["case"],
    )


def clean(value: Any) -> Any:
    """JSON that every reader accepts: no lone surrogates, no NaN or infinity (spelled out as text instead)."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {clean_text(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    return value


def clean_text(text: str) -> str:
    """Text that can be stored as UTF-8, shortened in the middle when it is endless."""
    if len(text) > MAX_TEXT:
        half = MAX_TEXT // 2
        text = (
            f"{text[:half]}\n[... {len(text) - MAX_TEXT} characters left out ...]\n{text[-half:]}"
        )
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _text(event: Mapping[str, Any], name: str) -> str:
    value = event.get(name)
    return "" if value is None else clean_text(value if isinstance(value, str) else str(value))
