"""The commands: one module each with one face, loaded when it is asked for."""

from __future__ import annotations

import argparse
import inspect
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from crosswarp import compat, laboratory
from crosswarp.reports import cli

FOLDERS = tuple(Path(home.__file__).parent / "commands" for home in (cli, laboratory))


def test_every_command_is_one_module_with_the_same_face():
    files = [path for folder in FOLDERS for path in folder.glob("*.py")]
    named = {path.stem for path in files if "\ndef add(" in path.read_text("utf-8")}
    assert named == set(cli.COMMANDS)
    for name in cli.COMMANDS:
        command = cli.load(name)
        assert command.DESCRIPTION.endswith((".", "..."))
        parser = argparse.ArgumentParser(exit_on_error=False)
        command.add(parser)
        assert list(inspect.signature(command.run).parameters) == ["options", "argv"]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_examples_of_its_help_are_command_lines_that_are_understood(name, capsys):
    parser = cli.parser()
    examples = cli.load(name).EXAMPLES
    assert examples
    for example in examples:
        # What stands before it on a line, and what a shell would do to it, is not ours.
        words = shlex.split(example)
        mine = words[words.index("crosswarp") + 1 :]
        assert parser.parse_args(mine).command == name
    with pytest.raises(SystemExit):
        parser.parse_args([name, "--help"])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    whole = out.replace(" \\\n      ", " ")
    assert all(f"\n  {example}\n" in f"{whole}\n" for example in examples)


