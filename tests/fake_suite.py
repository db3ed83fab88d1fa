"""A cell process that does what its script says. Run as `python fake_suite.py SPEC`; FAKE_SCRIPT names the script.

The script is a JSON list of steps: {"event": ...} writes that event, {"raw": text} writes bytes as they are,
{"say": text} prints, {"wait": path} waits until that file exists, {"touch": path} makes it, {"kill": signal} kills
the process, {"sleep": seconds}, {"exit": status}.
"""

import json
import os
import sys
import time
from pathlib import Path


def main() -> int:
    spec = json.loads(Path(sys.argv[1]).read_text())
    script = json.loads(Path(os.environ["FAKE_SCRIPT"]).read_text())
    steps = script[spec["column"]] if isinstance(script, dict) else script
    with open(spec["records"], "ab", buffering=0) as records:
        for step in steps:
            if "event" in step:
                records.write(json.dumps({"column": spec["column"], **step}).encode() + b"\n")
            elif "raw" in step:
                records.write(step["raw"].encode("latin-1"))
            elif "say" in step:
                print(step["say"], flush=True)
            elif "touch" in step:
                Path(step["touch"]).write_text(str(os.getpid()))
            elif "wait" in step:
                while not Path(step["wait"]).exists():
                    time.sleep(0.01)
            elif "kill" in step:
                os.kill(os.getpid(), step["kill"])
            elif "sleep" in step:
                time.sleep(step["sleep"])
            elif "exit" in step:
                return step["exit"]
    return 0


if __name__ == "__main__":
    sys.exit(main())
