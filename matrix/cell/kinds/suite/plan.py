"""The items of one lane in this environment: asked of the suite and of the compiler once, for all workers.

Both questions run strangers' code (a kernel's module, the compiler), so both are asked in forked children. The first
worker asks and writes the plan beside the records; the others wait for it.
"""

import contextlib
import fcntl
import fnmatch
import json
import os
import re
import zlib
from dataclasses import asdict, dataclass
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from crosswarp.compat.isolate import run_isolated
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell import protocol
from crosswarp.matrix.cell.asked import Asked, AskedSuite
from crosswarp.matrix.cell.judging.verdict import Verdict, of_death
from crosswarp.matrix.cell.kinds.suite import kernel_check, kernels
from crosswarp.matrix.cell.standins.virtual_gpu import Target
from crosswarp.matrix.cell.starting import preloading, probe, specification, versions
from crosswarp.matrix.cell.stream import Stream, shortened

IMPORT_SECONDS = 120
# The reason of a module whose KERNEL is none.
MALFORMED = "malformed KERNEL"
MAX_NOTE = 500
_CHIP = re.compile(r"(sm_|gfx)([0-9a-f]+)")


@dataclass(frozen=True)
class Item:
    """One item: a case on a target in a lane and a mode.

    `skip` says why it cannot run (`unsupported`), `broken` is the verdict on a module that could not be imported. With
    `guarded` it is known to have died, and is run with crash isolation at once.
    """

    target: str
    lane: str
    mode: str
    kernel: str
    case: str
    skip: str = ""
    broken: Optional[Dict[str, Any]] = None
    guarded: bool = False

    @property
    def id(self) -> str:
        return "/".join((self.target, self.lane, self.mode, self.kernel, self.case))


class Planned(NamedTuple):
    """The plan for each worker of a lane: its items, and the modules that it may import before it forks for them."""

    items: List[Item]
    preload: List[str]


