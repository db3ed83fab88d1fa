"""The events that the cell side sends to the host, one JSON line each. Both sides import them from here.

The cell side runs strange code, which may write anything into the stream, or nothing. Only `read` decides which lines
make no sense. Such a line becomes `Senseless`, which the host counts and reports at the end, and never believes.
Unknown fields of an event are ignored, so that an older crosswarp's records can be read.

    suite              session, target, note, taken; then for each item start, cell.., end
    library tests      the same; a session for each part of a lane, which is a target and a mode
    language probes    session, name.., probe.., done
"""

import json
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Dict, Optional, Tuple, Type, Union

from crosswarp.matrix.cell import fields as read_as

from .plain import clean, clean_text

LANES = ("compile", "emulate", "interpret", "device")
# The lanes that run on a target; the others run on `cpu` and `gpu`.
LANES_OF_TARGETS = ("compile", "emulate")
MODES = ("bare", "shimmed")
RED = ("mismatch", "api-error", "compile-error", "crash", "fault", "limit", "timeout")
OUTCOMES = ("pass", *RED, "unsupported", "not-run")
# The reasons of a configuration that is out of the race though nothing failed: a shim passed it over, or Triton's own
# autotuner.
DROPPED = "configuration dropped"
LEFT_OUT = "dropped by the autotuner"
KINDS = ("function", "type", "value", "module", "method", "option")


def _is(reader: Any, **options: Any) -> Any:
    return field(metadata={"read": reader}, **options)


@dataclass(frozen=True)
class Session:
    """A lane begins: the versions that it has imported, and how many items (or probes) it is going to run.

    Attributes:
        part: of a lane that begins in parts, ``target/mode`` of this one; empty for a lane as a whole.
    """

    EVENT = "session"
    lane: str = _is(read_as.one_of(LANES))
    planned: int = _is(read_as.count)
    versions: Dict[str, str] = _is(read_as.versions)
    part: str = _is(read_as.text, default="")


@dataclass(frozen=True)
class Target:
    """Whether this Triton compiles for a target, and why not."""

    EVENT = "target"
    target: str = _is(read_as.word)
    supported: bool = _is(read_as.truth)
    message: str = _is(read_as.text, default="")


@dataclass(frozen=True)
class Note:
    """Something to be read once."""

    EVENT = "note"
    text: str = _is(read_as.text)


def _item(value: Any) -> str:
    place = read_as.word(value).split("/", 4)
    if len(place) != 5 or not all(place) or place[1] not in LANES or place[2] not in MODES:
        raise read_as.Refused("no target/lane/mode/kernel/case")
    return "/".join(place)


@dataclass(frozen=True)
class Start:
    """An item is begun: if its process dies, the host knows its victim."""

    EVENT = "start"
    item: str = _is(_item)


@dataclass(frozen=True)
class End:
    """An item is done, and that many cells of it are written."""

    EVENT = "end"
    item: str = _is(_item)
    cells: Optional[int] = _is(read_as.maybe(read_as.count), default=None)


@dataclass(frozen=True)
class Taken:
    """An item of this shard that need not run: the host has its cells, but does not know whose shard it is in."""

    EVENT = "taken"
    item: str = _is(_item)


@dataclass(frozen=True)
class Cell:
    """How one cell fared. `config` is empty for the item as a whole, which has a cell in any case.

    Attributes:
        seconds: wall time.
        resources: plain data, see docs/report.schema.json.
    """

    EVENT = "cell"
    target: str = _is(read_as.word)
    lane: str = _is(read_as.one_of(LANES))
    mode: str = _is(read_as.one_of(MODES))
    kernel: str = _is(read_as.word)
    case: str = _is(read_as.word)
    outcome: str = _is(read_as.one_of(OUTCOMES))
    config: str = _is(read_as.text, default="")
    reason: str = _is(read_as.text, default="")
    fingerprint: str = _is(read_as.text, default="")
    message: str = _is(read_as.text, default="")
    phase: str = _is(read_as.text, default="")
    seconds: float = _is(read_as.seconds, default=0.0)
    resources: Dict[str, Any] = _is(read_as.data, default_factory=dict)
    shims: Tuple[str, ...] = _is(read_as.words, default=())

    @property
    def item(self) -> str:
        return "/".join((self.target, self.lane, self.mode, self.kernel, self.case))


@dataclass(frozen=True)
class Name:
    """A public name of triton.language."""

    EVENT = "name"
    name: str = _is(read_as.word)
    kind: str = _is(read_as.one_of(KINDS))
    signature: str = _is(read_as.text)


@dataclass(frozen=True)
class Probe:
    """The result of a probe of a name on a target or in the interpreter."""

    EVENT = "probe"
    id: str = _is(read_as.word)
    name: str = _is(read_as.word)
    where: str = _is(read_as.word)
    outcome: str = _is(read_as.one_of(OUTCOMES))
    fingerprint: str = _is(read_as.text, default="")


@dataclass(frozen=True)
class Done:
    """Every probe of the lane has been reported."""

    EVENT = "done"


@dataclass(frozen=True)
class Senseless:
    """A line that is none of the above; `text` is its beginning."""

    why: str
    text: str = ""


Event = Union[Session, Target, Note, Start, End, Taken, Cell, Name, Probe, Done]
_EVENTS: Dict[str, Type[Any]] = {
    event.EVENT: event
    for event in (Session, Target, Note, Start, End, Taken, Cell, Name, Probe, Done)
}


def line(event: Event) -> str:
    """Return the event as a line of ASCII, with its newline. The contents of all fields become plain data."""
    values = {attribute.name: clean(getattr(event, attribute.name)) for attribute in fields(event)}
    return json.dumps({"event": event.EVENT, **values}, ensure_ascii=True, allow_nan=False) + "\n"


def read(data: bytes) -> Union[Event, Senseless]:
    """Return the event of a line. Never raises, for any contents of the line."""
    try:
        content = json.loads(data.decode("utf-8", "replace"))
        if not isinstance(content, dict):
            raise read_as.Refused("not a JSON object with an event")
        kind = _EVENTS.get(content["event"]) if isinstance(content.get("event"), str) else None
        if kind is None:
            raise read_as.Refused("no event that there is")
        return kind(**_values(kind, content))
    except (ValueError, RecursionError) as error:
        return senseless(data, str(error))


def senseless(data: bytes, why: str) -> Senseless:
    return Senseless(clean_text(why[:200]), clean_text(data[:200].decode("utf-8", "replace")))


def _values(kind: Type[Any], content: Dict[str, Any]) -> Dict[str, Any]:
    values = {}
    for attribute in fields(kind):
        if attribute.name in content:
            try:
                values[attribute.name] = attribute.metadata["read"](content[attribute.name])
            except read_as.Refused as error:
                raise read_as.Refused(f"{kind.EVENT}: {attribute.name}: {error}") from None
        elif attribute.default is MISSING and attribute.default_factory is MISSING:
            raise read_as.Refused(f"{kind.EVENT}: no {attribute.name}")
    return values
