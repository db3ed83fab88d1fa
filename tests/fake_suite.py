"""A cell process that does what its script says. Run as `python fake_suite.py SPEC`; FAKE_SCRIPT names the script.

The script is a JSON list of steps: {"event": ...} writes that event, {"raw": text} writes bytes as they are,
{"say": text} prints, {"wait": path} waits until that file exists, {"touch": path} makes it, {"kill": signal} kills
the process, {"sleep": seconds}, {"exit": status}. {"case": {...}} stands for the start, the cell and the end of a
case, and runs only in the shard whose turn it is, and if its item is not taken from an earlier run; a session before it
plans as many as there are.
"""

import json
import os
import sys
import time
from pathlib import Path


def dealt(steps, shard, reused=()):
    number, of = shard or (1, 1)
    cases = [step["case"] for step in steps if isinstance(step.get("case"), dict)]
    mine = cases[number - 1 :: of]
    for step in steps:
        if not isinstance(step.get("case"), dict):
            planned = {"planned": len(mine)} if cases and step.get("event") == "session" else {}
            yield {**step, **planned}
        elif step["case"] in mine:
            cell = step["case"]
            item = "/".join(cell[name] for name in ("target", "lane", "mode", "kernel", "case"))
            if item in reused:
                if shard:
                    yield {"event": "taken", "item": item}
                continue
            yield {"event": "start", "item": item}
            yield {"event": "cell", **cell}
            yield {"event": "end", "item": item}


def main() -> int:
    spec = json.loads(Path(sys.argv[1]).read_text())
    script = json.loads(Path(os.environ["FAKE_SCRIPT"]).read_text())
    script = script[spec["column"]] if isinstance(script, dict) else script
    steps = dealt(script, spec.get("shard"), spec.get("reused", ()))
    with open(spec["records"], "ab", buffering=0) as records:
        for step in steps:
            if "event" in step:
                records.write(json.dumps(step).encode() + b"\n")
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
