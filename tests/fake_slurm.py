"""Stand-ins for Slurm's commands: `sbatch` begins each task of an array in the background, on this machine.

The folder FAKE_SLURM has what was submitted and a file for each task with its state. Where the file slurm-lose beside
it names a task, that one is lost with its node, once.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

STATE = Path(os.environ["FAKE_SLURM"])
JOB = "4711"


def sbatch(script):
    STATE.mkdir(exist_ok=True)
    text = Path(script).read_text()
    (STATE / "sbatch").write_text(text)
    found = re.search(r"--array=0-(\d+)", text)
    job = str(int(JOB) + len(list(STATE.glob("job-*"))))
    (STATE / f"job-{job}").touch()
    tasks = range(int(found[1]) + 1) if found else [None]
    lose = STATE.parent / "slurm-lose"
    lost = lose.read_text().strip() if lose.exists() else ""
    lose.unlink(missing_ok=True)
    for task in tasks:
        name = job if task is None else f"{job}_{task}"
        if lost and str(task) == lost:
            (STATE / name).write_text("NODE_FAIL")
            continue
        environ = {
            **os.environ,
            "SLURM_JOB_ID": job,
            "SLURM_PROCID": "0",
            "SLURM_LOCALID": "0",
            "SLURM_NODEID": "0",
        }
        environ |= {
            "SLURM_JOB_NUM_NODES": "1",
            "SLURM_NTASKS": "1",
            "SLURM_JOB_NODELIST": "here",
            "SLURM_NODELIST": "here",
        }
        if task is not None:
            environ |= {"SLURM_ARRAY_JOB_ID": job, "SLURM_ARRAY_TASK_ID": str(task)}
        (STATE / name).write_text("RUNNING")
        ended = f"bash {script} > {STATE}/{name}.out 2>&1; echo COMPLETED > {STATE}/{name}"
        subprocess.Popen(
            ["bash", "-c", ended], env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    print(f"Submitted batch job {job}")


def srun(*words):
    command = list(words)
    while command and command[0].startswith("-"):
        option = command.pop(0)
        if option in ("--output", "--error", "-o", "-e"):
            command.pop(0)
    os.execvp(command[0], command)


def sacct(*words):
    print("JobID|State|NodeList")
    for path in STATE.iterdir():
        if re.fullmatch(r"\d+(_\d+)?", path.name):
            print(f"{path.name}|{path.read_text().strip()}|here")


def squeue(*words):
    """What has not ended, as --format="%F_%K %A" does."""
    tasks = [path for path in STATE.iterdir() if re.fullmatch(r"\d+_\d+", path.name)]
    if not tasks:
        sys.exit("slurm_load_jobs error: Invalid job id specified")
    for path in tasks:
        if path.read_text().strip() in ("RUNNING", "PENDING"):
            print(f"{path.name} {JOB}")


def scancel(*words):
    pass


if __name__ == "__main__":
    commands = {
        "sbatch": sbatch,
        "srun": srun,
        "sacct": sacct,
        "scancel": scancel,
        "squeue": squeue,
    }
    commands[sys.argv[1]](*sys.argv[2:])
