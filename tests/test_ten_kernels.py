"""Ten kernels of a user that fail for ten reasons on Triton 3.9.0: each fails her run, with its owner and next step.

They are texts here, because one is no Python and one imports what is not installed. `write(folder)` makes a suite.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parent.parent
WORK = Path(os.environ.get("CROSSWARP_TEST_WORK") or ROOT / ".crosswarp")
_FILE = '''"""{doc}"""

import torch
import triton
import triton.language as tl
{imports}
from crosswarp.kernels.case import Case, Kernel


@triton.jit
def kernel(x, y, z, n, BLOCK: tl.constexpr):
{body}


def launch(x):
    y = torch.empty_like(x)
    kernel[(1,)](x, y, torch.zeros_like(x), x.numel(), BLOCK=128, num_stages={stages})
    return {{"y": y}}


def reference(x):
    return {{"y": x.double() * 2}}


def inputs(case, device, generator):
    return {{"x": torch.randn(100, generator=generator).to(device)}}


KERNEL = Kernel(
    name="{name}",
    cases=(Case("a", "fp32", {{}}, lanes=("{lane}",), targets=("{target}",)),),
    inputs=inputs,
    launch=launch,
    reference=reference,
    tolerance={{"fp32": 1e-6}},
)
'''
_DOUBLED = """    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * {}, mask=i < n)"""
_TILES = """    k, m, c = tl.arange(0, BLOCK), tl.arange(0, {m}), tl.arange(0, {n})
    a = tl.load(x + m[:, None] * BLOCK + k[None, :])
    out = tl.zeros(({m}, {n}), tl.float32)
    for start in range(n):
        b = tl.load(x + start + k[:, None] * {n} + c[None, :])
        out = tl.dot(a, b, out)
    tl.store(y + m[:, None] * {n} + c[None, :], out)"""
# Name -> what it is about, the kernel's body, and where it fails. As they are on Triton 3.9.0.
_KERNELS = {
    "removed_api": (
        "Triton 3.9 removed block pointers, and a shim brings them back.",
        """    i = tl.arange(0, BLOCK)
    block = tl.make_block_ptr(x, (n,), (1,), (0,), (BLOCK,), (0,))
    tl.store(y + i, tl.load(block, boundary_check=(0,)) * 2, mask=i < n)""",
    ),
    "shared_memory": ("More shared memory than an H100 has.", _TILES.format(m=128, n=128)),
    "syntax": ("A colon is missing.", _DOUBLED.format(2)),
    "undefined_name": ("Nobody defines it.", _DOUBLED.format("factor")),
    "missing_package": ("It is not installed.", _DOUBLED.format(2)),
    "known_crash": (
        "AMD's pass refuses a choice between a small tensor and a loaded pointer (triton-9859); a shim compiles it.",
        """    i = tl.arange(0, BLOCK)
    if n > 0:
        source = x
    else:
        source = tl.load(z.to(tl.pointer_type(tl.int64))).to(tl.pointer_type(tl.float32))
    tl.store(y + i, tl.load(source + i))""",
    ),
    "unknown_crash": (
        "The compiler dies of a constraint that LLVM cannot read.",
        """    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    v = tl.inline_asm_elementwise("mov.f32 $0, $1;", "=f,~", [v], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(y + i, v, mask=i < n)""",
    ),
    "wrong_numbers": ("Three where the reference has two.", _DOUBLED.format(3)),
    "hang": (
        "A loop without an end.",
        """    i = tl.arange(0, BLOCK)
    left = n
    while left > 0:
        tl.store(y, left)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)""",
    ),
    "amd_limit": ("More than the 64 KB of an MI300X.", _TILES.format(m=64, n=256)),
}
NAMES = tuple(_KERNELS)
# Those that pass with compat on 3.9.0.
FIXED = ("removed_api", "known_crash")


def write(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, (doc, body) in _KERNELS.items():
        text = _FILE.format(
            name=name, doc=doc, body=body,
            imports="import einops_of_nobody\n" if name == "missing_package" else "",
            stages=1 if name == "amd_limit" else 3,
            lane="emulate" if name in ("wrong_numbers", "hang") else "compile",
            target="gfx942" if name in ("known_crash", "amd_limit") else "sm_90",
        )  # fmt: skip
        if name == "syntax":
            text = text.replace("tl.constexpr):", "tl.constexpr)")
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


SAID = {
    "removed_api": "Triton: known issue triton-10833",
    "shared_memory": "your kernel: too large for sm_90: smaller blocks",
    "syntax": "your kernel: correct its syntax",
    "undefined_name": "your kernel: define factor",
    "missing_package": "your environment: pip install einops_of_nobody",
    "known_crash": "Triton: known issue triton-9859",
    "unknown_crash": "Triton: its compiler dies: no known issue is like it, so report it upstream",
    "wrong_numbers": "your kernel: its numbers differ from its reference",
    "hang": "your kernel: it does not end",
    "amd_limit": "your kernel: too large for gfx942: smaller blocks",
}


def crosswarp(folder, *arguments):
    command = [sys.executable, "-m", "crosswarp.reports.cli", *arguments, "--store", "s.db"]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=900, check=False, cwd=folder
    )


def run(folder, names, modes):
    """The exit status of a run of these kernels alone, its output, and its cells."""
    where = ("--columns", "triton-3.9.0", "--targets", "sm_90,gfx942", "--work", str(WORK))
    what = ("--suite", "mine", "--kernels", ",".join(names), "--modes", modes)
    # One worker: each imports torch, and one of the kernels computes until its time is over.
    how = (
        "--lanes",
        "compile,emulate",
        "--time-limit",
        "12",
        "--time-limit-alone",
        "0",
        "--jobs",
        "1",
    )
    done = crosswarp(folder, "run", *what, *where, *how)
    report = crosswarp(folder, "report", "--format", "json")
    assert report.returncode == 0, done.stdout + done.stderr + report.stderr
    return done.returncode, done.stdout, json.loads(report.stdout)["cells"]


@pytest.fixture(scope="module")
def hers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hers")
    write(folder / "mine")
    return folder


def test_each_fails_with_its_owner_and_the_next_step(hers):
    status, said, cells = run(hers, NAMES, "bare")
    assert status == 1, said
    failed = {one["kernel"] for one in cells if one["outcome"] not in ("pass", "not-run")}
    assert failed == set(NAMES)
    shown = [line.strip() for line in said.splitlines()]
    for name, line in SAID.items():
        assert any(one.startswith(line) for one in shown), (name, shown)


def test_what_a_shim_fixes_passes_where_her_settings_install_compat(hers):
    (hers / "crosswarp.toml").write_text("compat = true\n")
    try:
        status, said, _ = run(hers, FIXED, "*")
    finally:
        (hers / "crosswarp.toml").unlink()
    assert status == 0, said
