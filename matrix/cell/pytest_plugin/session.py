"""A run with the option on: prepare torch and Triton before any conftest, run each test, and take everything back.

PYTEST_DONT_REWRITE
"""

import json
import re
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest

from crosswarp.compat.record import Patches

from . import answers, child, judging, lanes, outcomes, rewriting, sampling, stubs
from .environ import set_until_undone
from .options import Settings, settings_of

# Beside this package, in the house's own layout; read without the host's libraries.
_TARGETS = Path(__file__).parents[2] / "facts" / "targets.toml"
# Torch's message for an operator that a test calls itself, and that only a GPU has.
_FOR_A_GPU_ALONE = re.compile(
    r"Could not run '(aten::[\w.]+)' with arguments from the 'CPU' backend"
)


def start(config: Any) -> None:
    """Prepare, and register the hooks of the run.

    Raises:
        pytest.UsageError: the options ask for something unknown, or Triton is missing.
    """
    patches = Patches()
    config.add_cleanup(patches.undo)
    try:
        settings = settings_of(config.known_args_namespace)
        session = Session(settings, patches)
    except (ValueError, RuntimeError, ImportError) as error:
        patches.undo()
        raise pytest.UsageError(f"--virtual-gpu: {error}") from error
    config.pluginmanager.register(session, "crosswarp-session")


