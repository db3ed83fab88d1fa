"""What the pytest plugin costs a pytest that does not use it: seconds of CPU time, in processes of their own.

    python tests/bench/plugin_cost.py [RUNS]

Each process has imported pytest, and then imports the plugin and adds its options, which is all that happens without
`--virtual-gpu`. Printed are the median and the largest of the runs (40), and whether torch or Triton came along. Not a
test: what is timed passes or fails nothing.
"""

import json
import statistics
import subprocess
import sys

ONE = """
import argparse, json, sys, time
import pytest
from _pytest.config import get_config
config = get_config()
began = time.process_time()
config.pluginmanager.import_plugin("crosswarp.matrix.cell.pytest_plugin")
took = time.process_time() - began
print(json.dumps([took, sorted({"torch", "triton", "numpy"} & set(sys.modules))]))
"""


def main(runs: int = 40) -> None:
    found = []
    for _ in range(runs):
        done = subprocess.run(
            [sys.executable, "-c", ONE], capture_output=True, text=True, check=True
        )
        found.append(json.loads(done.stdout))
    took = [1000 * one for one, _ in found]
    imported = sorted({name for _, names in found for name in names})
    print(f"median {statistics.median(took):.2f} ms, largest {max(took):.2f} ms of {runs} runs")
    print(f"imported: {', '.join(imported) or 'neither torch nor Triton nor numpy'}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
