"""The gated-delta-rule kernel on one GPU: bare with each num_warps, with the shim, autotuned with the shim.

K = 256, V tile 64, bf16, T = 8192. Each part runs in a forked child with a CUDA context and caches of its own, so a
compiler that aborts costs one part. Prints a table and the ratios last. With --fla it is the kernel of
flash-linear-attention 0.1 (installed, or first on PYTHONPATH), B = 1, H = 36, K = V = 256, ungated, with the
configurations of 8 warps that the release leaves out on Hopper.
Usage: python tests/bench/gated_delta_rule.py [T, default 8192] [--fla]     (once for each Triton)
"""

import importlib
import importlib.util
import os
import statistics
import sys
import tempfile
import types

import torch
import triton

from crosswarp import compat
from crosswarp.compat.isolate import run_isolated
from crosswarp.kernels import load

FLA = "--fla" in sys.argv[1:]
T = next((int(word) for word in sys.argv[1:] if word.isdigit()), 8192)
SHAPE = {"B": 2, "T": T, "H": 16, "K": 256, "V": 256, "initial": 1}
FLA_SHAPE = {"B": 1, "T": T, "H": 36, "K": 256, "V": 256}
WARPS = (2, 4, 8, 16)
FLA_WARPS = (4, 8)
REPEATS = 30


def made():
    from crosswarp.kernels.case import Case

    kernel = load("chunk_gated_delta_rule")
    case = Case("measured", "bf16", SHAPE)
    generator = torch.Generator(device="cuda").manual_seed(0)
    return kernel, kernel.inputs(case, torch.device("cuda"), generator)


def timed(call):
    for _ in range(5):
        call()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(REPEATS)]
    for start, end in events:
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    times = sorted(start.elapsed_time(end) for start, end in events)
    return statistics.median(times), times[len(times) // 10], times[-len(times) // 10]


def errors(kernel, inputs, outputs):
    """The largest relative error of any output, by norm, and the largest absolute one."""
    inputs, outputs = dict(inputs), dict(outputs)
    # The reference keeps every state in fp64: one batch entry of it is enough.
    one = {name: value[:1] for name, value in inputs.items()}
    expected = kernel.reference(**one)
    relative, absolute = 0.0, 0.0
    for name, value in expected.items():
        difference = outputs[name][:1].double() - value
        relative = max(relative, (difference.norm() / value.norm()).item())
        absolute = max(absolute, difference.abs().max().item())
    return relative, absolute


def part(shimmed, num_warps):
    """One way to run it; num_warps None for autotuned."""
    from crosswarp.kernels.chunk_gated_delta_rule import _state_kernel

    if shimmed:
        compat.install()
    launched = []
    compiler_run = _state_kernel.fn.run

    def run(*args, **kwargs):
        compiled = compiler_run(*args, **kwargs)
        if compiled is not None:
            metadata = compiled.metadata
            launched.append(
                metadata["num_warps"] if isinstance(metadata, dict) else metadata.num_warps
            )
            registers.append(
                (getattr(compiled, "n_regs", None), getattr(compiled, "n_spills", None))
            )
        return compiled

    registers = []
    _state_kernel.fn.run = run
    kernel, inputs = made()
    outputs = kernel.launch(**inputs, num_warps=num_warps)
    found = {"launched": launched[-1], "registers": registers[-1]}
    # Nothing of this script between the launches and the clock.
    del _state_kernel.fn.run
    found["error"], found["absolute"] = errors(kernel, inputs, outputs)
    del outputs
    found["ms"], found["p10"], found["p90"] = timed(
        lambda: kernel.launch(**inputs, num_warps=num_warps)
    )
    found["acted"] = compat.acted()
    if num_warps is None:
        found["timings"] = {
            str(config): str(times)
            for config, times in (getattr(_state_kernel, "configs_timings", None) or {}).items()
        }
    return found


def fla_module():
    """`fla.ops.common.chunk_delta_h` without the packages around it, whose models want a certain transformers."""
    spec = importlib.util.find_spec("fla")
    folder = os.path.dirname(spec.origin)
    for name in ("fla", "fla.ops", "fla.ops.common"):
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(folder, *name.split(".")[1:])]
        sys.modules[name] = package
    return importlib.import_module("fla.ops.common.chunk_delta_h")


