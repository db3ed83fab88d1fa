"""`crosswarp merge`: joins the runs of several machines into the one run that they are parts of.

The merged run equals one whole run field by field: plan, environments, versions, targets and cells. Only dates,
durations and the order of the cells differ, as between any two runs. Parts that ran the same shard, or that differ in
selection, commit or versions, are refused: a mixture would be a matrix that never ran. A part that is missing or was
cut short is reported, and the run is then `incomplete`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from crosswarp.matrix import versions
from crosswarp.matrix.errors import EXIT_ENVIRONMENT, EXIT_USAGE, UsageError
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results import owned
from crosswarp.matrix.results.described import SELECTION
from crosswarp.matrix.results.record import LANES, MODES, Record
from crosswarp.matrix.results.store import Environment, Note, Run, Store
from crosswarp.matrix.running import jobs, plan, run, unchanged

INCOMPLETE = "incomplete"
_WHOLE = (1, 1)


@dataclass(frozen=True)
class Part:
    """The latest run of one store."""

    name: str
    run: Run
    environments: Sequence[Environment]
    sessions: Mapping[tuple[str, str], Mapping[str, Any]]
    planned: Mapping[tuple[str, str], int]
    targets: Mapping[tuple[str, str], tuple[bool, str]]
    records: Sequence[Record]
    notes: Sequence[Note]
    keys: Mapping[tuple[str, ...], str]
    # By column and item, the run whose result it reuses, where the store still has it.
    reused: Mapping[tuple[str, str], Run | None]

    @property
    def shard(self) -> tuple[int, int]:
        number, of = self.run.described.shard or _WHOLE
        return number, of

    @property
    def label(self) -> str:
        number, of = self.shard
        return f"shard {number} of {of}" if of > 1 else "the run"


@dataclass(frozen=True)
class Merged:
    run: int
    cells: int
    exit_code: int
    missing: tuple[str, ...]


def merge(
    paths: Sequence[Path], into: Path, issues: Sequence[Issue] = (), argv: Sequence[str] = (),
    expected: Sequence[jobs.Job] = (),
) -> Merged:  # fmt: skip
    """Writes a new run into the store `into`. `expected`: the planned parts, so that a lost one is noticed."""
    if into.resolve() in [path.resolve() for path in paths]:
        raise UsageError(f"--into {into}: this store is one of the parts. Name another file.")
    parts = sorted((read(path) for path in paths), key=lambda part: (part.shard, part.name))
    _same_selection(parts)
    shares = _shares(parts)
    command = parts[0].run.described.command
    missing = _missing(shares, expected, command)
    columns = _columns(shares, expected)
    sessions = _sessions(parts)
    records, twice = _records(parts, columns)
    planned: dict[tuple[str, str], int] = {}
    for part in parts:
        for key, count in part.planned.items():
            planned[key] = planned.get(key, 0) + count
    for key, count in twice.items():
        planned[key] -= count
    targets, disagreed = _targets(parts)
    problems = [Note(column, "problem", text) for column, text in [*missing, *disagreed]]
    part_notes = [note for part in parts for note in part.notes]
    lost = _lost(planned, records, {note.column for note in part_notes if note.kind == "problem"})
    notes = list(dict.fromkeys([*part_notes, *problems, *lost]))
    whole = not missing and all(part.run.status == "finished" for part in parts)
    code = run.exit_code(
        records,
        owned.judge(records, issues, parts[0].run.plan),
        planned=planned,
        environment_failed=any(part.run.exit_code == EXIT_ENVIRONMENT for part in parts),
        problems=any(note.kind == "problem" for note in notes),
    )
    if code == EXIT_USAGE:
        notes.append(Note("", "problem", plan.Work.NOTHING_RAN))
    with Store(into) as store, store.together():
        before = store.runs()
        merged = store.begin(argv, _plan(parts, columns), min(p.run.started for p in parts))
        for environment in _environments(parts, columns):
            store.environment(merged, environment)
        for (column, lane), session in sessions.items():
            store.session(merged, column, lane, session, planned[column, lane])
        for (column, target), (supported, message) in targets.items():
            store.target(merged, column, target, supported, message)
        store.cells(merged, records)
        for column, keys in _keys(shares).items():
            store.keys(merged, column, keys)
        for column, sources in _runs_taken(parts, before).items():
            store.take(merged, column, sources)
        for note in notes:
            store.note(merged, note.column, note.text, note.kind)
        last = max(part.run.finished or part.run.started for part in parts)
        store.finish(merged, "finished" if whole else INCOMPLETE, code, last)
    return Merged(merged, len(records), code, tuple(text for _, text in missing))


def _lost(
    planned: Mapping[tuple[str, str], int], records: Sequence[Record], known: set[str]
) -> list[Note]:
    """A problem for each column with planned cases that have neither a record nor a known problem."""
    return [
        Note(
            column, "problem",
            f"{column}: {count} of {planned[column, lane]} planned cases have no result in the {lane} lane. Run its "
            "parts again, and merge again.",
        )
        for (column, lane), count in run.unaccounted(planned, records).items()
        if column not in known
    ]  # fmt: skip


def read(path: Path) -> Part:
    with Store(path, read_only=True) as store:
        stored = store.run()
        notes = list(store.notes(stored.id))
        if stored.status != "finished":
            text = (
                f"{', '.join(stored.described.columns)}: a part of this run is not whole ({stored.status}). "
                "Run that part again, and merge again."
            )
            notes.append(Note("", "problem", text))
        runs = {other.id: other for other in store.runs()}
        earlier_runs = {
            item: runs.get(source) for item, source in store.reused_items(stored.id).items()
        }
        return Part(
            str(path), stored, store.environments(stored.id), store.sessions(stored.id), store.planned(stored.id),
            store.targets(stored.id), store.records(stored.id), notes, store.keys_of(stored.id), earlier_runs,
        )  # fmt: skip


def _same_selection(parts: Sequence[Part]) -> None:
    first = parts[0]
    for part in parts[1:]:
        for name in SELECTION:
            _agree(name, first, part, *(_selected(each, name) for each in (first, part)))
        # Without git nothing is known of the commit, and nothing is claimed.
        commits = [side.run.described.commit for side in (first, part)]
        if all(commits):
            _agree("commit", first, part, *commits)


def _selected(part: Part, name: str) -> Any:
    value = part.run.described.selected(name)
    # Its path on each machine does not matter.
    return Path(value).name if name == "suite" and value else value


def _agree(what: str, first: Part, other: Part, here: Any, there: Any) -> None:
    if here != there:
        raise UsageError(
            f"{first.name} and {other.name} are not parts of one run: {what} is {_words(here)} in one and "
            f"{_words(there)} in the other. Merge what ran with the same selection, commit and versions."
        )


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _shares(parts: Sequence[Part]) -> dict[str, dict[tuple[int, int], Part]]:
    """The part that ran each shard of a column. Refuses a shard that ran twice."""
    shares: dict[str, dict[tuple[int, int], Part]] = {}
    for part in parts:
        for column in part.run.described.columns:
            mine = shares.setdefault(column, {})
            for (number, of), other in mine.items():
                if of != part.shard[1]:
                    raise UsageError(
                        f"{column} was cut into {of} shards in {other.name} and into {part.shard[1]} in {part.name}. "
                        "Merge what was cut alike."
                    )
                if number == part.shard[0]:
                    raise UsageError(
                        f"{other.name} and {part.name} overlap: both hold {part.label} of {column}. Leave one out."
                    )
            mine[part.shard] = part
    return shares


def _missing(
    shares: Mapping[str, Mapping[tuple[int, int], Part]],
    expected: Sequence[jobs.Job],
    command: str,
) -> list[tuple[str, str]]:
    wanted = {column: next(iter(mine))[1] for column, mine in shares.items()}
    for job in expected:
        if wanted.setdefault(job.column, job.share[1]) != job.share[1]:
            raise UsageError(
                f"{job.column} was planned in {job.share[1]} shards and ran in {wanted[job.column]}. "
                "Give --expect the plan that these parts were run by."
            )
    missing = []
    for column, of in wanted.items():
        mine = shares.get(column, {})
        lost = [number for number in range(1, of + 1) if (number, of) not in mine]
        if not lost:
            continue
        if len(lost) == of:
            which, option = "nothing of it came", ""
        else:
            some = ", ".join(map(str, lost))
            which, option = f"shard {some} of {of} is missing", f" --shard {lost[0]}/{of}"
        release = column.removeprefix("triton-")
        text = f"{column}: {which}. Run it (crosswarp {command} --triton {release}{option} …), and merge again."
        missing.append((column, text))
    return missing


def _columns(shares: Mapping[str, object], expected: Sequence[jobs.Job]) -> list[str]:
    """The columns as planned; those that no plan names, by version."""
    names = sorted(shares, key=lambda name: (versions.sort_key(versions.of_column(name)), name))
    return list(dict.fromkeys([*(job.column for job in expected), *names]))


def _plan(parts: Sequence[Part], columns: Sequence[str]) -> dict[str, Any]:
    plan = {name: value for name, value in parts[0].run.plan.items() if name != "shard"}
    known = (part.run.described.commit for part in parts if part.run.described.commit)
    commit = next(known, "")
    return {**plan, "columns": list(columns), **({"commit": commit} if commit else {})}


def _sessions(parts: Sequence[Part]) -> dict[tuple[str, str], Mapping[str, Any]]:
    first: dict[tuple[str, str], tuple[Part, Mapping[str, Any]]] = {}
    for part in parts:
        for (column, lane), session in part.sessions.items():
            other, before = first.setdefault((column, lane), (part, session))
            for name in sorted({*before, *session}):
                what = f"{name} of {column}"
                _agree(
                    what, other, part, before.get(name, "not there"), session.get(name, "not there")
                )
    return {key: values for key, (_, values) in first.items()}


def _environments(parts: Sequence[Part], columns: Sequence[str]) -> list[Environment]:
    """One environment a column. It failed where any part's did, because that part's cases did not run."""
    merged = []
    for column in columns:
        mine = [(p, e) for p in parts for e in p.environments if e.column == column]
        ready = [(p, e) for p, e in mine if e.state != "failed"]
        for part, environment in ready[1:]:
            other, first = ready[0]
            _agree(f"{column}", other, part, first.label, environment.label)
            ours = [e.versions.get("crosswarp", "unknown") for e in (first, environment)]
            _agree(f"crosswarp of {column}", other, part, *ours)
        failed = [
            (part, environment) for part, environment in mine if environment.state == "failed"
        ]
        if failed and ready:
            part, environment = failed[0]
            message = f"{part.label}: {environment.message}"
            merged.append(replace(ready[0][1], state="failed", message=message))
        elif mine:
            merged.append(mine[0][1])
    return merged


def _targets(
    parts: Sequence[Part],
) -> tuple[dict[tuple[str, str], tuple[bool, str]], list[tuple[str, str]]]:
    merged: dict[tuple[str, str], tuple[bool, str]] = {}
    disagreed = []
    for part in parts:
        for key, answer in part.targets.items():
            before = merged.setdefault(key, answer)
            if before[0] != answer[0]:
                # The cells that a part left out are `unsupported`; this is why.
                merged[key] = before if not before[0] else answer
                column, target = key
                note = f"{column}: its parts disagree whether it has {target}. Run it again."
                disagreed.append((column, note))
    return merged, list(dict.fromkeys(disagreed))


def _records(
    parts: Sequence[Part], columns: Sequence[str]
) -> tuple[list[Record], dict[tuple[str, str], int]]:
    """The cells in the order of the plan, and how many planned cases several parts reported, by column and lane."""
    by_id: dict[str, tuple[Part, Record]] = {}
    reported: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for part in parts:
        for record in part.records:
            other, _ = by_id.setdefault(record.id, (part, record))
            if other is part:
                continue
            if not _of_whole_kernel(record):
                raise UsageError(
                    f"{other.name} and {part.name} overlap: both hold {record.id}. Leave one out."
                )
            if record.case != "*":
                reported.setdefault((record.column, record.lane), set()).add(
                    (part.name, record.item)
                )
    targets = parts[0].run.described.targets

    def place(record: Record) -> tuple[Any, ...]:
        target = targets.index(record.target) if record.target in targets else len(targets)
        column = columns.index(record.column) if record.column in columns else len(columns)
        return (
            column, record.column, LANES.index(record.lane), target, record.target, record.kernel, record.case,
            MODES.index(record.mode), record.config,
        )  # fmt: skip

    records = sorted((record for _, record in by_id.values()), key=place)
    return records, {key: len(items) for key, items in reported.items()}


def _keys(
    shares: Mapping[str, Mapping[tuple[int, int], Part]],
) -> dict[str, dict[tuple[str, ...], str]]:
    """The keys of the cells of each column that has all of its shards, where the shards agree."""
    keys: dict[str, dict[tuple[str, ...], str]] = {}
    for column, mine in shares.items():
        if len(mine) != next(iter(mine))[1]:
            continue
        keys_of_shards = [
            {
                place[1:]: unchanged.of_whole(key)
                for place, key in part.keys.items()
                if place[0] == column
            }
            for part in mine.values()
        ]
        keys[column] = {
            place: key
            for place, key in keys_of_shards[0].items()
            if all(other.get(place) == key for other in keys_of_shards)
        }
    return keys


def _runs_taken(parts: Sequence[Part], runs: Sequence[Run]) -> dict[str, dict[str, int]]:
    """Which items did not run, and which of `runs` they are from: 0 where it is none of them."""
    known = {stored.id: _when(stored) for stored in runs}
    sources: dict[str, dict[str, int]] = {}
    for part in parts:
        for (column, item), source in part.reused.items():
            here = source is not None and known.get(source.id) == _when(source)
            sources.setdefault(column, {})[item] = source.id if source and here else 0
    return sources


def _when(stored: Run) -> tuple[Any, ...]:
    """The fields that differ between two runs of the same number."""
    return stored.started, stored.finished, stored.argv


def _of_whole_kernel(record: Record) -> bool:
    """Whether every shard reports the record, because none knows its cases of that kernel: see suite/plan.py."""
    return record.case == "*" or (record.case, record.phase) == ("import", "import")
