"""A small training run under torch.compile, beside the same run in eager mode; one line of JSON. By hand, on a GPU.

    python tests/proofs/training.py
    PYTHONPATH=OTHER_TRITON:LINKS python -m crosswarp.compat run tests/proofs/training.py
    .. python -m crosswarp.compat run tests/proofs/training.py --virtual sm_90

It knows nothing of crosswarp, but for --virtual, where there is no GPU: inductor writes and compiles the kernels for
that target, and the graphs are computed on the CPU. Its caches are fresh, and its own.

Exit status: 0 the losses are eager's and fall, 1 they are not, or it failed, 3 it did not end in --seconds.
"""

import argparse
import contextlib
import faulthandler
import json
import os
import shutil
import sys
import tempfile
import threading
import time

_WORDS, _WIDTH, _LENGTH, _BATCH = 512, 64, 32, 8
# How far a loss may be from eager's, relative to it: float32, the sums in another order, over the steps.
_NEAR = 1e-3


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=120, help="then give up (120)")
    parser.add_argument("--virtual", metavar="TARGET", help="without a GPU: sm_90")
    parser.add_argument(
        "--optimizer", action="store_true", help="compile the optimizer's step as well"
    )
    options = parser.parse_args()
    began = time.monotonic()
    told = {"ok": False, "mode": _mode()}
    caches = tempfile.mkdtemp(prefix="training-")
    # Before torch and Triton are imported.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(caches, "inductor")
    os.environ["TRITON_CACHE_DIR"] = os.path.join(caches, "triton")
    timer = threading.Timer(options.seconds, _give_up, (told, options.seconds, caches))
    timer.daemon = True
    timer.start()
    try:
        _train(options, told)
    except Exception as error:
        error = getattr(error, "inner_exception", error)
        told["error"] = f"{type(error).__name__}: {error}"[:400]
        if os.environ.get("TRAINING_TRACEBACK"):
            raise
    finally:
        timer.cancel()
        shutil.rmtree(caches, ignore_errors=True)
        told["seconds"] = round(time.monotonic() - began, 1)
        print(json.dumps(told), flush=True)
    return 0 if told["ok"] else 1


def _mode():
    """Whether somebody has installed crosswarp's shims in this process."""
    compat = sys.modules.get("crosswarp.compat")
    return "bare" if compat is None else "shimmed"


def _give_up(told, seconds, caches):
    faulthandler.dump_traceback(all_threads=True)
    print(json.dumps({**told, "error": f"did not end in {seconds:g} s"}), flush=True)
    shutil.rmtree(caches, ignore_errors=True)
    os._exit(3)


def _train(options, told):
    import copy

    import torch
    import triton

    told.update(torch=torch.__version__, triton=triton.__version__)
    torch.manual_seed(0)
    model = _model(torch)
    tokens = torch.randint(_WORDS, (_BATCH, _LENGTH + 1))
    if options.virtual:
        device, context = "cpu", _virtual(options.virtual)
        told["device"] = f"virtual {options.virtual}"
    elif torch.cuda.is_available():
        device, context = "cuda", contextlib.nullcontext("inductor")
        told["device"] = torch.cuda.get_device_name()
    else:
        msg = "there is no GPU here; give --virtual sm_90 to have the kernels compiled without one"
        raise RuntimeError(msg)
    model, tokens = model.to(device), tokens.to(device)
    twin = copy.deepcopy(model)
    with context as backend:
        from torch._inductor import metrics

        told["losses"], told["first_step"] = _steps(torch, model, tokens, options, backend)
        told["kernels"] = metrics.generated_kernel_count
    told["eager"], _ = _steps(torch, twin, tokens, options, None)
    if hasattr(sys.modules.get("crosswarp.compat"), "active"):
        told["shims"] = len(sys.modules["crosswarp.compat"].active())
    near = all(abs(one - other) <= _NEAR * other for one, other in zip(told["losses"], told["eager"]))  # fmt: skip
    told["ok"] = near and told["losses"][-1] < told["losses"][0] and told["kernels"] > 0


def _model(torch):
    nn, functional = torch.nn, torch.nn.functional

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(_WORDS, _WIDTH)
            nn.init.normal_(self.words.weight, std=0.1)
            self.norms = nn.ModuleList(nn.LayerNorm(_WIDTH) for _ in range(3))
            self.asks = nn.Linear(_WIDTH, 3 * _WIDTH, bias=False)
            self.wider, self.back = nn.Linear(_WIDTH, 4 * _WIDTH), nn.Linear(4 * _WIDTH, _WIDTH)
            self.register_buffer("future", torch.ones(_LENGTH, _LENGTH).triu(1).bool())

        def forward(self, tokens):
            x = self.words(tokens[:, :-1])
            q, k, v = self.asks(self.norms[0](x)).chunk(3, -1)
            scores = (q @ k.transpose(1, 2)) * _WIDTH**-0.5
            x = x + scores.masked_fill(self.future, float("-inf")).softmax(-1) @ v
            x = x + self.back(functional.gelu(self.wider(self.norms[1](x)), approximate="tanh"))
            logits = self.norms[2](x) @ self.words.weight.t()
            return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    return Model()


def _steps(torch, model, tokens, options, backend):
    """Losses, and the seconds of the first step, in which all is compiled; `backend` None: in eager mode."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=True)
    forward, step = model, optimizer.step
    if backend is not None:
        forward = torch.compile(model, backend=backend)
        if options.optimizer:
            step = torch.compile(optimizer.step, backend=backend)
    losses, began, first = [], time.monotonic(), 0.0
    for _ in range(options.steps):
        optimizer.zero_grad(set_to_none=True)
        loss = forward(tokens)
        loss.backward()
        step()
        losses.append(round(float(loss.detach()), 6))
        first = first or round(time.monotonic() - began, 1)
    return losses, first


@contextlib.contextmanager
def _virtual(name):
    """A backend that has inductor compile for a GPU that is not there."""
    from pathlib import Path

    import crosswarp.matrix
    from crosswarp.compat.record import Patches
    from crosswarp.matrix.cell.kinds.inductor import pretending
    from crosswarp.matrix.cell.standins.virtual_gpu import Target

    try:
        import tomllib
    except ImportError:
        import tomli as tomllib
    table = Path(list(crosswarp.matrix.__path__)[0]) / "facts" / "targets.toml"
    targets = tomllib.loads(table.read_text("utf-8"))
    patches = Patches()
    pretending.pretend(Target.from_table(name, targets[name]), patches)
    import torch._inductor.config as config
    from torch._inductor.compile_fx import compile_fx_inner

    from crosswarp.matrix.cell.kinds.inductor.moving import Backend

    def compiled(module, fakes, given):
        compile_fx_inner(module, fakes, **given)
        return ""

    try:
        # In this process: inductor's workers are interpreters of their own, which know of no virtual GPU.
        with config.patch(pretending.settings()):
            yield Backend(compiled)
    finally:
        patches.undo()


if __name__ == "__main__":
    sys.exit(main())