@pytest.mark.parametrize(
    ("missing", "arguments", "status"),
    [
        ("pydantic", ["columns"], 2),
        ("tabulate", ["runs"], 2),
        ("jinja2", ["report"], 2),
        ("tomllib", ["columns"], 2),
        ("tabulate", ["bisect", "softmax", "--here"], 125),
    ],
)
def test_a_library_that_is_missing_is_named(missing, arguments, status):
    code = (
        f"import sys; sys.modules[{missing!r}] = None; from crosswarp.reports import cli; "
        f"sys.exit(cli.main({arguments}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == status and not done.stdout
    assert missing in done.stderr and 'pip install "crosswarp[matrix]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_host_side_the_help_has_what_is_there_and_the_doctor_examines():
    code = (
        "import sys; sys.modules['pydantic'] = None; from crosswarp.reports import cli\n"
        "print(cli.main(['doctor', '--json']))\n"
        "cli.main(['--help'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"schema": 2' in done.stdout
    assert "This is the small install" in done.stdout and "\n  diff " in done.stdout
    assert 'pip install "crosswarp[matrix]"' in " ".join(done.stdout.split())


def test_the_help_of_all_loads_no_command_and_fits_a_terminal():
    code = (
        "import sys; from crosswarp.reports import cli; cli.main(['--help']);"
        "print(sorted(n for n in sys.modules if n == 'pydantic' or n.startswith('crosswarp.reports.commands')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *shown, loaded = done.stdout.splitlines()
    assert loaded == "[]"
    assert max(map(len, shown)) <= 80
    assert {line.split()[0] for line in shown if line.startswith("  ")} >= set(cli.COMMANDS)
    assert not any("small install" in line for line in shown)


def test_a_misspelled_option_is_answered_with_the_closest(capsys):
    for argument, answer in (
        ("--kernals", "Did you mean --kernels?"),
        ("--tragets=x", "Did you mean --targets?"),
        ("--zebra", "--zebra\n"),
    ):
        with pytest.raises(SystemExit) as stopped:
            cli.main(["range", argument])
        assert stopped.value.code == 2 and answer in capsys.readouterr().err


def test_without_the_laboratory_its_commands_say_where_they_are():
    code = (
        "import sys; sys.modules['crosswarp.laboratory'] = None; from crosswarp.reports import cli\n"
        "cli.main(['--help']); sys.exit(cli.main(['fuzz', '--seed', '1']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "fuzz is for crosswarp's developers" in done.stderr
    assert 'In a checkout of crosswarp, install it: pip install -e ".[fuzz]"' in done.stderr
    assert "\n  columns " in done.stdout and "\n  runs " in done.stdout
    assert not [name for name in ("docs", "fuzz", "libraries") if f"\n  {name} " in done.stdout]


def test_what_another_extra_brings_is_named():
    code = (
        "import sys; sys.modules['hypothesis'] = None; from crosswarp.reports import cli; "
        "sys.exit(cli.main(['fuzz', '--help']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and 'pip install -e ".[fuzz]"' in done.stderr


class _Unforeseen(argparse.Namespace):
    DESCRIPTION = "Fails."
    EXAMPLES = ()

    def add(self, parser):
        pass

    def run(self, options, argv):
        raise KeyError("\x1b[31m\udcff" + "y" * 9000)


@pytest.mark.parametrize(("arguments", "status"), [(["runs"], 70), (["bisect", "--here"], 125)])
def test_an_exception_that_nobody_foresaw_is_one_line_and_a_file(
    capsys, monkeypatch, tmp_path, arguments, status
):
    monkeypatch.setattr(cli, "load", lambda name: _Unforeseen())
    monkeypatch.setattr(cli, "_parser", lambda commands: _any_arguments(arguments[0]))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    got = cli.main([*arguments])
    out, err = capsys.readouterr()
    assert (got, out, err.count("\n")) == (status, "", 1)
    assert err.startswith("crosswarp: internal error at test_commands.py:") and len(err) < 600
    assert "\x1b" not in err
    (log,) = tmp_path.glob("crosswarp-error-*.log")
    assert err.rstrip().endswith(str(log))
    assert "Traceback (most recent call last)" in log.read_text("utf-8")


def _any_arguments(name):
    parser = argparse.ArgumentParser()
    parser.set_defaults(command=name)
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    return parser


@pytest.mark.parametrize(
    ("path", "why"),
    [("x" * 5000, "File name too long"), ("a\0b", "null"), ("/" + "d/" * 3000, "too long")],
)
def test_a_path_that_no_file_can_have_is_a_mistake_of_usage(command, path, why):
    status, out, err = command("report", "--store", path)
    assert status == 2 and not out and why in err and "--store" in err


def test_a_name_that_is_no_text_is_shown(tmp_path):
    words = [sys.executable, "-m", "crosswarp.reports.cli", "report", "--store", b"\xff.db"]
    done = subprocess.run(words, capture_output=True, cwd=tmp_path, check=False)
    assert done.returncode == 4 and b"there is no store" in done.stderr


def test_a_mistyped_command_is_answered_with_the_likeliest(command):
    status, _, err = command("repot")
    assert status == 2 and "Did you mean report or reproduce?" in err
    status, _, err = command("\x1b[31mnothing like it")
    assert status == 2 and "\x1b" not in err and "Did you mean" not in err


def test_a_shell_completes_commands_options_and_choices(command, tmp_path):
    status, script, _ = command("--print-completion", "bash")
    assert status == 0
    (tmp_path / "completion.sh").write_text(script)
    ask = textwrap.dedent("""\
        source completion.sh
        complete_for() {
            COMP_WORDS=(crosswarp "$@"); COMP_CWORD=$#; COMPREPLY=()
            _shtab_crosswarp; printf '%s ' "${COMPREPLY[@]}"; echo
        }
        complete_for re; complete_for diff --fo; complete_for diff --format m
    """)
    done = subprocess.run(
        ["bash", "-c", ask], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert [set(line.split()) for line in done.stdout.splitlines()] == [
        {"report", "reproduce"}, {"--format"}, {"markdown"}
    ], done.stderr  # fmt: skip


def test_the_version_is_that_of_the_shims(command):
    assert command("--version")[:2] == (0, f"crosswarp {compat.__version__}\n")


def test_a_command_loads_what_it_needs_and_no_other():
    code = (
        "import sys; from crosswarp.reports import cli; cli.main(['columns', '--ids']);"
        "print([n for n in ('rich', 'jinja2', 'crosswarp.reports.commands.report') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
