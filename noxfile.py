"""Sessions, and nothing but sessions: what runs on what is decided by columns.toml and `crosswarp run`.

nox -s matrix                            the main job: the founding five columns
nox -s matrix -- --all-cases            with the cases that repeat a cheaper one
nox -s matrix -- --triton all           every column; everything after -- goes to `crosswarp run`
nox -s tests / nox -s lint               the harness's own tests; ruff and mypy
nox -s docs                              docs/ again, from the records and the commands; -- --check only compares
nox -s docs-site                         the documentation as a site, in .crosswarp/docs-site; -- --out FOLDER
nox -s update                            columns for new releases of Triton, to paste; -- --write puts them in;
                                         -- --errors FOLDER: the messages that a new Triton added or dropped
nox -s ecosystem                         the newest releases of published libraries on every column; -- --help
nox -s bench                             on a GPU: the kernels against what else computes the same; -- --only 'rms*'
"""

import os
import shutil
import subprocess
from pathlib import Path

import nox

nox.needs_version = ">=2024.4.15"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["matrix"]


@nox.session
def matrix(session: nox.Session) -> None:
    """Run the matrix."""
    session.install("-e", ".[matrix]")
    command = Path(session.bin, "crosswarp")
    environ = {
        name: value for name, value in {**os.environ, **session.env}.items() if value is not None
    }
    # Not session.run: nox ends with 1 whatever its command says, and 2 (usage), 3 (an environment could not be built),
    # 4 and 130 must reach CI as they are. Everything but 1 leaves nox the hard way.
    process = subprocess.Popen([command, "run", *session.posargs], env=environ)
    while True:
        try:
            status = process.wait()
            break
        except KeyboardInterrupt:
            # crosswarp has had the same Ctrl-C and is putting its run in order.
            continue
    if status == 1:
        session.error("something is failing or passing unexpectedly: see the summary above")
    if status:
        raise SystemExit(status)


@nox.session
def tests(session: nox.Session) -> None:
    """Test the harness, with real environments at both ends; `-- -m "not integration"` for the quick part."""
    session.install("-e", ".[matrix,tests]")
    # The page is tested in a browser. Where we may, we install one; where not, its tests say what to do.
    browsers = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    asked = "CROSSWARP_BROWSER" in os.environ or "not browser" in " ".join(session.posargs)
    if (
        not (asked or any(map(shutil.which, browsers)))
        and os.geteuid() == 0
        and shutil.which("apt-get")
    ):
        session.run("apt-get", "-qq", "update", external=True)
        session.run(
            "apt-get", "-qq", "install", "--yes", "--no-install-recommends", "chromium", external=True,
            env={"DEBIAN_FRONTEND": "noninteractive"},
        )  # fmt: skip
    # The pytest script, not `python -m pytest`: that puts this folder on the path, and `import kernels` finds ours.
    # A file on one worker, the long ones first (tests/conftest.py): the others fill what these leave. Two workers more
    # than cores, because many tests wait for a process or for a time limit.
    workers = str(len(os.sched_getaffinity(0)) + 2)
    # The tests start crosswarp a thousand times, and without bytecode each start compiles two hundred modules.
    session.run(
        "pytest", "-n", workers, "--dist", "loadfile", "--no-loadscope-reorder", *session.posargs,
        env={"PYTHONDONTWRITEBYTECODE": None},
    )  # fmt: skip


@nox.session
def lint(session: nox.Session) -> None:
    """ruff and mypy."""
    session.install("-e", ".[site,fuzz]", "ruff", "mypy")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    # mypy does not follow setuptools' finder of an editable install, so it gets a folder of links.
    links = Path(session.create_tmp(), "links", "crosswarp")
    links.mkdir(parents=True, exist_ok=True)
    for name in ("compat", "kernels", "laboratory", "matrix", "reports"):
        if not (links / name).exists():
            (links / name).symlink_to(Path.cwd() / name)
    session.run(
        "mypy",
        "-p",
        "crosswarp.compat",
        "-p",
        "crosswarp.kernels",
        "-p",
        "crosswarp.laboratory",
        "-p",
        "crosswarp.matrix",
        "-p",
        "crosswarp.reports",
        env={"MYPYPATH": str(links.parent)},
    )
    session.run(
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "tests/typed_face.py",
        env={"MYPYPATH": str(links.parent)},
    )


@nox.session
def docs(session: nox.Session) -> None:
    """Make docs/ from the records, and what its examples print; `-- --check` only says what is out of date."""
    session.install("-e", ".[site]")
    session.run("crosswarp", "docs", *session.posargs)
    session.run("python", "docs/examples.py", *session.posargs)


@nox.session(name="docs-site")
def docs_site(session: nox.Session) -> None:
    """Build the documentation site; a link that leads nowhere fails."""
    session.install("-e", ".[site]")
    session.run("python", "docs/build.py", *session.posargs)


@nox.session
def update(session: nox.Session) -> None:
    """Ask the package index for releases that columns.toml lacks; `-- --write` puts them in."""
    session.install("-e", ".[matrix]")
    session.run("crosswarp", "update", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure on a GPU; what is printed passes or fails nothing. See tests/bench/README.md."""
    session.install("-e", ".", "torch", "matplotlib", "liger-kernel", "flash-linear-attention")
    session.run("python", "tests/bench/kernels.py", *session.posargs)


@nox.session
def ecosystem(session: nox.Session) -> None:
    """Run published libraries' newest releases on every column, hours; see tests/ecosystem/README.md."""
    # unearth downloads a source distribution without running anything of it, which pip and uv do not.
    session.install("-e", ".[matrix]", "unearth")
    session.run("python", "tests/ecosystem/releases.py", *session.posargs)
