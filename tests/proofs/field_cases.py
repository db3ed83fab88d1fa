"""Do cases from the field show what their first lines say? Each is run without compat on the releases it is about.

    python tests/proofs/field_cases.py FOLDER --column 3.9.0=PYTHON --column 3.7.1=PYTHON ..

Run by hand, on the host. FOLDER has one suite module a case (they are not ours, and not in this repository). A column
is the Python of an environment with that Triton; cases whose columns are not named are left out. The exit status is 1
where a line does not hold.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Store


@dataclass(frozen=True)
class Claim:
    """The expected outcome of a case on one release and target: `says` stands in its message; empty: it passes.

    With `sanitize` the sanitizer looks on, for what is silent without.
    """

    kernel: str
    release: str
    target: str
    lanes: str
    says: str
    sanitize: bool = False


# Ten hold at commit 8897415d (2026-11-27). f07 held earlier that day.
CLAIMS = (
    Claim("f01_amd_where_ptr", "3.7.1", "gfx942", "compile", "CanonicalizePointers"),
    Claim("f01_amd_where_ptr", "3.7.1", "sm_90", "compile", ""),
    Claim("f02_amd_early_return", "3.7.1", "gfx942", "compile", "CanonicalizePointers"),
    Claim("f02_amd_early_return", "3.7.1", "sm_90", "compile", ""),
    Claim("f07_global_log2e", "3.9.0", "sm_90", "compile", "Cannot access global variable"),
    Claim("f10_persistent_ws", "3.5.1", "sm_120", "compile", "PassManager::run failed"),
    Claim("f11_gdc_wait", "3.7.1", "sm_90", "compile,emulate", ""),
    Claim("f11_gdc_wait", "3.7.1", "sm_90", "emulate", "griddepcontrol.wait", sanitize=True),
    Claim("f31_restore_kwargs", "3.1.0", "sm_80", "compile", "index out of range"),
    Claim("f31_restore_kwargs", "3.2.0", "sm_80", "compile", ""),
    Claim("f40_where_reads_both", "3.9.0", "sm_90", "emulate", "out-of-bounds"),
)
# Other registers, spills or code on the second release than on the first. f34's six cells keep registers, spills and
# the size of their code on 3.6.0 and 3.7.1; each has 3 to 7 % more PTX instructions, and five have other machine code
# (2026-11-27).
CHANGED = (("f34_a100_decode", "3.6.0", "3.7.1", "sm_80"),)
_RESOURCES = ("registers", "stack", "shared", "code", "instructions")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("folder", type=Path)
    parser.add_argument("--column", action="append", default=[], metavar="RELEASE=PYTHON")
    parser.add_argument("--kernels", default="", help="only those whose names begin so")
    options = parser.parse_args()
    pythons = dict(one.split("=", 1) for one in options.column)
    failed = 0
    for claim in CLAIMS:
        if claim.release in pythons and claim.kernel.startswith(options.kernels):
            more = ("--sanitize",) if claim.sanitize else ()
            found = _run(
                options.folder,
                claim.kernel,
                claim.target,
                claim.lanes,
                pythons[claim.release],
                more,
            )
            holds = shows(found, claim.says)
            failed += not holds
            _print(holds, " ".join([claim.kernel, "on", claim.release, claim.target, *more]), found)
    for kernel, before, after, target in CHANGED:
        if {before, after} <= set(pythons) and kernel.startswith(options.kernels):
            runs = [
                _run(options.folder, kernel, target, "compile", pythons[release])
                for release in (before, after)
            ]
            said = changes(*runs)
            failed += not said
            _print(bool(said), f"{kernel} on {before} and {after} {target}", ())
            print("\n".join(said))
    return 1 if failed else 0


def shows(records: Sequence[Record], says: str) -> bool:
    """Whether some cell fails with these words, or all pass where there are none."""
    ran = [one for one in records if one.ran]
    if not says:
        return bool(ran) and not any(one.red for one in ran)
    return any(one.red and says in f"{one.fingerprint} {one.message}" for one in ran)


def changes(before: Sequence[Record], after: Sequence[Record]) -> list[str]:
    """The registers, stack, shared memory, bytes and instructions of cells that differ, a line a cell."""
    old = {one.case: one for one in before}
    found = []
    for one in after:
        if one.case in old and (was := _used(old[one.case])) != (now := _used(one)):
            found.append(f"  {one.case}: {was} before, {now} after")
    return found


def _used(record: Record) -> list[list[object]]:
    launches = record.resources.get("launches", ())
    return [[_amount(one.get(name)) for name in _RESOURCES] for one in launches]


def _amount(value: object) -> object:
    """A number as it is, and the total of instructions by kind."""
    return value.get("total") if isinstance(value, dict) else value


def _run(
    folder: Path, kernel: str, target: str, lanes: str, python: str, more: Sequence[str] = ()
) -> list[Record]:
    with tempfile.TemporaryDirectory() as room:
        store = Path(room) / "store.db"
        command = [sys.executable, "-m", "crosswarp.reports.cli", "run", "--suite", str(folder)]
        command += ["--here", python, "--targets", target, "--lanes", lanes, "--kernels", kernel]
        command += ["--modes", "bare", "--store", str(store), *more]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        with Store(store, read_only=True) as opened:
            return opened.records(opened.run().id)


def _print(holds: bool, finding: str, records: Sequence[Record]) -> None:
    print(f"{'holds' if holds else 'DOES NOT HOLD'}: {finding}", flush=True)
    for one in records:
        print(f"  {one.lane} {one.case}: {one.outcome} {one.fingerprint[:150]}")


if __name__ == "__main__":
    sys.exit(main())
