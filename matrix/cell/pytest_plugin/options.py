"""The plugin's options, and the settings from them. Imports nothing that is slow.

PYTEST_DONT_REWRITE
"""

from typing import Any, Dict, List, NamedTuple, Optional

LANES = ("compile", "interpret", "emulate")
DEFAULT_SECONDS = 120.0
# Of an autotuner's configurations: one alone would not show that a second one fails.
DEFAULT_CONFIGURATIONS = 2


class Settings(NamedTuple):
    """The options of the command line.

    Attributes:
        target: name of a table in targets.toml.
        shimmed: whether `crosswarp.compat` is installed.
        sample: how many tests to run, or None for all.
        stubs: names of modules that stubs replace.
        time_limit: seconds of wall time for a test.
        configurations: how many of an autotuner's configurations are compiled; 0 for all.
        records: file that gets a JSON line for each test, or None.
        sanitize: whether the sanitizer runs in the lane emulate.
    """

    target: str
    lane: str
    shimmed: bool
    sample: Optional[int]
    stubs: List[str]
    time_limit: float
    configurations: int
    records: Optional[str]
    sanitize: bool = False


_OPTIONS: Dict[str, Dict[str, Any]] = {
    "--virtual-gpu": dict(
        metavar="TARGET",
        help="run GPU tests without a GPU: kernels are compiled for this target (sm_80, gfx942, H100, …)",
    ),
    "--virtual-gpu-lane": dict(
        choices=LANES,
        default="compile",
        help="compile: every launch compiles for real, numbers are not judged (default). "
        "interpret: Triton's interpreter computes the numbers, nothing is compiled. "
        "emulate: the compiled code's numbers",
    ),
    "--crosswarp-shims": dict(
        action="store_true",
        help="with crosswarp.compat installed (lane interpret: always; --crosswarp-bare turns it off)",
    ),
    "--crosswarp-bare": dict(
        action="store_true", help="without crosswarp.compat, in the lane interpret as well"
    ),
    "--crosswarp-sample": dict(
        type=int,
        metavar="N",
        help="run N tests, spread over the test functions, the same ones each time",
    ),
    "--crosswarp-stub": dict(
        action="append",
        default=[],
        metavar="MODULE",
        help="stand in for a compiled extension that is not there; tests that call it do not apply (repeatable)",
    ),
    "--crosswarp-time-limit": dict(
        type=float,
        default=DEFAULT_SECONDS,
        metavar="SECONDS",
        help=f"wall time for one test; past it the test fails (default {DEFAULT_SECONDS:g})",
    ),
    "--crosswarp-configurations": dict(
        type=int,
        default=DEFAULT_CONFIGURATIONS,
        metavar="N",
        help=f"compile N of an autotuner's configurations, 0 for all (default {DEFAULT_CONFIGURATIONS})",
    ),
    "--crosswarp-sanitize": dict(
        action="store_true",
        help="lane emulate: what the sanitizer finds (out of bounds, uninitialised, races, missing waits) fails",
    ),
    "--crosswarp-records": dict(
        metavar="FILE", help="append a JSON line for each test: outcome, launches, cause"
    ),
}


def add_options(parser: Any) -> None:
    group = parser.getgroup("crosswarp", "crosswarp: GPU tests without a GPU")
    for name, details in _OPTIONS.items():
        group.addoption(name, **details)


def settings_of(options: Any) -> Settings:
    """The settings that parsed options come to.

    Raises:
        ValueError: an option is out of range, or two contradict each other.
    """
    if options.crosswarp_shims and options.crosswarp_bare:
        msg = "--crosswarp-shims and --crosswarp-bare contradict each other: give one of them"
        raise ValueError(msg)
    if options.crosswarp_sample is not None and options.crosswarp_sample < 1:
        msg = f"--crosswarp-sample {options.crosswarp_sample}: give a number from 1 on, or leave it out to run all"
        raise ValueError(msg)
    if not options.crosswarp_time_limit > 0:
        msg = f"--crosswarp-time-limit {options.crosswarp_time_limit:g}: give seconds above 0"
        raise ValueError(msg)
    if options.crosswarp_configurations < 0:
        msg = f"--crosswarp-configurations {options.crosswarp_configurations}: give 0 for all, or a number above"
        raise ValueError(msg)
    if options.crosswarp_sanitize and options.virtual_gpu_lane != "emulate":
        msg = "--crosswarp-sanitize looks on while a launch is executed: give --virtual-gpu-lane emulate as well"
        raise ValueError(msg)
    # The interpreter's own bugs say nothing about the library: the shims fix most.
    default = options.virtual_gpu_lane == "interpret"
    return Settings(
        target=options.virtual_gpu,
        lane=options.virtual_gpu_lane,
        shimmed=not options.crosswarp_bare and (options.crosswarp_shims or default),
        sample=options.crosswarp_sample,
        stubs=list(dict.fromkeys(options.crosswarp_stub)),
        time_limit=options.crosswarp_time_limit,
        configurations=options.crosswarp_configurations,
        records=options.crosswarp_records,
        sanitize=options.crosswarp_sanitize,
    )
