"""What else computes an op: each peer gets the inputs of our kernel and returns a call that does the same work."""

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Mapping

import torch
import torch.nn.functional as F

# Prepare: inputs -> a call of the same work.
Prepare = Callable[[Mapping[str, Any]], Callable[[], Any]]

# A Llama-3-8B training step: 8k tokens in a batch, hidden 4096, MLP 14336, 32 heads and 8 of keys, 128k tokens known.
TOKENS, HIDDEN, MLP, VOCABULARY = 8192, 4096, 14336, 128256


@dataclass(frozen=True)
class Op:
    name: str
    kernel: str
    dtype: str
    shape: Mapping[str, int]
    peers: Dict[str, Prepare]
    # Bytes to move at least, over those of all inputs and outputs: backward reads again what forward has read. 0: the
    # kernel is not bound by memory, or which part of a table it touches depends on the input.
    moved: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)


def steps(function, wanted, gradients):
    """A `Prepare`: ``function(**inputs)``, and the gradients of the inputs in `wanted` from those in `gradients`."""

    def prepare(inputs):
        given = dict(inputs)
        given.update({name: inputs[name].detach().clone().requires_grad_() for name in wanted})
        dys = [given.pop(name) for name in gradients]

        def call():
            out = function(**given)
            out = out if isinstance(out, tuple) else (out,)
            return torch.autograd.grad(
                out[: len(dys) or None], [given[name] for name in wanted], dys or None
            )

        return call

    return prepare


def torch_peers(function, wanted, gradients):
    return {
        "eager": steps(function, wanted, gradients),
        # Compiled when it is asked for, not when this file is read.
        "compile": lambda inputs: steps(torch.compile(function), wanted, gradients)(inputs),
    }


def liger(name, wanted, gradients, arguments):
    """``liger_kernel.transformers.functional.liger_<name>(*arguments(**inputs))``."""

    def prepare(inputs):
        import liger_kernel.transformers.functional as functional

        call = getattr(functional, f"liger_{name}")
        return steps(lambda **given: call(*arguments(**given)), wanted, gradients)(inputs)

    return prepare


def rms_norm(x, weight, eps=1e-6):
    x32 = x.float()
    return (x32 * torch.rsqrt(x32.square().mean(-1, keepdim=True) + eps)).to(x.dtype) * weight


def swiglu(gate, up):
    return F.silu(gate) * up


def geglu(gate, up):
    return F.gelu(gate, approximate="tanh") * up


def rotated(x, cos, sin):
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).to(x.dtype)


def rope(q, k, cos, sin):
    return rotated(q, cos, sin), rotated(k, cos, sin)


def liger_rope(q, k, cos, sin):
    both = (torch.cat([cos, cos], -1)[None], torch.cat([sin, sin], -1)[None])
    return (q, k, *(t.to(q.dtype) for t in both))


def cross_entropy(logits, target, smoothing):
    return F.cross_entropy(logits.float(), target, label_smoothing=smoothing)


def linear_cross_entropy(x, weight, target):
    return F.cross_entropy((x @ weight.t()).float(), target)


def kl(x, target, log_target):
    return F.kl_div(x.float(), target.float(), reduction="batchmean", log_target=log_target)


def jsd(student, teacher, beta):
    q, p = student.float(), teacher.float()
    middle = torch.log(beta * p.exp() + (1 - beta) * q.exp())
    left = F.kl_div(middle, p, reduction="sum", log_target=True)
    right = F.kl_div(middle, q, reduction="sum", log_target=True)
    return (beta * left + (1 - beta) * right) / student.shape[0]


def layer_norm(x, weight, bias):
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def liger_group_norm(x, weight, bias, groups):
    return x, weight, bias, x.shape[1], groups, 1e-5


def group_norm(x, weight, bias, groups):
    return F.group_norm(x, groups, weight, bias)


def embedding(index, table, padding_index):
    return F.embedding(index, table, padding_idx=padding_index if padding_index >= 0 else None)