def fla_part(shimmed, num_warps):
    """As `part`, of flash-linear-attention's kernel."""
    if shimmed:
        compat.install()
    module = fla_module()
    tuner = module.chunk_gated_delta_rule_fwd_kernel_h.fn
    warps = FLA_WARPS if num_warps is None else (num_warps,)
    tuner.configs = [
        triton.Config({}, num_warps=one, num_stages=stages) for one in warps for stages in (2, 3)
    ]
    generator = torch.Generator(device="cuda").manual_seed(0)
    shape = (FLA_SHAPE["B"], T, FLA_SHAPE["H"], FLA_SHAPE["K"])
    k, w, u = (
        (torch.randn(shape, generator=generator, device="cuda") * scale).to(torch.bfloat16)
        for scale in (0.06, 0.06, 1.0)
    )

    def call():
        return module.chunk_gated_delta_rule_fwd_h(k, w, u, head_first=False)

    states = call()[0]
    found = {"launched": tuner.best_config.num_warps, "registers": tuner.best_config.num_stages}
    found["error"] = found["absolute"] = float("nan")
    if not torch.isfinite(states).all():
        raise RuntimeError("the states are not finite")
    found["ms"], found["p10"], found["p90"] = timed(call)
    found["acted"] = compat.acted()
    return found


def said(label, outcome):
    if outcome.kind == "returned":
        found = outcome.value
        print(
            f"{label:24} {found['ms']:8.3f} ms ({found['p10']:.3f} to {found['p90']:.3f})  launched with"
            f" {found['launched']:2} warps, registers and spills {found['registers']},"
            f" error {found['error']:.2e} relative {found['absolute']:.2e} absolute  {','.join(found['acted'])}",
            flush=True,
        )
        for config, times in found.get("timings", {}).items():
            print(f"{'':24} {config}: {times}")
        return found
    lines = [line for line in outcome.output.splitlines() if "ssert" in line]
    text = (lines or (outcome.raised.text if outcome.raised else "").splitlines() or [""])[0]
    print(f"{label:24} {outcome.kind} {outcome.reason}: {text[:200]}", flush=True)
    return None


def main():
    measured, shape = (fla_part, FLA_SHAPE) if FLA else (part, SHAPE)
    print(f"Triton {triton.__version__}, torch {torch.__version__}, {shape}")
    tried = FLA_WARPS if FLA else WARPS
    parts = [(shimmed, warps) for shimmed in (False, True) for warps in (*tried, None)]
    found = {}
    for shimmed, warps in parts:
        # Caches of its own: nothing is compiled or known to be broken by an earlier part.
        os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
        os.environ["CROSSWARP_CACHE_DIR"] = tempfile.mkdtemp()
        label = f"{'shimmed' if shimmed else 'bare'} {'autotuned' if warps is None else f'num_warps={warps}'}"
        outcome = run_isolated(lambda send, s=shimmed, w=warps: measured(s, w), time_limit=240)
        found[shimmed, warps] = said(label, outcome)
    surviving = {
        warps: found[False, warps]["ms"]
        for warps in tried
        if found[False, warps] and found[False, warps]["launched"] == warps
    }
    print("---")
    if not surviving:
        print("no configuration survives bare")
        return
    best = min(surviving, key=surviving.get)
    print(f"best surviving bare: num_warps={best}, {surviving[best]:.3f} ms")
    for warps in (*tried, None):
        if found[True, warps]:
            label = "autotuned with the shim" if warps is None else f"shimmed num_warps={warps}"
            ratio = found[True, warps]["ms"] / surviving[best]
            print(
                f"{label}: {found[True, warps]['ms']:.3f} ms, launched with {found[True, warps]['launched']} warps,"
                f" {ratio:.3f} of the best surviving bare"
            )
    if found[False, None]:
        print(f"autotuned bare: {found[False, None]['ms']:.3f} ms")


if __name__ == "__main__":
    main()
