"""Choose the assumption to compile for a kernel whose file does not say all: the first of a few that passes.

A failure of every assumption is a verdict on the kernel only if no assumption can cause it: a missing name, a compiler
that dies each time. Any other failure is reported as unknown, with the message of the first.
"""

import re
import time
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Callable, Collection, Dict, List, Mapping, Optional, Sequence, Tuple

from crosswarp.matrix.cell.asked import AskedCheck
from crosswarp.matrix.cell.judging.verdict import Verdict
from crosswarp.matrix.cell.kinds.suite import item as runner
from crosswarp.matrix.cell.kinds.suite.item import Item
from crosswarp.matrix.cell.protocol import Cell
from crosswarp.matrix.cell.stream import Stream

from . import ASSUMED, LACKING, LATE, NO_KERNEL, PLACE
from .absent import pip_or_stub

# Failures that no other type or value avoids: names, language, syntax.
_ANYWAY = re.compile(
    r"NameError|(?<!')\bis not defined\b|module '?triton[\w.]*'? has no attribute|UnsupportedLanguageConstruct|"
    r"unsupported AST node|SyntaxError|cannot import name|No module named|Cannot access global variable|"
    r"add @triton\.jit|got an unexpected keyword argument|Did you mean: |(?:has|have) been removed|is deprecated|"
    r"unsupported tensor index: <?[\w.]*slice|ModuleNotFoundError|ImportError|IndentationError|UnboundLocalError|"
    r"Feature '(?![^']*bf16)[^']+' (?:requires|not supported on) \.target"
)
_MISSING = re.compile(
    r"missing (?:a|\d+) required (?:positional |keyword-only )?arguments?: '(\w+)'"
)
_UNKNOWN_WORD = re.compile(r"Keyword argument (\w+) was specified but unrecognised")
_UNDEFINED = re.compile(r"(\w+)'? is not defined")
# A launch that passes a constant which the kernel's configurations also have.
_TWICE = re.compile(
    r"got multiple values for keyword argument '(\w+)'|Conflicting meta-parameters: (\w+)"
)
_NOT_CALLABLE = "'NoneType' object is not callable"
# A statement with which a kernel refuses a constant.
_REFUSES = "unsupported AST node type: Raise"
# The compiler's own failures, after the language has accepted the program.
_COMPILER = re.compile(
    r"PassManager::run failed|failed to (?:translate|legalize)|LLVM ERROR|Internal Triton PTX"
)
# The compiler's death by inline assembly that is passed elements of another size than it was written for.
_OTHER_SIZE = re.compile(r"number of input constraints does not match number of parameters")
# A mode that begins late still has this part of its case's time: much of it comes from the cache.
_LEAST = 0.2


class Limit:
    """The time that a case has on one target, from now on."""

    def __init__(self, spec: AskedCheck):
        self._spec = spec
        self._seconds = float(spec.check["kernel_limit"])
        self._until = time.monotonic() + self._seconds

    @property
    def over(self) -> bool:
        return time.monotonic() > self._until

    def spec(self, part: float = 1.0) -> AskedCheck:
        """Return the specification with no more time than is left, and than this part of the whole."""
        left = max(
            self._seconds * _LEAST,
            min(self._until - time.monotonic(), self._seconds * part),
        )
        check = {**self._spec.check, "until": self._until}
        return replace(self._spec, time_limit=min(self._spec.time_limit, left), check=check)

    def late(self, outcome: str, spec: AskedCheck) -> str:
        """Return why a timeout says nothing about the kernel: its own time was over. Empty if it had its full time."""
        if outcome != "timeout" or spec.time_limit >= self._spec.time_limit:
            return ""
        return f"no verdict within {self._seconds:g} s. More time: --kernel-limit"