def conv1d(x, weight, bias):
    taps = weight.shape[1]
    out = F.conv1d(x.transpose(1, 2), weight[:, None], bias, padding=taps - 1, groups=x.shape[2])
    return F.silu(out[..., : x.shape[1]]).transpose(1, 2)


def fla_conv1d(inputs):
    from fla.modules.convolution import causal_conv1d

    def function(x, weight, bias):
        out = causal_conv1d(x=x, weight=weight, bias=bias, activation="silu")
        return out[0] if isinstance(out, tuple) else out

    return steps(function, ["x", "weight", "bias"], ["dy"])(
        {**inputs, "x": inputs["x"].contiguous()}
    )


def fla_gated_delta_rule(inputs):
    from fla.ops.gated_delta_rule import chunk_gated_delta_rule

    def function(q, k, v, a, b):
        return chunk_gated_delta_rule(q, k, v, a, b, output_final_state=True)

    return steps(function, list("qkvab"), ["do", "dfinal"])(inputs)


def fla_linear_attention(inputs):
    from fla.ops.retention import chunk_retention

    # the decays of our slopes are those of retention's heads
    return steps(lambda q, k, v, slope: chunk_retention(q, k, v)[0], list("qkv"), ["do"])(inputs)


def attention(inputs):
    """torch's own flash attention, from cuDNN or its FlashAttention, with one sequence."""

    def heads_first(x):
        return x.transpose(0, 1)[None]

    def function(q, k, v, cu_seqlens, max_length, causal):
        q, k, v = (heads_first(x) for x in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)
        return out[0].transpose(0, 1)

    return steps(function, list("qkv"), ["do"])(inputs)


AFFINE = ["x", "weight", "bias"]
NORM = {"M": TOKENS, "N": HIDDEN}
ATTENTION = {"H": 32, "HK": 8, "D": 128, "causal": 1, "L0": TOKENS}

