"""The doctor and `run` on this column's real Triton and torch."""

import hashlib
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import triton
from packaging.version import Version

from crosswarp import compat
from crosswarp.compat import doctor, doctor_text
from crosswarp.compat.install import wanted_shims

pytestmark = pytest.mark.both_ends

ROOT = str(Path(compat.__file__).resolve().parent)


def crosswarp(*arguments, tmp_path, **environ):
    return subprocess.run(
        [sys.executable, "-m", "crosswarp.compat", *arguments], cwd=str(tmp_path), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False,
        env={
            **os.environ, "CROSSWARP_CACHE_DIR": str(tmp_path / "crosswarp"),
            # The other tests' own grow while this one looks at them.
            "TRITON_CACHE_DIR": str(tmp_path / "triton"),
            "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"), **environ,
        },
    )  # fmt: skip


@pytest.fixture(scope="module")
def report():
    return doctor.examine()


def test_the_pair_is_named_and_agrees(report):
    import torch

    assert Version(report["triton"]["version"]) == Version(triton.__version__)
    assert report["triton"]["error"] is None and report["torch"]["error"] is None
    assert report["torch"]["version"] == torch.__version__
    assert report["torch"]["git"] == torch.version.git_version
    assert report["torch"]["asks_for"] and report["torch"]["agrees"] is True


def test_the_build_is_the_one_of_its_record(report):
    (one,) = report["triton"]["distributions"]
    library = Path(triton.__file__).parent.parent / one["library"]
    digest = hashlib.sha256(library.read_bytes()).hexdigest()
    assert one["library_sha256"] == digest and one["as_published"] is True
    assert len(report["triton"]["build"]) == 40


def test_every_ptxas_says_its_version(report):
    assert report["ptxas"] and all(tool["version"] for tool in report["ptxas"])


def test_every_wanted_shim_installs_and_no_other(report):
    states = {shim["name"]: shim["state"] for shim in report["shims"]}
    wanted = {shim.name for shim in wanted_shims("auto", triton.__version__)}
    assert {name for name, state in states.items() if state == "on"} == wanted
    assert set(states.values()) <= {"on", "off"}
    # The child installed them, not this process.
    assert report["installed_here"] == []


def test_nothing_is_wrong_with_a_column(report):
    problems = [entry for entry in report["advice"] if entry["level"] == "problem"]
    assert problems == [] and report["exit_code"] == 0


@pytest.mark.one_release
def test_text_and_json_from_the_command(tmp_path):
    done = crosswarp("doctor", tmp_path=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    told = json.loads(crosswarp("doctor", "--json", tmp_path=tmp_path).stdout)
    assert doctor_text.render(told) == done.stdout


@pytest.mark.one_release
def test_a_program_can_ask_about_itself(in_fork):
    def run():
        compat.install()
        return doctor.examine()["installed_here"], [shim.name for shim in compat.active()]

    here, active = in_fork(run)
    assert here == active


@pytest.mark.one_release
def test_run_installs_before_the_script_imports_triton(tmp_path):
    (tmp_path / "train.py").write_text(
        textwrap.dedent("""
            import sys
            assert "triton" not in sys.modules and "torch" not in sys.modules
            import torch, triton
            from crosswarp import compat
            print(sorted(shim.name for shim in compat.active()), sys.argv[1:])
            raise SystemExit(7)
            """)
    )
    done = crosswarp("run", "train.py", "--lr", "1", tmp_path=tmp_path)
    wanted = sorted(shim.name for shim in wanted_shims("auto", triton.__version__))
    assert (done.returncode, done.stdout) == (7, f"{wanted} ['--lr', '1']\n"), done.stderr


@pytest.mark.one_release
def test_run_under_a_launcher_of_processes(tmp_path):
    """What the help text says of torchrun."""
    (tmp_path / "train.py").write_text(
        "import os, triton\nfrom crosswarp import compat\n"
        "open('rank' + os.environ['RANK'], 'w').write(str(len(compat.active())))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
         "-m", "crosswarp.compat", "run", "train.py"],
        cwd=str(tmp_path), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    wanted = str(len(wanted_shims("auto", triton.__version__)))
    assert [(tmp_path / name).read_text() for name in ("rank0", "rank1")] == [wanted, wanted]
