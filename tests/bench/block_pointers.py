"""flash-linear-attention's block-pointer kernels on Triton 3.8 and, with compat, on 3.9: same numbers, at what cost?

    python tests/bench/block_pointers.py --library FOLDER --old FOLDER --new FOLDER [OP ...]

`--library` holds flash-linear-attention 0.3.2 and einops (pip install --no-deps --target), `--old` and `--new` an
unpacked Triton 3.8.0 and 3.9.0. One process for each Triton, both on the same GPU, asked by turns. Prints for each op:
the relative error of its output against fp64 where the op has a short reference (both), the largest relative difference
of outputs and gradients between the two, and the ratio of the medians (CUDA events, forward and backward). An autotuner
chooses among three configurations of each kernel, first, middle and last: the same three on both.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

CONFIGURATIONS = 3
# B, T, H, K, V: odd on purpose, and the size that is timed
SMALL, LARGE = (2, 301, 2, 64, 64), (4, 4096, 16, 128, 128)
ROUNDS, REPEATS = 5, 6


def library(folder):
    """The library's operators without the models that its own __init__ imports."""
    package = types.ModuleType("fla")
    package.__path__ = [f"{folder}/fla"]
    sys.path.append(folder)
    sys.modules["fla"] = package


def fewer_configurations():
    from triton.runtime.autotuner import Autotuner

    own = Autotuner.__init__

    def init(self, *args, **kwargs):
        own(self, *args, **kwargs)
        last = len(self.configs) - 1
        chosen = sorted({round(i * last / (CONFIGURATIONS - 1)) for i in range(CONFIGURATIONS)})
        self.configs = [self.configs[index] for index in chosen]

    Autotuner.__init__ = init


def named(module, name):
    return lambda *args, **kwargs: getattr(importlib.import_module(module), name)(*args, **kwargs)


def ops():
    """name -> function of the inputs below."""
    fla = "fla.ops"
    chunk = {
        "gated_delta_rule": ("q kn v g beta", f"{fla}.gated_delta_rule.chunk"),
        "delta_rule": ("q kn v beta", f"{fla}.delta_rule.chunk"),
        "simple_gla": ("q k v g", f"{fla}.simple_gla.chunk"),
        "gla": ("q k v gk", f"{fla}.gla.chunk"),
        "retention": ("q k v", f"{fla}.retention.chunk"),
        "gsa": ("q k v slots gs", f"{fla}.gsa.chunk"),
        "rwkv6": ("q k v gk u", f"{fla}.rwkv6.chunk"),
        "rwkv7": ("q gk kn v minus_kn kn_beta", f"{fla}.rwkv7.chunk"),
        "hgrn": ("x gx", f"{fla}.hgrn.chunk"),
    }
    found = {
        name: (takes.split(), named(module, f"chunk_{name}"))
        for name, (takes, module) in chunk.items()
    }
    linear = named(f"{fla}.linear_attn.chunk", "chunk_linear_attn")
    cumsum = named(f"{fla}.utils.cumsum", "chunk_local_cumsum")
    found["linear_attn"] = (["q", "k", "v"], lambda q, k, v: linear(q, k, v, normalize=False))
    found["cumsum"] = (["g"], lambda g: cumsum(g.detach(), 64))
    for name, takes, module in (
        ("attn", "q k v", "attn"),
        ("forgetting_attn", "q k v g", "forgetting_attn"),
        ("based", "small_q small_k v", "based"),
    ):
        found[name] = (takes.split(), named(f"{fla}.{module}.parallel", f"parallel_{name}"))
    return found


