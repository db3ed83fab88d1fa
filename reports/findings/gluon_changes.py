"""The changes of Gluon's language in a release, from the language table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crosswarp.matrix.facts.language_table import Name, Table
from crosswarp.matrix.linting import gluon
from crosswarp.matrix.linting.api import Api

# By parameter: its position (None: keyword-only) and whether it is optional.
_Parameters = Mapping[str, tuple[int | None, bool]]

_BELOW = f"{gluon.LANGUAGE}."
_REMOVED = re.compile(r"\w+ has been removed\b.*")


@dataclass(frozen=True)
class Change:
    """One change under every name that it is reached by.

    Attributes:
        names: below Gluon's language, without it.
        before, after: signatures, or the message of a name that only raises.
        instead: what to write.
    """

    names: tuple[str, ...]
    before: str = ""
    after: str = ""
    instead: str = ""


@dataclass(frozen=True)
class Changes:
    """The changes of one release from the one before.

    Attributes:
        counts: public names before and now.
        gone: names that it no longer has, without those below them.
        refused: names that exist and raise.
        calls: functions and layouts that refuse a call which the release before took.
    """

    counts: tuple[int, int]
    gone: Sequence[Change]
    refused: Sequence[Change]
    calls: Sequence[Change]


def changes(table: Table, before: str, version: str) -> Changes | None:
    """Returns the changes from `before` to `version`; None where one of them has no Gluon, or was not asked."""
    if before not in table or version not in table:
        return None
    old, new = _public(table[before].names), _public(table[version].names)
    if not old or not new:
        return None
    gone = [
        name
        for name in sorted(old.keys() - new.keys())
        if name.rpartition(".")[0] not in old.keys() - new.keys()
        # A field that went is a parameter that went.
        and not _is_type(old, name.rpartition(".")[0])
    ]
    raises = {name: _refusal(table[version].probes.get(_BELOW + name, {})) for name in new}
    api = Api(table)
    calls = []
    for name in sorted(old.keys() & new.keys()):
        was, now = (_parameters(api, release, name) for release in (before, version))
        if not raises[name] and was is not None and now is not None and not _takes(was, now):
            calls.append((name, old[name].signature, new[name].signature, _of_call(name, was, now)))
    return Changes(
        (len(old), len(new)),
        _together((name, "", "", _instead(name, new)) for name in gone),
        _together(
            (name, "", raises[name], "") for name in sorted(old.keys() & new.keys()) if raises[name]
        ),
        _together(calls),
    )  # fmt: skip


def _public(names: Mapping[str, Name]) -> dict[str, Name]:
    return {
        name[len(_BELOW) :]: entry
        for name, entry in names.items()
        if name.startswith(_BELOW) and "._" not in name
    }


def _is_type(names: Mapping[str, Name], name: str) -> bool:
    return name in names and names[name].kind == "type"


def _refusal(probed: Mapping[str, str]) -> str:
    matches = [match for text in probed.values() if (match := _REMOVED.search(text))]
    return matches[0].group() if matches else ""


def _instead(name: str, new: Mapping[str, Name]) -> str:
    last = name.rpartition(".")[2]
    # It was imported there for use inside the module.
    return f"gl.{last} is there" if last in new else gluon.instead(_BELOW + name)


def _of_call(name: str, old: _Parameters, new: _Parameters) -> str:
    """Returns the advice for the refused arguments, or else for the whole call."""
    spellings = [f"{name}({parameter})" for parameter in old if parameter not in new] + [name]
    if any(
        place is not None and new.get(parameter, (0,))[0] is None
        for parameter, (place, _) in old.items()
    ):
        spellings.append(f"{name}()")
    return next(filter(None, (gluon.instead(_BELOW + spelling) for spelling in spellings)), "")


def _takes(old: _Parameters, new: _Parameters) -> bool:
    """Whether a function with `new` accepts every call that one with `old` accepts."""
    if any(name not in new for name in old):
        return False
    for name, (place, optional) in old.items():
        now_at, now_optional = new[name]
        if optional and not now_optional or place is not None and place != now_at:
            return False
    return all(optional for name, (_, optional) in new.items() if name not in old)


def _parameters(api: Api, release: str, name: str) -> _Parameters | None:
    """Returns the parameters of a function; None where the table has no signature."""
    known = api.parameters(release, _BELOW + name)
    if known is None:
        return None
    places: dict[str, tuple[int | None, bool]] = {}
    by_name = False
    for parameter, default in known.items():
        if parameter.startswith("*"):
            by_name = True
        else:
            places[parameter] = (None if by_name else len(places), bool(default))
    return places


def _together(each: Iterable[tuple[str, str, str, str]]) -> list[Change]:
    """Returns one change for all names that have the same change and the same last part."""
    grouped: dict[tuple[str, ...], list[str]] = {}
    for name, was, now, instead in each:
        grouped.setdefault((name.rpartition(".")[2], was, now, instead), []).append(name)
    return [Change(tuple(names), *key[1:]) for key, names in grouped.items()]