class Session:
    """The hooks of a run with the option on.

    Attributes:
        launched_before: launches of this process before the current test.
        noted: failed asserts of the current test, one line each.
    """

    def __init__(self, settings: Settings, patches: Patches):
        self.settings = settings
        self.target = target(settings.target)
        self.lane = lanes.make(settings.lane)
        self.launched_before = self.left_out_before = 0
        # Whether a report of the current test has said that a launch was not executed.
        self.noted_in_report = False
        self.noted: List[str] = []
        self.goes_on = True
        self.collected: Optional[int] = None
        # Parameter sets that never became an item.
        self.cut = 0
        self._prepare(patches)

    def _prepare(self, patches: Patches) -> None:
        set_until_undone(patches, TORCHDYNAMO_DISABLE="1", TORCH_COMPILE_DISABLE="1")
        self.lane.before_import(patches)
        import torch
        import triton

        from crosswarp import compat
        from crosswarp.matrix.cell.standins import virtual_torch
        from crosswarp.matrix.cell.standins.virtual_gpu.torch_device import properties_of
        from crosswarp.matrix.cell.starting.warm import warm

        threads = torch.get_num_threads()
        patches.on_undo(lambda: torch.set_num_threads(threads))
        # A forked child does not have the threads of its parent, and waits for them for ever.
        torch.set_num_threads(1)
        if self.settings.shimmed:
            patches.on_undo(compat.uninstall)
            compat.install()
        self.lane.start(self.target, self.settings, patches)
        mapping = virtual_torch.install(self.target, zeroed=not self.lane.judges_values)
        patches.on_undo(mapping.undo)
        from . import nvidia_smi

        nvidia_smi.install(patches, self.target, properties_of(self.target))
        stubs.install(patches, self.settings.stubs)
        if not self.lane.judges_values:
            from . import comparing

            self.goes_on = rewriting.install(patches, self.note)
            comparing.install(patches, self.note, lambda: self.launches() > 0)
        warm()
        self.versions = f"Triton {triton.__version__}, torch {torch.__version__}"

    # State of the current test.

    def begin(self) -> None:
        self.launched_before, self.left_out_before = self.lane.launches(), self.lane.left_out()
        self.noted, self.noted_in_report = [], False

    def launches(self) -> int:
        return self.lane.launches() - self.launched_before

    def note(self, error: AssertionError) -> bool:
        """Note an assert that may be about values that were never computed; whether it has been noted."""
        if not self.launches() and self.lane.left_out() == self.left_out_before:
            return False
        if getattr(error, rewriting.STRUCTURAL, False):
            return False
        if not judging.about_values(str(error), judging.frames_of(error)):
            return False
        self.noted.append((str(error).strip().splitlines() or ["assert"])[0][:200])
        return True

    # pytest's hooks

    def pytest_report_header(self) -> List[str]:
        mode = "with compat" if self.settings.shimmed else "without compat"
        return [
            f"crosswarp: virtual {self.target.name}, lane {self.lane.name}, {self.versions}, {mode}"
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: Any) -> None:
        if self.settings.sample is not None:
            sampling.cut_parameters(metafunc, self.settings.sample, self._cut)

    def _cut(self, number: int) -> None:
        self.cut += number

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: List[Any]) -> None:
        count = self.settings.sample
        self.collected = len(items) + self.cut
        if count is None or len(items) <= count:
            return
        chosen = set(sampling.sample([item.nodeid for item in items], count))
        left = [item for position, item in enumerate(items) if position not in chosen]
        items[:] = [item for position, item in enumerate(items) if position in chosen]
        config.hook.pytest_deselected(items=left)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Any:
        report = yield
        if report.failed:
            hint = stubs.hint(str(report.longrepr))
            if hint:
                report.sections.append(("crosswarp", hint))
                report.longrepr = f"{report.longrepr}\n{hint}"
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> bool:
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        if item.config.getoption("usepdb", False):
            reports = child.run_here(item, self.lane, self.begin)
        else:
            reports = child.run(item, self.lane, self.begin, self.settings.time_limit)
        for report in reports:
            answers.add(report)
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    # Outside pytest's own wrapper, which decides about expected failures.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        report = yield
        self._judge(report, call.excinfo)
        return report

    def _judge(self, report: Any, excinfo: Any) -> None:
        """Add the outcome to a report, in the child, where the launches are known."""
        launches = self.launches()
        record: Dict[str, Any] = {
            "outcome": outcomes.done(self.lane.done, launches),
            "launches": launches,
            "kernels": self.lane.kernels(),
            "noted": list(self.noted),
            "left_out": self.lane.left_out() - self.left_out_before,
        }
        error = None if excinfo is None else excinfo.value
        ended = self.lane.ended()
        if ended is not None and (report.failed or report.when == "call"):
            self._not_carried_out(report, ended, record)
        elif report.failed and error is not None:
            reason = _needs_a_gpu(error)
            if not reason and self._never_computed(error):
                report.outcome, report.longrepr = "passed", None
                record.update(noted=list(self.noted), ended_early=True)
            elif reason or (reason := self._depends_on_numbers(error)):
                outcomes.untold(report, outcomes.NOT_APPLICABLE, reason)
                record.update(outcome=outcomes.NOT_APPLICABLE, why=reason)
            else:
                record.update(outcome=outcomes.RED, why=_cause(error))
        elif report.failed and _unexpectedly_green(report) and not self.lane.judges_values:
            report.outcome, report.longrepr = "passed", None
        setattr(report, outcomes.ATTRIBUTE, record)
        if report.when == "call":
            report.user_properties.append(
                ("crosswarp", f"{record['outcome']}, {launches} launched")
            )

    def _not_carried_out(self, report: Any, ended: outcomes.Ended, record: Dict[str, Any]) -> None:
        """Replace the outcome: after a launch that was not executed, the test's result rests on missing numbers."""
        record.update(outcome=ended.outcome, why=ended.why)
        if ended.opcode:
            record["opcode"] = ended.opcode
        if self.noted_in_report:
            # It is in the report of an earlier phase.
            report.outcome, report.longrepr = "passed", None
        elif ended.outcome != outcomes.RED:
            outcomes.untold(report, ended.outcome, ended.why)
        elif not report.failed and not hasattr(report, "wasxfail"):
            report.outcome, report.longrepr = (
                "failed",
                f"the test went on after a launch failed: {ended.why}",
            )
        self.noted_in_report = True

    def _depends_on_numbers(self, error: BaseException) -> str:
        """Return why the test does not apply, if the library depended on a number that nothing computed; else ''."""
        read = self.lane.depends_on_numbers(error)
        if read is None:
            return ""
        return f"depends on numbers: {read} read one that no kernel computed, then {_cause(error)}"

    def _never_computed(self, error: BaseException) -> bool:
        """Return whether a test ended at an assert about values that was not rewritten, in the test's own helper."""
        return (
            not self.lane.judges_values and isinstance(error, AssertionError) and self.note(error)
        )

    def pytest_configure(self, config: Any) -> None:
        # Not PYTEST_XDIST_WORKER, which a pytest that was started by another's worker has too.
        self._is_worker = hasattr(config, "workerinput")

    def pytest_report_teststatus(self, report: Any) -> Any:
        return outcomes.status(report)

    def pytest_runtest_logreport(self, report: Any) -> None:
        # With xdist every process hears of it; the one that started the others writes.
        if self.settings.records is None or self._is_worker:
            return
        line = outcomes.record(report)
        if line is not None:
            with open(self.settings.records, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        stats = terminalreporter.stats
        write = terminalreporter.write_line
        terminalreporter.section(f"crosswarp: virtual {self.target.name}, lane {self.lane.name}")
        write(outcomes.summary(stats, self.lane.done))
        write(
            f"{self.versions}, {'with' if self.settings.shimmed else 'without'} compat: {self.lane.proves}."
        )
        unknown = outcomes.unknown(stats)
        if unknown:
            write(f"Not known to the emulator: {unknown}.")
        # A test's last phase knows all that it noted.
        reports = [
            report
            for group in stats.values()
            for report in group
            if getattr(report, "when", "") == "call"
        ]
        records = [getattr(report, outcomes.ATTRIBUTE, None) for report in reports]
        noted = sum(len(record["noted"]) for record in records if record and record.get("noted"))
        if noted:
            write(f"{noted} asserts about values were noted, not judged.")
        if self.settings.sample:
            # With xdist the workers collect, each the same.
            of = "" if self.collected is None else f" of {self.collected}"
            write(f"A sample of at most {self.settings.sample}{of} tests.")
        if not self.goes_on:
            write("This pytest cannot be made to go on past an assert: a test ends at its first.")


def target(name: str) -> Any:
    """The target of that name in targets.toml, or of a product's name there ("H100").

    Raises:
        ValueError: there is none.
    """
    try:
        import tomllib as toml
    except ImportError:
        # Before Python 3.11 pytest itself depends on this one.
        import tomli as toml  # type: ignore[no-redef]
    from crosswarp.matrix.cell.standins.virtual_gpu import Target

    table = toml.loads(_TARGETS.read_text("utf-8"))
    if name not in table:
        # As facts/targets.py, which needs pydantic, has it for the host: in any case, without blanks.
        plain = re.sub(r"[ _-]", "", name).lower()
        called = {
            re.sub(r"[ _-]", "", alias).lower(): key
            for key in table
            for alias in table[key]["names"]
        }
        name = called.get(plain, name)
    if name not in table:
        msg = f"{name} is no target: use one of {', '.join(table)}"
        raise ValueError(msg)
    return Target.from_table(name, table[name])


def _needs_a_gpu(error: BaseException) -> str:
    """Return why the test does not apply, if `error` or its cause says so."""
    from crosswarp.matrix.cell.standins.virtual_torch import NotOnVirtualGPU

    seen = set()
    cause: Optional[BaseException] = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, NotOnVirtualGPU):
            return str(cause)
        lacks = _FOR_A_GPU_ALONE.search(str(cause)) if type(cause) is NotImplementedError else None
        if lacks:
            return f"torch has {lacks[1]} for a GPU only"
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return ""


def _cause(error: BaseException) -> str:
    """Return its type and text, and those of its cause: Triton often shows only a source location."""
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    return f"{type(root).__name__}: {str(root).strip()[:600]}"


def _unexpectedly_green(report: Any) -> bool:
    return isinstance(report.longrepr, str) and report.longrepr.startswith("[XPASS(strict)]")