def shared_plan(spec: AskedSuite, lane: str) -> Planned:
    """The plan of `lane`, made by whichever worker comes first."""
    path = specification.plan_of(spec, lane)
    with open(path.with_suffix(".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            made = _make(spec, lane)
            partial = path.with_suffix(".partial")
            content = {"items": [asdict(item) for item in made.items], "preload": made.preload}
            partial.write_text(json.dumps(content), "utf-8")
            os.replace(partial, path)
    content = json.loads(path.read_text("utf-8"))
    return Planned([Item(**entry) for entry in content["items"]], content["preload"])


def _make(spec: AskedSuite, lane: str) -> Planned:
    stream = Stream(spec.records)
    installed = versions.installed()
    if spec.again is not None:
        stream.write(protocol.Session(lane, spec.planned[lane], installed))
        return Planned([_known(item) for item in spec.again[lane]], [])
    on = targets(spec, lane, installed["triton"], stream)
    items: List[Item] = []
    preload: List[str] = []
    names = kernels.names(spec.suite, spec.kernels)
    together = {} if spec.suite else _together(spec, lane, names)
    for name in names:
        loaded, imported = together.get(name) or _cases(spec, lane, name)
        preload += imported
        if isinstance(loaded, Verdict) and lane == spec.lanes[0]:
            # Reported at once: its cells come when their turn does.
            message = loaded.message.strip().splitlines()[-1]
            text = (
                message
                if loaded.reason == MALFORMED
                else f"{name}.py: cannot be imported: {message}"
            )
            stream.write(protocol.Note(text[:MAX_NOTE]))
        items += _items(spec, lane, name, loaded, on)
    stream.write(protocol.Session(lane, len(items), installed))
    # They are planned, and the host has their cells.
    reused = frozenset(spec.reused)
    if spec.shard:
        # It has those of the other shares as well.
        for item in items:
            if item.id in reused:
                stream.write(protocol.Taken(item.id))
    left = [item for item in items if item.id not in reused]
    return Planned(left, preloading.safe(preload, spec.memory_limit_mb) if left else [])


def _known(item: str) -> Item:
    """An item that is named by the host, which knows its results."""
    target, lane, mode, kernel, case = item.split("/", 4)
    return Item(target, lane, mode, kernel, case, guarded=True)


def _items(
    spec: AskedSuite, lane: str, name: str, loaded: Any, targets: Dict[str, str]
) -> List[Item]:
    """Return the items of one kernel.

    The modes of a case are adjacent, because the second reuses Triton's cache of the first. Every shard reports a
    module that cannot be imported, because none knows its part of the cases.
    """
    items = []
    for target, reason in targets.items():
        if isinstance(loaded, Verdict):
            broken = asdict(loaded)
            items += [
                Item(target, lane, mode, name, "import", broken=broken) for mode in spec.modes
            ]
            continue
        left_out = spec.left_out.get(name, {}).get(f"{lane}/{target}", ())
        cases = [
            case
            for case, globs in loaded
            if case not in left_out and any(fnmatch.fnmatchcase(case, glob) for glob in spec.cases)
            if lane == "interpret" or any(_covers(glob, target, lane) for glob in globs)
        ]
        for case in _share(cases, "/".join((target, lane, name)), spec.shard):
            items += [Item(target, lane, mode, name, case, skip=reason) for mode in spec.modes]
    return items


def _covers(glob: str, target: str, lane: str) -> bool:
    """Return whether a case with this glob among its targets runs on the target.

    A GPU also runs a case that names an older chip of its maker, such as an A10 (sm_86) one of sm_80. Where its own
    name is not known, it runs every case.
    """
    if fnmatch.fnmatchcase(target, glob):
        return True
    if lane != "device":
        return False
    named, own = _CHIP.fullmatch(glob), _CHIP.fullmatch(target)
    if own is None:
        return True
    return named is not None and named[1] == own[1] and int(named[2], 16) <= int(own[2], 16)


def _share(cases: List[str], of: str, shard: Optional[Sequence[int]]) -> List[str]:
    """Distribute a kernel's cases round-robin, so that the shards of a slow kernel weigh the same.

    The first shard of a kernel and target does not depend on the others, so that every computer distributes alike.
    """
    if not shard:
        return cases
    number, shards = shard
    first = zlib.crc32(of.encode("utf-8", "replace"))
    return [case for place, case in enumerate(cases) if (first + place) % shards == number - 1]


def targets(spec: Asked, lane: str, triton: str, stream: Stream) -> Dict[str, str]:
    """Names of the targets, each with why it is unsupported, or an empty string."""
    if lane == "interpret":
        return {"cpu": ""}
    if lane == "device":
        return {probe.device_target(): ""}
    chosen = {}
    emulated = spec.emulated
    for name, table in spec.targets.items():
        target = Target.from_table(name, table)
        if lane == "emulate" and emulated is not None and name not in emulated:
            continue
        problem = probe.why_not(target, spec.time_limit)
        known = bool(target.triton) and in_window(target.triton, triton)
        stream.write(protocol.Target(name, not problem, problem))
        # A target that this Triton is known to compile for runs even if the probe fails: its loss is a regression.
        chosen[name] = "" if known else problem
    return chosen


def _malformed(name: str, wrong: List[str]) -> Verdict:
    """Return the verdict on a module that was imported and cannot be run. It affects only this module."""
    return Verdict(
        "api-error",
        reason=MALFORMED,
        fingerprint=shortened(f"{MALFORMED}: {wrong[0]}", 300),
        message=shortened(f"{name}.py: {'; '.join(wrong)}. Correct it in the suite."),
        phase="import",
    )


def _is_answer(value: Any) -> bool:
    """Return whether the answer is valid: lists of errors, of (case, its targets) and of modules."""
    if not (isinstance(value, tuple) and [type(part) for part in value] == [list, list, list]):
        return False
    wrong, cases, modules = value
    return all(type(text) is str for text in [*wrong, *modules]) and all(
        isinstance(case, tuple)
        and [type(part) for part in case] == [str, tuple]
        and all(type(glob) is str for glob in case[1])
        for case in cases
    )


def _answer(spec: AskedSuite, lane: str, name: str) -> Tuple[List[str], List[Any], List[str]]:
    """Return the errors of a module, its cases with the globs of their targets, and the modules that it imported."""
    # A GPU's driver does not survive a fork, and a library's ops have a separate list.
    watched = spec.suite and not spec.libraries and lane != "device"
    watch = preloading.Watch()
    kernel = kernels.load(spec.suite, name)
    imported = watch.imported([spec.suite]) if watched and spec.suite else []
    library = spec.libraries is not None
    wrong = kernel_check.problems(kernel, may_be_empty=library, name="" if library else name)
    return (wrong, [], []) if wrong else ([], kernel_check.cases_in(kernel, lane), imported)


def _together(
    spec: AskedSuite, lane: str, names: Sequence[str]
) -> Dict[str, Tuple[Any, List[str]]]:
    """Of crosswarp's own modules, asked in one child, those of which nothing is wrong; the others are asked alone."""
    answers: Dict[str, Tuple[Any, List[str]]] = {}

    def ask(send):
        probe.prepare_import(lane, spec)
        for name in names:
            with contextlib.suppress(Exception):
                send((name, _answer(spec, lane, name)))

    def heard(message: Any) -> None:
        name, answer = message
        if not answer[0]:
            answers[name] = (answer[1], answer[2])

    limit = min(IMPORT_SECONDS, spec.time_limit)
    run_isolated(ask, time_limit=limit, memory_limit_mb=spec.memory_limit_mb, on_message=heard)
    return answers


def _cases(spec: AskedSuite, lane: str, name: str) -> Tuple[Any, List[str]]:
    """Return the ids and target globs of the module's cases in this lane, or the verdict on its import.

    Also the modules that workers may try to import before they fork.
    """

    def ask(send):
        probe.prepare_import(lane, spec)
        return _answer(spec, lane, name)

    limit = min(IMPORT_SECONDS, spec.time_limit)
    outcome = run_isolated(ask, time_limit=limit, memory_limit_mb=spec.memory_limit_mb)
    if outcome.kind == "returned":
        if not _is_answer(outcome.value):
            # The module has written into the pipe that the answer comes through.
            return _malformed(name, ["its import gave another answer than its cases"]), []
        wrong, cases, imported = outcome.value
        return (_malformed(name, wrong), []) if wrong else (cases, imported)
    if outcome.raised is not None:
        from crosswarp.matrix.cell.judging import fingerprint

        raised = outcome.raised
        verdict = Verdict(
            "api-error",
            reason=raised.type_name,
            fingerprint=fingerprint.of_exception(raised.type_name, raised.text),
            message=raised.traceback[-4000:],
            phase="import",
        )
        return verdict, []
    return of_death(outcome.kind, outcome.reason, outcome.output, phase="import"), []