def inputs(size):
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    B, T, H, K, V = size

    def normal(*shape):
        return torch.randn(*shape, device="cuda").bfloat16()

    def gate(*shape):
        return F.logsigmoid(torch.randn(*shape, device="cuda"))

    k, beta = normal(B, T, H, K), torch.rand(B, T, H, device="cuda").bfloat16()
    kn = F.normalize(k.float(), dim=-1).bfloat16()
    made = {
        "q": normal(B, T, H, K), "k": k, "kn": kn, "v": normal(B, T, H, V), "beta": beta,
        "g": gate(B, T, H), "gk": gate(B, T, H, K).bfloat16(),
        "slots": normal(B, T, H, 64), "gs": gate(B, T, H, 64).bfloat16(), "u": normal(H, K),
        "minus_kn": -kn, "kn_beta": kn * beta[..., None],
        "small_q": normal(B, T, H, 16), "small_k": normal(B, T, H, 16),
        "x": normal(B, T, H * K), "gx": gate(B, T, H * K).bfloat16(),
    }  # fmt: skip
    return {name: value.requires_grad_() for name, value in made.items()}


def reference(name, given):
    """The output in fp64, or None where it takes more than a few lines."""
    import torch

    x = {key: value.detach().double() for key, value in given.items()}
    if name == "attn":
        q, k, v = (x[key].transpose(1, 2) for key in "qkv")
        attend = torch.nn.functional.scaled_dot_product_attention
        return attend(q, k, v, is_causal=True).transpose(1, 2)
    if name == "cumsum":
        B, T, H = x["g"].shape
        whole = torch.nn.functional.pad(x["g"], (0, 0, 0, -T % 64)).view(B, -1, 64, H)
        return whole.cumsum(2).view(B, -1, H)[:, :T]
    if name not in ("gated_delta_rule", "linear_attn", "simple_gla", "gla", "retention"):
        return None
    q, v = x["q"], x["v"]
    k = x["kn"] if name == "gated_delta_rule" else x["k"]
    B, T, H, K = q.shape
    state, outputs = q.new_zeros(B, H, K, v.shape[-1]), []
    decay = 1 - 2.0 ** (-5 - torch.arange(H, device="cuda", dtype=torch.double))
    for t in range(T):
        if name in ("gated_delta_rule", "simple_gla"):
            state = state * x["g"][:, t].exp()[..., None, None]
        if name == "gla":
            state = state * x["gk"][:, t].exp()[..., None]
        if name == "retention":
            state = state * decay[None, :, None, None]
        value = v[:, t]
        if name == "gated_delta_rule":
            value = (value - (state * k[:, t, ..., None]).sum(-2)) * x["beta"][:, t, :, None]
        state = state + k[:, t, ..., None] * value[..., None, :]
        outputs.append((state * (q[:, t] * K**-0.5)[..., None]).sum(-2))
    return torch.stack(outputs, 1)


def flat(result):
    import torch

    if isinstance(result, torch.Tensor):
        return [result]
    items = result if isinstance(result, (tuple, list)) else []
    return [tensor for item in items for tensor in flat(item)]


def error(found, wanted):
    difference = (found.double() - wanted.double()).norm()
    return float(difference / wanted.double().norm().clamp_min(1e-30))


class Side:
    """One Triton's process: compiles an op, or answers what `ask` sends."""

    def __init__(self):
        self._run = None

    def compile(self, name):
        self.numbers(name, None)
        self.warm(name)

    def numbers(self, name, folder):
        import torch

        takes, op = ops()[name]
        given = inputs(SMALL)
        outputs = flat(op(*(given[key] for key in takes)))
        torch.manual_seed(1)
        graded = [out for out in outputs if out.grad_fn is not None]
        if graded:
            torch.autograd.backward(graded, [torch.randn_like(out) for out in graded])
        kept = outputs + [given[key].grad for key in takes if given[key].grad is not None]
        if folder is None:
            return None
        torch.save([tensor.detach().cpu() for tensor in kept], f"{folder}/{os.getpid()}-{name}.pt")
        wanted = reference(name, given)
        return {
            "error": None if wanted is None else error(outputs[0], wanted),
            "saved": f"{folder}/{os.getpid()}-{name}.pt",
        }

    def warm(self, name):
        import torch

        takes, op = ops()[name]
        given = inputs(LARGE)
        gradients = None

        def run():
            nonlocal gradients
            outputs = [out for out in flat(op(*(given[k] for k in takes))) if out.grad_fn]
            gradients = gradients or [torch.randn_like(out) for out in outputs]
            if outputs:
                torch.autograd.backward(outputs, gradients)

        for _ in range(3):
            run()
        torch.cuda.synchronize()
        self._run = run

    def time(self, name):
        import torch

        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(REPEATS)]
        for start, end in events:
            start.record()
            self._run()
            end.record()
            torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in events]


