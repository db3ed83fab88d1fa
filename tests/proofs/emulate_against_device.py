"""What the lanes emulate and device said of the same cells, and how far each was from the reference. Run by hand.

    python tests/proofs/emulate_against_device.py STORE..

Stores of `crosswarp run --lanes emulate,device` on a machine with a GPU, or of two runs there, one a lane. An error is
a cell's largest distance from PyTorch's double precision over all outputs, as the suite compares them. Exit 1: two
outcomes differ.
"""

import argparse
import statistics
import sys
from collections import defaultdict
from pathlib import Path

from packaging.version import Version

from crosswarp.matrix.results.store import Store

LANES = ("emulate", "device")


def read(paths):
    """By Triton, then mode, target, kernel, case and configuration: the newest record of each lane."""
    found = defaultdict(lambda: defaultdict(dict))
    for path in paths:
        store = Store(path)
        for run in store.runs():
            for record in store.records(run.id):
                if record.lane in LANES:
                    key = (record.mode, record.target, record.kernel, record.case, record.config)
                    found[record.column.rpartition("-")[2]][key][record.lane] = record
    return found


def error_of(record):
    errors = [one for one in (record.resources.get("error") or {}).values() if one is not None]
    return max(errors) if errors else None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stores", type=Path, nargs="+")
    found = read(parser.parse_args().stores)
    heads = (
        "Triton",
        "mode",
        "cells in both",
        "same outcome",
        "with an error",
        "the same",
        "device larger",
    )
    heads += ("emulate larger", "median ratio")
    print(f"| {' | '.join(heads)} |\n{'| --- ' * len(heads)}|")
    differ, far = [], []
    for triton in sorted(found, key=Version):
        for mode in ("bare", "shimmed"):
            both = {
                key: one
                for key, one in found[triton].items()
                if key[0] == mode and len(one) == len(LANES)
            }
            if not both:
                continue
            same, ratios = 0, []
            for key, one in both.items():
                emulated, device = one["emulate"], one["device"]
                if emulated.outcome == device.outcome:
                    same += 1
                else:
                    differ.append(
                        f"{triton} {' '.join(key)}: emulate {emulated.outcome}, device {device.outcome}"
                    )
                errors = error_of(emulated), error_of(device)
                if emulated.outcome == device.outcome == "pass" and None not in errors:
                    ratio = (
                        1.0
                        if errors[0] == errors[1]
                        else errors[1] / errors[0]
                        if errors[0]
                        else float("inf")
                    )
                    ratios.append(ratio)
                    far.append(
                        (max(ratio, 1 / ratio if ratio else float("inf")), triton, *key, *errors)
                    )
            print(
                f"| {triton} | {mode} | {len(both)} | {same} | {len(ratios)} | {sum(one == 1 for one in ratios)} "
                f"| {sum(one > 1 for one in ratios)} | {sum(one < 1 for one in ratios)} "
                f"| {statistics.median(ratios) if ratios else 0:.3g} |"
            )
    print("\nFurthest apart (emulate, device):")
    for _, triton, mode, target, kernel, case, config, emulated, device in sorted(
        far, reverse=True
    )[:10]:
        print(f"- {triton} {mode} {target} {kernel}/{case} {config}: {emulated:.3g}, {device:.3g}")
    print("\n".join(["", *differ]))
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
