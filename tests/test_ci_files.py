"""The workflow, the action and the examples: read as YAML, and their steps run here, on a fake suite."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from crosswarp.matrix.results import baseline
from crosswarp.matrix.results.store import Store

ROOT = Path(__file__).parent.parent
TESTS = Path(__file__).parent
WORKFLOW = ROOT / ".github" / "workflows" / "matrix.yml"
RELEASES = ROOT / ".github" / "workflows" / "releases.yml"
ACTION = ROOT / "action.yml"
EXAMPLES = ROOT / "examples"
COLUMNS = ("triton-3.2.0", "triton-3.9.0")
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
# What a step may say: it moves words and files, and calls programs that decide.
ALLOWED = re.compile(
    r"python3? -m pip install \S+( @ \S+)?$|nox |crosswarp |buildkite-agent "
    r"|read -d '' -ra options < <\(printf '%s\\0' \"\$\w+\"\)$"
    r"|echo \"matrix=\$\(cat plan\.json\)\" >> \"\$GITHUB_OUTPUT\"$"
)


@pytest.mark.parametrize(
    "text",
    ["", "--suite k --columns all", "--suite k\n--columns all\n\n  --targets *\n", "\n--suite\tk"],
)
def test_options_are_read_to_their_last_line(tmp_path, text):
    """Of `options: |` with three lines, a reader of one line would run fewer columns, and all of them would pass."""
    (tmp_path / "a-file").touch()
    lines = {line.strip() for line in scripts() if "options <" in line}
    assert len(lines) == 2
    for line in lines:
        name = re.search(r'"\$(\w+)"', line)[1]
        code = f"set -eo pipefail\n{line}\nprintf '[%s]' \"${{options[@]}}\""
        done = subprocess.run(
            ["bash", "-c", code],
            env={**os.environ, name: text},
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=True,
        )
        assert done.stdout == ("".join(f"[{word}]" for word in text.split()) or "[]")


def loaded(path):
    document = yaml.safe_load(path.read_text("utf-8"))
    # YAML 1.1 reads the key `on` as a truth value.
    return {"on" if key is True else key: value for key, value in document.items()}


def scripts():
    """Every line of shell in every file, with where it stands."""
    workflows = [*loaded(WORKFLOW)["jobs"].values(), *loaded(RELEASES)["jobs"].values()]
    steps = [step for job in workflows for step in job["steps"]] + loaded(ACTION)["runs"]["steps"]
    texts = [step["run"] for step in steps if "run" in step]
    gitlab, buildkite = (loaded(EXAMPLES / name) for name in ("gitlab-ci.yml", "buildkite.yml"))
    texts += gitlab["default"]["before_script"]
    for job in ("run", "report"):
        texts += gitlab[job]["script"] + gitlab[job].get("after_script", [])
    texts += [line for step in buildkite["steps"] for line in step["command"]]
    return [line for text in texts for line in text.splitlines()]


@pytest.fixture(scope="module")
def command_socket(tmp_path_factory):
    """Where `prefork.py` finds the command: the steps start it sixty times, each half a second of imports."""
    path = tmp_path_factory.mktemp("command") / "socket"
    server = subprocess.Popen([sys.executable, TESTS / "fake_command.py", "--serve", path])
    while not path.exists() and server.poll() is None:
        time.sleep(0.05)
    yield path
    server.kill()
    server.wait()


@pytest.fixture
def desk(tmp_path, monkeypatch, command_socket):
    """A folder with a library in it, and crosswarp, pip, gh and buildkite-agent that do no harm."""
    folder = tmp_path / "bin"
    folder.mkdir()
    programs = {
        "crosswarp": f'exec "{sys.executable}" -I -S "{TESTS / "prefork.py"}" "{command_socket}" "$@"',
        "gh": f'exec "{sys.executable}" "{TESTS / "fake_gh.py"}" "$@"',
        "buildkite-agent": 'if [ "$1" = artifact ]; then cp -r "$ARTIFACTS/." "$4"; else cat > annotation.md; fi',
    }
    programs["nox"] = 'echo "$@" > nox.log'
    for name in ("python", "python3"):
        programs[name] = 'echo "$@" >> "$PIP_LOG"; [ "$1 $2 $3" = "-m pip install" ]'
    for name, script in programs.items():
        (folder / name).write_text(f"#!/bin/bash\n{script}\n")
        (folder / name).chmod(0o755)
    return Desk(tmp_path, folder)


def cell(case, **changes):
    words = {
        "target": "sm_90",
        "lane": "compile",
        "mode": "bare",
        "kernel": "softmax",
        "case": case,
        "config": "",
    }
    return {"case": {**words, "outcome": "pass", "seconds": 0.1, **changes}}


class Desk:
    """As much of a CI as these files need: jobs with folders of their own, and artifacts between them."""

    def __init__(self, folder: Path, programs: Path):
        self.folder, self.artifacts, self.state = folder, folder / "artifacts", folder / "github"
        self.environ = {
            **os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "GH_STATE": str(self.state),
            "FAKE_SCRIPT": str(folder / "script.json"), "ARTIFACTS": str(self.artifacts),
            "PIP_LOG": str(folder / "pip.log"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }  # fmt: skip
        # What a checkout holds beside the kernels.
        self.files: dict[str, str] = {}
        for name in ("artifacts", "github"):
            (folder / name).mkdir()
        red = {
            "outcome": "crash",
            "fingerprint": "SIGABRT: never seen",
            "message": "<script> @someone",
        }
        script = {}
        for column in COLUMNS:
            version = {"triton": column.removeprefix("triton-")}
            script[column] = [
                {"event": "session", "lane": "compile", "versions": version, "planned": 0},
                *map(cell, "abcd"),
                cell("e", **(red if column == COLUMNS[1] else {})),
            ]
        (folder / "script.json").write_text(json.dumps(script))

    def job(self, name: str) -> Path:
        home = self.folder / "jobs" / name
        (home / "my_kernels").mkdir(parents=True)
        (home / "my_kernels" / "softmax.py").write_text("KERNEL = 1\n")
        for path, text in self.files.items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text(text)
        return home

    def shell(self, script: str, home: Path, environ) -> int:
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script], cwd=home, env={**self.environ, **environ},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode

    def keep(self, name: str, home: Path, path: str) -> None:
        """As upload-artifact does: a file by its name, a folder by what is in it."""
        source = home / path
        assert source.exists(), f"{name}: there is no {path}"
        target = self.artifacts / name
        shutil.rmtree(target, ignore_errors=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            target.mkdir()
            shutil.copy(source, target)


class Github:
    """Runs the steps of a job as Actions does: a failed step skips those that do not say `!cancelled()`."""

    def __init__(self, desk: Desk, context):
        self.desk, self.context = desk, context

    def value(self, text, context):
        def one(match):
            return str(self.look(match[1], context))

        return EXPRESSION.sub(one, str(text))

    def look(self, expression, context):
        for part in (part.strip() for part in expression.split("||")):
            value = part.strip("'") if part.startswith("'") else context[part]
            if value:
                return value
        return ""

    def true(self, condition, context, home=None):
        words = (
            EXPRESSION.sub(r"\1", condition).replace("!cancelled()", "True").replace("&&", "and")
        )
        words = re.sub(
            r"hashFiles\('(.*?)'\)", lambda m: repr("x" * (home / m[1]).is_file()), words
        )
        names = re.compile(r"(?<!['\w])[a-z]\w*(?:\.[\w-]+)+")
        return eval(names.sub(lambda m: repr(context[m[0]]), words))

    def steps(self, name, steps, environ, context):
        """The exit status of each step that ran, by its name or action."""
        home, ended, failed = self.desk.job(name), {}, False
        output, told = home / "output", home / "summary"
        context = {**self.context, **context}
        for step in steps:
            ours = step.get("if", "")
            if (failed and "!cancelled()" not in ours) or (
                ours and not self.true(ours, context, home)
            ):
                continue
            what = step.get("name") or step["uses"].partition("@")[0]
            options = {
                key: self.value(value, context) for key, value in step.get("with", {}).items()
            }
            if "run" in step:
                mine = {**environ, **step.get("env", {})}
                mine = {key: self.value(value, context) for key, value in mine.items()}
                mine.update(
                    GITHUB_OUTPUT=str(output),
                    GITHUB_STEP_SUMMARY=str(told),
                    GITHUB_ACTION_PATH=str(ROOT),
                )
                ended[what] = self.desk.shell(step["run"], home, mine)
                context.update(self._outputs(step, output))
                failed = failed or ended[what] != 0
            elif what == "actions/cache":
                self.cached = options
            elif what == "actions/upload-artifact":
                self.desk.keep(options["name"], home, options["path"])
            elif what == "actions/upload-pages-artifact":
                self.desk.keep("pages", home, options["path"])
            elif what == "actions/download-artifact":
                for found in sorted(self.desk.artifacts.glob(options["pattern"])):
                    shutil.copytree(found, home / options["path"], dirs_exist_ok=True)
            else:
                assert what in ("actions/checkout", "actions/setup-python"), what
        return ended, home

    def _outputs(self, step, output):
        """What a step with an id said for the later ones; each is given its own file, and this one is shared."""
        lines = output.read_text().splitlines() if "id" in step and output.exists() else []
        pairs = (line.partition("=") for line in lines)
        return {f"steps.{step['id']}.outputs.{name}": value for name, _, value in pairs}


CONTEXT = {
    "inputs.options": "--suite my_kernels --columns triton-3.2.0,triton-3.9.0 --lanes compile --shards 2",
    "inputs.command": "run", "inputs.crosswarp": "",
    "inputs.environments": "remove", "inputs.baseline": "",
    "inputs.report": "crosswarp-report", "inputs.comment": "7", "inputs.python-version": "3.11",
    "github.server_url": "https://example.org", "github.repository": "owner/name", "github.run_id": "11",
    "github.token": "token", "github.event_name": "pull_request", "github.event.pull_request.number": "7",
    "github.event.pull_request.head.repo.full_name": "owner/name",
}  # fmt: skip


def test_the_whole_workflow(desk):
    workflow = loaded(WORKFLOW)
    environ, jobs = workflow["env"], workflow["jobs"]
    github = Github(desk, CONTEXT)
    ended, home = github.steps("plan", jobs["plan"]["steps"], environ, {})
    assert set(ended.values()) == {0}
    (line,) = (home / "output").read_text().splitlines()
    statuses = {}
    for job in json.loads(line.removeprefix("matrix="))["include"]:
        context = {f"matrix.{name}": value for name, value in job.items()}
        ended, _ = github.steps(job["name"], jobs["run"]["steps"], environ, context)
        statuses[job["name"]] = ended["Run"]
    # The red case is the first shard's.
    assert statuses == {
        "triton-3.2.0-1-of-2": 0, "triton-3.2.0-2-of-2": 0, "triton-3.9.0-1-of-2": 1, "triton-3.9.0-2-of-2": 0,
    }  # fmt: skip

    ended, home = github.steps("report", jobs["report"]["steps"], environ, {})
    assert ended == {"Install": 0, "Merge": 1, "Report": 0, "Comment": 0}
    with Store(home / "merged" / "store.db") as store:
        assert (store.run().status, store.run().cells) == ("finished", 10)
    told = (home / "summary").read_text("utf-8")
    assert told.startswith("### ❌ crosswarp: 1 regressed · 9 ok")
    assert "[The whole report](https://example.org/owner/name/actions/runs/11)" in told
    (comment,) = desk.state.glob("comment-*")
    assert told in comment.read_text("utf-8")
    assert (desk.artifacts / "pages" / "index.html").is_file()
    assert (desk.artifacts / "pages" / "badges" / "columns" / "triton-3.9.0.svg").is_file()
    kept = {path.name for path in (desk.artifacts / "report").iterdir()}
    assert kept >= {"store.db", "junit.xml", "report.json"}
    assert ElementTree.parse(home / "merged" / "junit.xml").getroot().get("failures") == "1"
    assert not list(desk.state.glob("issue-*"))
    assert (
        Path(desk.environ["PIP_LOG"]).read_text().splitlines() == ["-m pip install .[matrix]"] * 6
    )

    nightly = Github(desk, {**CONTEXT, "github.event_name": "schedule"})
    ended, home = nightly.steps("nightly", jobs["report"]["steps"], environ, {})
    assert ended == {"Install": 0, "Merge": 1, "Report": 0, "Open issues": 0}
    (issue,) = desk.state.glob("issue-*")
    assert issue.read_text("utf-8").startswith(
        "softmax on triton-3.9.0: crash: SIGABRT: never seen\n"
    )
    assert len(list(desk.state.glob("comment-*"))) == 1


def test_what_is_committed_is_compared_with(desk, tmp_path):
    workflow = loaded(WORKFLOW)
    environ, jobs = workflow["env"], workflow["jobs"]
    github = Github(
        desk, {**CONTEXT, "inputs.options": CONTEXT["inputs.options"].replace(" --shards 2", "")}
    )
    _, home = github.steps("plan", jobs["plan"]["steps"], environ, {})
    for job in json.loads((home / "output").read_text().removeprefix("matrix="))["include"]:
        context = {f"matrix.{name}": value for name, value in job.items()}
        github.steps(job["name"], jobs["run"]["steps"], environ, context)
    # crosswarp's own repository is told by a file that no other has.
    desk.files["matrix/facts/issues.toml"] = ""
    records = []
    for path in desk.artifacts.glob("part-triton-*/*.db"):
        with Store(path) as store:
            records += store.records(store.run().id)
    assert len(records) == 10
    green = [replace(record, outcome="pass", fingerprint="") for record in records]
    for number, (committed, status, said) in enumerate(
        [(records, 0, "Nothing regressed"), (green, 1, "Worse: 1 cells (exit 1).")]
    ):
        desk.files["baseline/all.json"] = baseline.dumped(committed)
        ended, home = github.steps(f"report{number}", jobs["report"]["steps"], environ, {})
        assert ended["Compare"] == status
        assert ended["Documentation"] == 0
        assert (home / "nox.log").read_text() == "-s docs-site -- --matrix site --out site\n"
        assert ended["Comment on what is new"] == 0 and "Comment" not in ended
        assert said in (home / "summary").read_text("utf-8")


def test_a_fork_gets_no_comment(desk):
    """With a baseline or without: of the two steps one is for each."""
    steps = loaded(WORKFLOW)["jobs"]["report"]["steps"]
    named = {step.get("name"): step["if"] for step in steps if "if" in step}
    github, bare = Github(desk, CONTEXT), desk.job("bare")
    desk.files["baseline/all.json"] = "{}"
    for name, home in (("Comment", bare), ("Comment on what is new", desk.job("with"))):
        assert github.true(named[name], CONTEXT, home)
        fork = {**CONTEXT, "github.event.pull_request.head.repo.full_name": "fork/name"}
        assert not github.true(named[name], fork, home)
        assert not github.true(named[name], {**CONTEXT, "github.event_name": "push"}, home)
        other = "Comment" if name != "Comment" else "Comment on what is new"
        assert not github.true(named[other], CONTEXT, home)


def test_the_action_in_one_job(desk):
    options = "--suite my_kernels --columns triton-3.2.0,triton-3.9.0 --lanes compile"
    github = Github(desk, {**CONTEXT, "inputs.options": options})
    ended, home = github.steps("action", loaded(ACTION)["runs"]["steps"], {"GH_TOKEN": "token"}, {})
    assert ended == {"Install": 0, "Run": 1, "Report": 0, "Outputs": 0, "Comment": 0}
    said = dict(line.split("=", 1) for line in (home / "output").read_text().splitlines())
    assert said == {"red": "1", "regressed": "1", "page": "crosswarp-report/site/index.html"}
    assert (home / said["page"]).is_file()
    kept = desk.artifacts / "crosswarp-report"
    for name in ("store.db", "junit.xml", "site/index.html", "site/badges/all.svg"):
        assert (kept / name).is_file()
    assert "1 regressed" in (home / "summary").read_text("utf-8")
    assert f"-m pip install {ROOT}[matrix]" in Path(desk.environ["PIP_LOG"]).read_text()


def test_the_action_is_fit_for_the_marketplace():
    action = loaded(ACTION)
    assert set(action["branding"]) == {"icon", "color"}
    assert 10 < len(action["name"]) < 40 and len(action["description"]) <= 125
    steps = {step.get("id"): step for step in action["runs"]["steps"]}
    for name, output in action["outputs"].items():
        assert output["value"] == f"${{{{ steps.outputs.outputs.{name} }}}}"
    assert "crosswarp github outputs" in steps["outputs"]["run"]


def test_the_action_caches_environments_by_their_lock(desk):
    context = {**CONTEXT, "inputs.environments": "keep"}
    keys = []
    for number, columns in enumerate(("triton-3.2.0", "triton-3.2.0", "triton-3.9.0")):
        options = f"--suite my_kernels --columns {columns} --lanes compile"
        github = Github(desk, {**context, "inputs.options": options})
        steps = loaded(ACTION)["runs"]["steps"]
        github.steps(
            f"keep{number}", steps[: 1 + [s.get("name") for s in steps].index("Key") + 1], {}, {}
        )
        assert github.cached["path"] == ".crosswarp/envs"
        keys.append(github.cached["key"])
    assert keys[0] == keys[1] != keys[2]
    assert all(re.fullmatch(r"crosswarp-[0-9a-f]{32}", key) for key in keys)


def test_a_comment_starts_with_what_is_new(desk):
    """Since a baseline that is not there, one in which the red case was green, and one that held it already."""
    script = json.loads((desk.folder / "script.json").read_text())
    home = desk.job("since")
    (step,) = [s for s in loaded(ACTION)["runs"]["steps"] if s.get("name") == "Comment"]
    environ = {
        "REPORT": "report",
        "PULL_REQUEST": "7",
        "LINK": "",
        "GH_TOKEN": "token",
        "BASELINE": "b.json",
    }
    run = f"crosswarp run --suite my_kernels --columns {','.join(script)} --lanes compile --store report/store.db"
    assert desk.shell(run, home, {}) == 1
    with Store(home / "report" / "store.db") as store:
        records = store.records(store.run().id)
    green = [replace(record, outcome="pass", fingerprint="") for record in records]
    for committed, title, first in (
        (None, "1 regressed", "not compared with `b.json`"),
        (green, "1 newly failing · 1 regressed", "**Newly failing since `b.json`**"),
        (records, "nothing new · 1 regressed", "**What is new**"),
    ):
        if committed:
            (home / "b.json").write_text(baseline.dumped(committed))
        assert desk.shell(step["run"], home, environ) == 0
        (comment,) = desk.state.glob("comment-*")
        text = comment.read_text("utf-8")
        assert f"### ❌ crosswarp: {title}" in text and first in "".join(text.split("\n\n")[2:4])


def test_a_new_release_that_turns_something_red_opens_an_issue(desk):
    workflow = loaded(RELEASES)
    (job,) = workflow["jobs"].values()
    looking = Github(desk, {**CONTEXT, "steps.look.outputs.columns": ""})
    steps = [step for step in job["steps"] if step.get("name") != "Look"]
    environ = {**workflow["env"], "OPTIONS": "--suite my_kernels --lanes compile"}
    ended, _ = looking.steps("nothing", steps, environ, {})
    assert ended == {"Install": 0}
    found = Github(desk, {**CONTEXT, "steps.look.outputs.columns": "triton-3.9.0"})
    ended, home = found.steps("first", steps, environ, {})
    assert ended == {"Install": 0, "Run": 1, "Report": 0, "Open issues": 0}
    assert (desk.artifacts / "new-releases" / "site" / "index.html").is_file()
    again = steps[-1]["run"]
    assert desk.shell(again, home, {"GH_TOKEN": "token", "LINK": ""}) == 0
    # The second time it is there.
    (issue,) = desk.state.glob("issue-*")
    assert issue.read_text("utf-8").startswith("softmax on triton-3.9.0: crash")
    assert job["permissions"] == {"contents": "read", "issues": "write"}
    assert workflow["permissions"] == {"contents": "read"}


def test_the_action_tests_a_library(desk):
    """The command is one of crosswarp's own, whatever it is given, and its options are its."""
    (step,) = [s for s in loaded(ACTION)["runs"]["steps"] if s.get("name") == "Run"]
    home = desk.job("library")
    environ = {"COMMAND": "test", "OPTIONS": "--help", "REPORT": "report", "ENVIRONMENTS": "keep"}
    assert desk.shell(f"{step['run'].rstrip()} > told", home, environ) == 0
    assert "own GPU tests, unchanged" in " ".join((home / "told").read_text().split())
    assert desk.shell(step["run"], home, {**environ, "COMMAND": "test; touch gone"}) == 2
    assert not (home / "gone").exists()