def serve(options):
    import triton

    from crosswarp import compat
    from crosswarp.compat.versions import in_window

    if in_window(">=3.9", triton.__version__):
        compat.install()
    fewer_configurations()
    library(options.library)
    side = Side()
    if options.compile:
        return side.compile(options.compile)
    for line in sys.stdin:
        what, name, *rest = json.loads(line)
        try:
            answer = {"answer": getattr(side, what)(name, *rest)}
        except Exception as problem:
            answer = {"problem": f"{type(problem).__name__}: {problem}"[-300:]}
        print("\n@" + json.dumps(answer), flush=True)
    return None


def start(options, triton, *more, **pipes):
    environment = dict(os.environ, TRITON_DEFAULT_FP_FUSION="1")
    environment["PYTHONPATH"] = os.pathsep.join(
        [triton, *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    command = [sys.executable, __file__, "--library", options.library, "--serve", *more]
    return subprocess.Popen(command, env=environment, text=True, **pipes)


def ask(side, *request):
    side.stdin.write(json.dumps(request) + "\n")
    side.stdin.flush()
    for line in side.stdout:
        if line.startswith("@"):
            found = json.loads(line[1:])
            if "problem" in found:
                raise RuntimeError(found["problem"])
            return found["answer"]
    raise RuntimeError("the process ended")


def compile_everything(options, names):
    """Each op on each Triton in a process of its own, as many at once as there are cores."""
    waiting = [(triton, name) for name in names for triton in (options.old, options.new)]
    running = []
    while waiting or running:
        while waiting and len(running) < len(os.sched_getaffinity(0)):
            triton, name = waiting.pop(0)
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            running.append(start(options, triton, "--compile", name, **quiet))
        running = [process for process in running if process.poll() is None]
        time.sleep(0.2)


def compare(options, names):
    import torch

    compile_everything(options, names)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    old, new = (start(options, triton, **pipes) for triton in (options.old, options.new))
    ratios = []
    print(f"{'op':18} error 3.8  error 3.9  difference   ms 3.8   ms 3.9   ratio")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            try:
                numbers = [ask(side, "numbers", name, folder) for side in (old, new)]
                saved = [torch.load(number["saved"]) for number in numbers]
                apart = max(error(b, a) for a, b in zip(*saved))
                for side in (old, new):
                    ask(side, "warm", name)
                times = [[], []]
                for _ in range(ROUNDS):
                    for found, side in zip(times, (old, new)):
                        found.extend(ask(side, "time", name))
            except RuntimeError as problem:
                print(f"{name:18} {problem}")
                continue
            errors = [f"{n['error']:9.1e}" if n["error"] else "        -" for n in numbers]
            medians = [statistics.median(found) for found in times]
            ratios.append(medians[1] / medians[0])
            milliseconds = " ".join(f"{median:8.3f}" for median in medians)
            print(
                f"{name:18} {'  '.join(errors)}  {apart:10.1e} {milliseconds} {ratios[-1]:7.3f}",
                flush=True,
            )
    if ratios:
        middle = statistics.median(ratios)
        print(
            f"median ratio {middle:.3f} of {len(ratios)} ops, {min(ratios):.3f} to {max(ratios):.3f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--old", help="folder of Triton 3.8.0")
    parser.add_argument("--new", help="folder of Triton 3.9.0")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--compile", help=argparse.SUPPRESS)
    parser.add_argument("ops", nargs="*")
    options = parser.parse_args()
    options.library = str(Path(options.library).resolve())
    if options.serve:
        serve(options)
    else:
        compare(options, options.ops or list(ops()))


if __name__ == "__main__":
    main()