class Telling(Stream):
    """A stream that adds to each cell of a case the compiled assumption, and the modules that its file lacks.

    A timeout because the case's time was over becomes a `not-run`. So does a word of the launch that Triton refuses,
    where the file calls a stand-in: the missing package may teach Triton that word. So does a name that the file binds,
    but not where it is imported here.

    Attributes:
        configurations: how many have come with a verdict.
    """

    def __init__(
        self,
        stream: Stream,
        place: Optional[int],
        absent: Sequence[str],
        late: Callable[[str], str] = lambda outcome: "",
        called: Sequence[str] = (),
        unbound: Mapping[str, str] = MappingProxyType({}),
        attempt: Optional[Dict[str, Any]] = None,
    ):
        self._stream = stream
        self._called = called
        self._unbound = unbound
        self._attempt = attempt
        self._late = late
        self.configurations = 0
        self._more: Dict[str, Any] = {} if place is None else {PLACE: place}
        if absent:
            self._more[LACKING] = list(absent)

    def write(self, *events: Any) -> None:
        self._stream.write(*map(self._with_more, events))

    def _with_more(self, event: Any) -> Any:
        if not isinstance(event, Cell):
            return event
        why = self._late(event.outcome)
        if why:
            event = _without_verdict(event, LATE, why)
        elif self._called and (word := _UNKNOWN_WORD.search(event.message)):
            why = f"{pip_or_stub(self._called)}: it may take {word[1]}, which Triton does not know"
            event = _without_verdict(event, LACKING, why)
        elif event.outcome == "compile-error" and (step := self._binding(event)):
            event = _without_verdict(event, *step)
        elif self._attempt is not None and _contradicts(_verdict(event), self._attempt):
            unknown = _unknown(_verdict(event), 1)
            event = replace(event, outcome=unknown.outcome, reason=ASSUMED, message=unknown.message)
        elif event.config:
            self.configurations += 1
        return replace(event, resources={**event.resources, **self._more})

    def _binding(self, event: Cell) -> Optional[Tuple[str, str]]:
        """Return why a name that a kernel misses may be there elsewhere; None where nothing says so."""
        undefined = _UNDEFINED.search(f"{event.fingerprint}\n{event.message}")
        name = undefined[1] if undefined else ""
        if _NOT_CALLABLE in event.message:
            name = next(
                (unbound for unbound in self._unbound if f"{unbound}(" in event.message), ""
            )
        if not name or not {name, "*"} & set(self._unbound):
            return None
        package = self._unbound.get(name, self._unbound.get("*", ""))
        if package:
            return LACKING, f"{pip_or_stub([package])}: the kernel itself uses {name}"
        return NO_KERNEL, f"the file binds {name} on a line that its import does not reach here"


def _verdict(event: Cell) -> Verdict:
    return Verdict(event.outcome, event.reason, event.fingerprint, event.message, event.phase)


def _without_verdict(event: Cell, reason: str, why: str) -> Cell:
    message = f"not checked: {why}"
    return replace(event, outcome="not-run", reason=reason, fingerprint=reason, message=message)


def settle(unit: List[Item], spec: AskedCheck, limit: Limit) -> Tuple[List[Item], Optional[int]]:
    """Return the items of a case with the chosen assumption, and which one that is; None if there is only one.

    The items are broken if no assumption says anything about the kernel.
    """
    first = unit[0]
    check = spec.check
    attempts = check["kernels"][first.kernel]["cases"][first.case]["attempts"]
    if (
        len(attempts) == 1
        and not attempts[0].get("assumed")
        or first.skip
        or first.broken is not None
    ):
        return unit, None
    place, decided, seen = _tried(first, spec, attempts, limit)
    assigns = check["kernels"][first.kernel].get("assigns") or ()
    if (
        decided
        and seen
        and _whatever_is_assumed(seen[-1], assigns, attempts[place])
        and len(unit) > 1
    ):
        # With compat it may pass, and that says which assumption is right.
        other, decided, seen = _tried(unit[-1], spec, attempts, limit)
        if not decided:
            unknown = vars(_unknown(seen[0], len(seen)))
            return [first, *(replace(attempt, broken=unknown) for attempt in unit[1:])], place
        place = other
    if decided:
        return unit, place
    return [replace(attempt, broken=vars(_unknown(seen[0], len(seen)))) for attempt in unit], place