def test_gitlab(desk):
    document = loaded(EXAMPLES / "gitlab-ci.yml")
    before = document["default"]["before_script"]
    (axes,) = document["run"]["parallel"]["matrix"]
    statuses, home = [], desk.job("gitlab")
    for column in axes["COLUMN"]:
        for shard in axes["SHARD"]:
            script = "\n".join([*before, *document["run"]["script"]])
            environ = {"COLUMN": column, "SHARD": shard, "CI_JOB_ID": str(len(statuses))}
            statuses.append(desk.shell(f"{script} --lanes compile", home, environ))
    assert statuses == [0, 0, 1, 0]
    assert desk.shell("\n".join([*before, *document["report"]["script"]]), home, {}) == 1
    for line in document["report"]["after_script"]:
        assert desk.shell(line, home, {}) == 0
    assert (home / "merged" / "junit.xml").is_file() and (
        home / "public" / "badges" / "all.svg"
    ).is_file()
    for path in [
        *document["report"]["artifacts"]["paths"],
        document["report"]["artifacts"]["reports"]["junit"],
    ]:
        assert (home / path).exists()


def test_buildkite(desk):
    run, merge, report = loaded(EXAMPLES / "buildkite.yml")["steps"]
    axes, statuses = run["matrix"]["setup"], []

    def commands(step, **words):
        text = "\n".join(step["command"]).replace("$$", "$")
        return re.sub(r"\{\{matrix\.(\w+)\}\}", lambda m: words[m[1]], text)

    environ = {"CROSSWARP": "crosswarp"}
    for column in axes["column"]:
        for shard in axes["shard"]:
            home = desk.job(f"job{len(statuses)}")
            script = f"{commands(run, column=column, shard=shard)} --lanes compile"
            statuses.append(
                desk.shell(script, home, {**environ, "BUILDKITE_JOB_ID": str(len(statuses))})
            )
            shutil.copytree(home / "part", desk.artifacts / "part", dirs_exist_ok=True)
    assert statuses == [0, 0, 1, 0]
    home = desk.job("merge")
    assert desk.shell(commands(merge), home, environ) == 1
    shutil.copytree(home / "merged", desk.artifacts / "merged")
    home = desk.job("report")
    assert desk.shell(commands(report), home, environ) == 0
    assert "1 regressed" in (home / "annotation.md").read_text("utf-8")
    assert (home / "site" / "badges" / "all.svg").is_file()


