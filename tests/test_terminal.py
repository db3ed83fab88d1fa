"""On a terminal: 80 columns, colours and links only where they are wanted and can be shown."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys

import pytest

from crosswarp.matrix.results.record import OUTCOMES
from crosswarp.matrix.results.store import Environment
from crosswarp.reports.text.colour import Terminal, decorated, terminal
from crosswarp.reports.text.summary import summary
from crosswarp.reports.text.table import SIGNS

KITTY = {"TERM": "xterm-kitty"}
PLAIN = {"TERM": "xterm-256color"}
LINK = "\x1b]8;;https://example.org/owner/project/issues/1\x1b\\"


class Tty(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("out", "environ", "able"),
    [
        (Tty(), PLAIN, Terminal(colours=True)),
        (Tty(), KITTY, Terminal(colours=True, links=True)),
        (Tty(), {**KITTY, "NO_COLOR": "1"}, Terminal(links=True)),
        (Tty(), {**KITTY, "NO_COLOR": ""}, Terminal(colours=True, links=True)),
        (Tty(), {**KITTY, "FORCE_HYPERLINK": "0"}, Terminal(colours=True)),
        (Tty(), {**PLAIN, "FORCE_HYPERLINK": "1"}, Terminal(colours=True, links=True)),
        (Tty(), {**PLAIN, "VTE_VERSION": "6800"}, Terminal(colours=True, links=True)),
        (Tty(), {**PLAIN, "VTE_VERSION": "4205"}, Terminal(colours=True)),
        (Tty(), {**PLAIN, "TERM_PROGRAM": "vscode"}, Terminal(colours=True, links=True)),
        (Tty(), {**PLAIN, "TERM_PROGRAM": "Apple_Terminal"}, Terminal(colours=True)),
        (Tty(), {"TERM": "dumb", "FORCE_HYPERLINK": "1"}, Terminal()),
        (Tty(), {}, Terminal()),
        (io.StringIO(), {**KITTY, "FORCE_HYPERLINK": "1"}, Terminal()),
    ],
)
def test_what_a_terminal_can(out, environ, able):
    assert terminal(out, environ) == able


@pytest.fixture
def told(stored, make_record, make_issue):
    """A summary with each of its parts."""
    chunk = {
        "kernel": "chunk",
        "config": "num_warps=8",
        "fingerprint": "reshapeOuts",
        "outcome": "crash",
    }
    records = [
        make_record(outcome="mismatch", fingerprint="wrong"),
        make_record(**chunk), make_record(**{**chunk, "outcome": "pass"}, mode="shimmed", shims=("guard",)),
    ]  # fmt: skip
    return summary(
        stored(records, [make_issue()], code=1, columns=["triton-3.1.0", "triton-3.2.0"]), True
    )


def test_colours_and_links_change_no_character_that_is_read(told):
    able = decorated(told, Terminal(colours=True, links=True))
    assert re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;;.*?\x1b\\", "", able) == told
    assert decorated(told, Terminal()) == told


def test_what_is_wrong_is_red_and_its_link_is_one(told):
    able = decorated(told, Terminal(colours=True, links=True))
    assert "\x1b[1;31mFAILS UNEXPECTEDLY (1 cells)" in able
    assert "\x1b[31mNot as expected" in able
    assert "\x1b[33mMissing:" in able
    assert "    outcome   crash:" not in able and "\x1b[31mmismatch\x1b[0m" in able
    assert f"{LINK}https://example.org/owner/project/issues/1\x1b]8;;\x1b\\\n" in able
    # One end for each beginning, on the same line.
    for line in able.split("\n"):
        assert line.count("\x1b]8;;http") == line.count("\x1b]8;;\x1b")
        assert line.count("\x1b[0m") == len(re.findall(r"\x1b\[[1-9][0-9;]*m", line))


def test_the_end_of_a_sentence_is_no_part_of_a_link():
    able = decorated(
        "see https://example.org/a). and (https://example.org/b?c=d#e),", Terminal(links=True)
    )
    assert re.findall(r"\x1b]8;;(.*?)\x1b\\", able) == [
        "https://example.org/a",
        "",
        "https://example.org/b?c=d#e",
        "",
    ]


def test_the_outcomes_of_a_grid():
    able = decorated("softmax  crash → pass  pass  my pass", Terminal(colours=True))
    assert (
        able == "softmax  \x1b[31mcrash\x1b[0m → \x1b[32mpass\x1b[0m  \x1b[32mpass\x1b[0m  my pass"
    )


def test_80_columns_whatever_a_cell_wrote(hostile_view):
    text = summary(hostile_view)
    assert max(map(len, text.splitlines())) <= 80
    assert len(text) < 20_000


def test_80_columns_with_every_outcome_and_a_long_column(stored, make_record):
    column = "triton-3.10.12+torch-2.15.0rc12"
    records = [
        make_record(column=column, case=f"c{number}", lane=lane, mode=mode, outcome=outcome)
        for lane in ("compile", "interpret")
        for mode in ("bare", "shimmed")
        for number, outcome in enumerate(OUTCOMES * 3)
    ]
    failed = Environment(f"{column}x", column, "failed", "no such wheel " * 20, {}, (), 0.0)
    for code in (0, 1, 2, 3):
        text = summary(stored(records, code=code, environments=[failed]))
        assert max(map(len, text.splitlines())) <= 80
    assert "3 pass, 3 mismatch, 3 api-error" in text


def test_80_columns_with_a_wide_store(stored, make_record, tmp_path):
    """Many releases, several lanes, names longer than their column, every outcome: what the command writes to a
    terminal that is 80 wide, and each sign that it uses is explained."""
    columns = [f"triton-3.{minor}.1" for minor in range(14)] + [
        "triton-3.2.1+torch-2.5.1+numpy-2.0"
    ]
    kernels = ["softmax", "flash_attention_backward_with_descriptors_and_more", "block_pointers"]
    records = [
        make_record(
            column=column, kernel=kernel, lane=lane, target=target, mode=mode,
            outcome=OUTCOMES[(place + number) % len(OUTCOMES)], fingerprint="f", reason="r",
        )
        for place, column in enumerate(columns)
        for number, kernel in enumerate(kernels)
        for lane, target in (("compile", "sm_90"), ("compile", "gfx942"), ("interpret", "cpu"))
        for mode in ("bare", "shimmed")
    ]  # fmt: skip
    stored(records, code=1, columns=columns)
    store = str(tmp_path / "store.db")
    for more in ([], ["-v"]):
        out = on_a_pty(["report", *more, "--store", store], {"TERM": "xterm", "NO_COLOR": "1"})
        assert [line for line in out.splitlines() if len(line) > 80] == []
    grid, _, legend = out.partition("\nSigns: ")
    assert all(f"{SIGNS[outcome]} {outcome}" in " ".join(legend.split()) for outcome in OUTCOMES)
    assert "flash_attention_backward_with_descriptors_and_more\n" in grid
    for command, status in ((["diff", "1:triton-3.0.1", "1:triton-3.13.1"], 1), (["range"], 0)):
        out = on_a_pty([*command, "--store", store], {"TERM": "xterm", "NO_COLOR": "1"}, status)
        assert [line for line in out.splitlines() if len(line) > 80] == []


def on_a_pty(arguments, environ, status=0):
    """What the command line writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "crosswarp.reports.cli", *arguments],
        stdout=theirs, stdin=subprocess.DEVNULL, env={**os.environ, **environ},
    )  # fmt: skip
    os.close(theirs)
    said = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        said += chunk
    os.close(ours)
    assert process.wait() == status
    return said.decode().replace("\r\n", "\n")


def test_the_command_line_on_a_terminal_and_into_a_pipe(told, tmp_path, command):
    known = tmp_path / "issues.toml"
    known.write_text(
        'issue = [{id = "triton-1", title = "aborts", status = "unverified", outcome = "crash", kernels = ["chunk*"],'
        ' checked = "2026-11-21", links = ["https://example.org/owner/project/issues/1"]}]'
    )
    arguments = ["report", "-v", "--store", str(tmp_path / "store.db"), "--issues-file", str(known)]
    _, piped, _ = command(*arguments)
    assert "\x1b" not in piped
    base = {"TERM": "xterm-kitty", "NO_COLOR": "", "FORCE_HYPERLINK": ""}
    coloured = on_a_pty(arguments, base)
    assert "\x1b[31m" in coloured and "\x1b]8;;https" in coloured
    assert "\x1b[" not in on_a_pty(arguments, {**base, "NO_COLOR": "1"})
    assert on_a_pty(arguments, {**base, "TERM": "dumb"}) == piped
    # Every other format is the same everywhere.
    csv = on_a_pty([*arguments, "--format", "csv"], base)
    assert "\x1b" not in csv and "chunk" in csv