def _tried(
    item: Item, spec: AskedCheck, attempts: Sequence[Dict[str, Any]], limit: Limit
) -> Tuple[int, bool, List[Verdict]]:
    """Return the chosen assumption, whether it says anything about the kernel, and the verdicts on the way."""
    chosen = spec.check.setdefault("chosen", {})
    key = f"{item.kernel}/{item.case}"
    known = chosen.get(key, 0)
    seen: List[Verdict] = []
    assigns = spec.check["kernels"][item.kernel].get("assigns") or ()
    # With a wrong value one attempt may take for ever; the others are to have their turn.
    part = 0.5 if len(attempts) > 1 else 1.0
    for place in sorted(range(len(attempts)), key=lambda position: (position != known, position)):
        chosen[key] = place
        verdict = _attempt(replace(item, guarded=True), limit.spec(part))
        seen.append(verdict)
        avoidable = verdict.outcome in ("api-error", "compile-error", "limit", "crash") or (
            verdict.outcome == "timeout" and _is_a_guess(attempts[place])
        )
        if not avoidable or _whatever_is_assumed(verdict, assigns, attempts[place]):
            return place, True, seen
        if limit.over:
            break
    chosen[key] = known
    return known, all(map(_is_the_compilers, seen)), seen


def _attempt(item: Item, spec: AskedCheck) -> Verdict:
    """Run one configuration, which says enough of types and values; all where it alone is too large."""
    verdict = runner.run(item, replace(spec, check={**spec.check, "configurations": 1}), _quiet)
    if verdict.outcome == "limit" and spec.check["kernels"][item.kernel].get("tuned"):
        return runner.run(item, spec, _quiet)
    return verdict


def _is_a_guess(attempt: Dict[str, Any]) -> bool:
    """Whether a constant of it is assumed: with another one there may be less to unroll."""
    return any(
        given["type"] == "constexpr" and given["name"] in attempt["assumed"]
        for given in attempt["arguments"]
    )


def _quiet(config: str, verdict: Verdict, seconds: float) -> None:
    pass


def _whatever_is_assumed(
    verdict: Verdict, assigns: Collection[str], attempt: Dict[str, Any]
) -> bool:
    if verdict.outcome not in ("api-error", "compile-error"):
        return False
    if _is_lost(verdict, attempt) or _is_passed_twice(verdict, attempt):
        return True
    undefined = _UNDEFINED.search(f"{verdict.fingerprint}\n{verdict.message}")
    if undefined is not None and undefined[1] in assigns:
        # With another constant the kernel may define it.
        return False
    if _REFUSES in f"{verdict.fingerprint}\n{verdict.message}" and _is_a_guess(attempt):
        # With another constant it may take another branch.
        return False
    # A launch that is refused is due to the way it was launched here.
    return verdict.phase not in ("bind", "launch") and bool(
        _ANYWAY.search(f"{verdict.fingerprint}\n{verdict.message}")
    )


def _is_lost(verdict: Verdict, attempt: Dict[str, Any]) -> bool:
    """Whether Triton misses an argument that it was given (num_warps on 2.3.1), or refuses a word of the launch."""
    unknown = _UNKNOWN_WORD.search(verdict.message)
    if unknown is not None and unknown[1] in attempt["options"]:
        return True
    missing = _MISSING.search(verdict.message)
    given = {argument["name"] for argument in attempt["arguments"]} | set(attempt["options"])
    return missing is not None and missing[1] in given


def _is_passed_twice(verdict: Verdict, attempt: Dict[str, Any]) -> bool:
    """Whether the file's own launch passes what the kernel's configurations give."""
    twice = _TWICE.search(verdict.message)
    if twice is None:
        return False
    name = twice[1] or twice[2]
    given = {argument["name"] for argument in attempt["arguments"]} | set(attempt["options"])
    return name in given and name not in attempt["assumed"]


def _is_the_compilers(verdict: Verdict) -> bool:
    if _OTHER_SIZE.search(f"{verdict.fingerprint}\n{verdict.message}"):
        return False
    return verdict.outcome == "crash" or bool(
        _COMPILER.search(f"{verdict.fingerprint}\n{verdict.message}")
    )


def _unknown(first: Verdict, tried: int) -> Verdict:
    """Return `not-run`: it fails with an assumption, which may be wrong."""
    why = f"with assumed types and values only, in each of {tried} tries"
    message = f"{why}: {first.outcome}: {first.message}"
    return Verdict("not-run", ASSUMED, first.fingerprint, message, first.phase)


def _contradicts(verdict: Verdict, attempt: Dict[str, Any]) -> bool:
    """Whether a kernel fails although it passed with this assumption in its first configuration."""
    return verdict.outcome in ("api-error", "compile-error") and not (
        _whatever_is_assumed(verdict, (), attempt) or _is_the_compilers(verdict)
    )