def test_what_our_own_workflow_runs_can_be_planned(command):
    ((default,),) = [re.findall(r"'(.*)'", loaded(WORKFLOW)["env"]["OPTIONS"])]
    status, text, said = command("plan", *default.split(), "--format", "github")
    assert status == 0, said
    assert len(json.loads(text)["include"]) == 24


def test_no_logic_in_the_shell():
    for line in scripts():
        assert ALLOWED.match(line), line
        # What an event holds, such as the title of a pull request, never becomes part of a script.
        assert "${{" not in line


def test_the_jobs_are_bounded():
    workflow = loaded(WORKFLOW)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) < set(workflow["jobs"])
        writes = {right for right, what in job.get("permissions", {}).items() if what == "write"}
        assert writes <= {
            "report": {"issues", "pull-requests"},
            "publish": {"pages", "id-token"},
        }.get(name, set())


def test_every_action_is_pinned_to_a_commit():
    """A tag can be moved to other code; a commit cannot. Its release stands behind it, for who comes to raise it."""
    folder, pins = WORKFLOW.parent, {}
    files = [*folder.iterdir(), ACTION, *EXAMPLES.iterdir(), ROOT / "README.md"]
    for path in files:
        for used, release in re.findall(r"uses: *(\S+) *(.*)", path.read_text("utf-8")):
            action, _, commit = used.partition("@")
            if action.startswith("OWNER/crosswarp") and path.parent != folder and path != ACTION:
                # Ours, of which nobody knows yet who hosts it, nor the commit that its user has looked at.
                assert commit == "COMMIT" and "full SHA" in release, (path, used)
                continue
            assert re.fullmatch(r"actions/[a-z-]+", action), (path, used)
            assert re.fullmatch(r"[0-9a-f]{40}", commit), (path, used)
            assert re.fullmatch(r"# v\d+\.\d+\.\d+", release), (path, used)
            assert pins.setdefault(action, (commit, release)) == (commit, release), (path, used)
    assert len(pins) == 7
    # What is installed from a repository is a commit as well.
    for path in files:
        assert not re.search(r"OWNER/crosswarp\S*@(?!COMMIT)", path.read_text("utf-8")), path


def test_the_examples_call_what_is_there():
    (small,) = loaded(EXAMPLES / "github.yml")["jobs"].values()
    assert set(small["steps"][-1]["with"]) <= set(loaded(ACTION)["inputs"])
    (large,) = loaded(EXAMPLES / "github-fan-out.yml")["jobs"].values()
    assert set(large["with"]) == set(loaded(WORKFLOW)["on"]["workflow_call"]["inputs"])
    (new,) = loaded(EXAMPLES / "github-releases.yml")["jobs"].values()
    assert set(new["with"]) == set(loaded(RELEASES)["on"]["workflow_call"]["inputs"])
    lines = [
        line
        for line in (EXAMPLES / "github.yml").read_text().splitlines()
        if not line.startswith("#")
    ]
    assert len(lines) <= 10