OPS = (
    *(
        Op(
            f"rms_norm {width}", "rms_norm", "bf16", {"M": TOKENS, "N": width, "wider": 0},
            {**torch_peers(rms_norm, ["x", "weight"], ["dy"]),
             "liger": liger("rms_norm", ["x", "weight"], ["dy"], lambda x, weight, eps: (x, weight, eps))},
            moved=5 / 4,
        )
        for width in (4096, 8192)
    ),
    Op(
        "layer_norm", "layer_norm", "bf16", NORM,
        {**torch_peers(layer_norm, AFFINE, ["dy"]),
         "liger": liger("layer_norm", AFFINE, ["dy"], lambda x, weight, bias: (x, weight, bias, 1e-5))},
        moved=5 / 4,
    ),
    Op(
        "group_norm", "group_norm", "bf16", {"B": 64, "C": 512, "L": 4096, "G": 32},
        {**torch_peers(group_norm, AFFINE, ["dy"]), "liger": liger("group_norm", AFFINE, ["dy"], liger_group_norm)},
        moved=5 / 4,
    ),
    Op(
        "swiglu", "swiglu", "bf16", {"M": TOKENS, "N": MLP},
        {**torch_peers(swiglu, ["gate", "up"], ["dy"]),
         "liger": liger("swiglu", ["gate", "up"], ["dy"], lambda gate, up: (gate, up))},
        moved=8 / 6,
    ),
    Op(
        "geglu", "geglu", "bf16", {"B": 1, "M": TOKENS, "N": MLP},
        {**torch_peers(geglu, ["gate", "up"], ["dy"]),
         "liger": liger("geglu", ["gate", "up"], ["dy"], lambda gate, up: (gate, up))},
        moved=8 / 6,
    ),
    Op(
        "rope", "rope", "bf16", {"B": 1, "T": TOKENS, "D": 128, "HQ": 32, "HK": 8},
        {**torch_peers(rope, ["q", "k"], ["dq", "dk"]),
         "liger": liger("rope", ["q", "k"], ["dq", "dk"], liger_rope)},
    ),
    Op(
        "softmax", "softmax", "bf16", {"M": TOKENS, "N": 8192},
        torch_peers(lambda x, y_before: F.softmax(x, -1), ["x"], ["dy"]),
    ),
    Op(
        "log_softmax", "log_softmax", "bf16", {"M": TOKENS, "N": 32000},
        torch_peers(lambda x, y_before: F.log_softmax(x, -1), ["x"], ["dy"]),
    ),
    Op(
        "cross_entropy", "cross_entropy", "bf16", {"tokens": TOKENS, "V": VOCABULARY},
        {**torch_peers(cross_entropy, ["logits"], []),
         "liger": liger("cross_entropy", ["logits"], [], lambda logits, target, smoothing: (logits, target))},
        # as liger's: the gradient takes the place of the logits
        options={"in_place": True},
    ),
    Op(
        "fused_linear_cross_entropy", "fused_linear_cross_entropy", "bf16",
        {"tokens": TOKENS, "H": HIDDEN, "V": VOCABULARY},
        {**torch_peers(linear_cross_entropy, ["x", "weight"], []),
         "liger": liger("fused_linear_cross_entropy", ["x", "weight"], [], lambda **given: tuple(given.values()))},
        moved=0, options={"chunk": TOKENS},
    ),
    Op(
        "kl_divergence", "kl_divergence", "fp32", {"M": 4096, "N": VOCABULARY},
        {**torch_peers(kl, ["x"], []),
         "liger": liger("kl_div", ["x"], [], lambda x, target, log_target: (x, target, "batchmean", log_target))},
    ),
    Op(
        "js_divergence", "js_divergence", "fp32", {"M": 4096, "N": VOCABULARY, "percent": 50},
        {**torch_peers(jsd, ["student"], []),
         "liger": liger("jsd", ["student"], [], lambda student, teacher, beta: (student, teacher, None, beta))},
    ),
    Op(
        "embedding", "embedding", "bf16", {"tokens": TOKENS, "V": VOCABULARY, "N": HIDDEN},
        torch_peers(embedding, ["table"], ["dy"]),
        moved=0,
    ),
    Op(
        "dropout", "dropout", "bf16", {"M": TOKENS, "N": HIDDEN, "percent": 10, "seed": 1},
        torch_peers(lambda x, p, seed: F.dropout(x, p), ["x"], ["dy"]),
    ),
    Op(
        # flash-linear-attention takes what is contiguous; five columns more and no row of ours would be aligned
        "causal_conv1d", "causal_conv1d", "bf16", {"B": 4, "T": 4096, "D": HIDDEN, "W": 4, "wider": 0},
        {**torch_peers(conv1d, ["x", "weight", "bias"], ["dy"]), "fla": fla_conv1d},
        moved=5 / 4,
    ),
    Op(
        "matmul", "matmul", "bf16", {"M": TOKENS, "N": HIDDEN, "K": HIDDEN},
        {"torch": lambda inputs: lambda: inputs["a"] @ inputs["b"]}, moved=0,
    ),
    Op(
        "flash_attention fwd", "flash_attention", "bf16", ATTENTION,
        {"torch": lambda inputs: attention_forward(inputs)}, moved=0, options={"descriptors": True},
    ),
    Op(
        "flash_attention fwd+bwd", "flash_attention_backward_descriptors", "bf16", ATTENTION,
        {"torch": attention}, moved=0,
    ),
    Op(
        "linear_attention", "linear_attention", "bf16", {"B": 2, "T": 4096, "H": 32, "K": 128, "V": 128},
        {"fla": fla_linear_attention}, moved=0,
    ),
    Op(
        "gated_delta_rule fwd+bwd", "gated_delta_rule_backward", "bf16",
        {"B": 2, "T": 4096, "H": 16, "K": 128, "V": 128, "initial": 0},
        {"fla": fla_gated_delta_rule}, moved=0,
    ),
)  # fmt: skip


def attention_forward(inputs):
    given = [inputs[name].transpose(0, 1)[None] for name in "qkv"]
    causal = inputs["causal"]
    return lambda: F.scaled_dot_product_attention(*given, is_causal=causal, enable_gqa=True)
