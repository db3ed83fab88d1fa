"""The references against PyTorch's own operators, and the shape of every case.."""

import importlib
import sys
import types

import pytest
import torch

import crosswarp.kernels
from crosswarp.kernels import SUITE
from crosswarp.kernels.case import DTYPES, FEATURES, LANES

pytestmark = pytest.mark.one_release

F = torch.nn.functional
# The gradient of the decays where a single token has no state before it to decay: its error is judged as it is.
ALL_ZEROS = {("selective_scan_backward", "fp16-1x1x1-n1", "da")}


def stand_in_for_triton():
    """What a kernel module asks of Triton while it is imported; no kernel can run with it."""
    triton = types.ModuleType("triton")
    triton.__path__ = []
    triton.jit = lambda fn=None, **_: fn or (lambda fn: fn)
    triton.autotune = lambda **_: lambda fn: fn
    triton.heuristics = lambda values: lambda fn: fn
    triton.Config = lambda kwargs, **_: kwargs
    language = types.ModuleType("triton.language")
    language.constexpr = object
    triton.language = language
    return {"triton": triton, "triton.language": language}


@pytest.fixture
def load(monkeypatch):
    """Import kernel modules afresh on the stand-in, and leave no trace of it."""
    for name, module in stand_in_for_triton().items():
        monkeypatch.setitem(sys.modules, name, module)

    def load(name):
        full = f"crosswarp.kernels.{name}"
        # a kernel may build on another's module
        others = {f"crosswarp.kernels.{other}" for other in SUITE}
        for module in others:
            monkeypatch.delitem(sys.modules, module, raising=False)
        kernel = importlib.import_module(full).KERNEL
        # a later import, in this process, gets the real Triton again
        for module in others & set(sys.modules):
            del sys.modules[module]
            vars(crosswarp.kernels).pop(module.rpartition(".")[2], None)
        return kernel

    return load


def made(kernel, case, seed=0):
    return kernel.inputs(case, torch.device("cpu"), torch.Generator().manual_seed(seed))


def close(got, want):
    torch.testing.assert_close(got.double(), want.double(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", SUITE)
def test_cases_are_well_formed(load, name):
    kernel = load(name)
    assert kernel.name == name
    ids = [case.id for case in kernel.cases]
    assert len(set(ids)) == len(ids)
    for case in kernel.cases:
        assert set(case.id) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-"), case.id
        assert case.dtype in DTYPES and case.dtype in kernel.tolerance, case.id
        assert case.lanes and set(case.lanes) <= set(LANES), case.id
        assert kernel.features(case) <= {*FEATURES, *kernel.probes}, case.id
    # something to compile, and something that an interpreter without bf16 and autotuner can run
    assert any("compile" in case.lanes for case in kernel.cases)
    assert any(
        "interpret" in case.lanes and not kernel.features(case) & {"bf16", "autotune"}
        for case in kernel.cases
    )


@pytest.mark.parametrize("name", SUITE)
def test_inputs_are_fresh_and_repeatable_and_references_finite(load, name):
    kernel = load(name)
    for case in kernel.cases:
        first, second = made(kernel, case), made(kernel, case)
        for key, value in first.items():
            if isinstance(value, torch.Tensor):
                # By its bytes: not every torch can compare 8-bit floats.
                one, two = (t.contiguous().view(-1).view(torch.uint8) for t in (value, second[key]))
                assert torch.equal(one, two), (case.id, key)
        for key, value in kernel.reference(**first).items():
            assert value.dtype == torch.float64, (case.id, key)
            # an output that is all zeros would have no relative error
            assert torch.isfinite(value).all(), (case.id, key)
            assert (value.norm() == 0) == ((name, case.id, key) in ALL_ZEROS), (case.id, key)


def test_layer_norm(load):
    kernel = load("layer_norm")
    given = made(kernel, kernel.cases[0])
    x, weight, bias = (given[key].double().requires_grad_() for key in ("x", "weight", "bias"))
    y = F.layer_norm(x, (x.shape[1],), weight, bias, 1e-5)
    y.backward(given["dy"].double())
    got = kernel.reference(**given)
    for key, want in {"y": y, "dx": x.grad, "dweight": weight.grad, "dbias": bias.grad}.items():
        close(got[key], want.detach())


def test_rms_norm(load):
    kernel = load("rms_norm")
    for case in kernel.cases:
        given = made(kernel, case)
        x, weight = (given[key].detach().double().requires_grad_() for key in ("x", "weight"))
        y = x / torch.sqrt((x * x).mean(1, keepdim=True) + given["eps"]) * weight
        y.backward(given["dy"].double())
        got = kernel.reference(**given)
        for key, want in {"y": y, "dx": x.grad, "dweight": weight.grad}.items():
            close(got[key], want.detach())


def test_softmax(load):
    kernel = load("softmax")
    given = made(kernel, kernel.cases[0])
    close(kernel.reference(**given)["y"], given["x"].double().softmax(1))


def test_fused_linear_cross_entropy(load):
    kernel = load("fused_linear_cross_entropy")
    for case in kernel.cases:
        given = made(kernel, case)
        x, weight = (given[key].double().requires_grad_() for key in ("x", "weight"))
        loss = F.cross_entropy(x @ weight.t(), given["target"], ignore_index=-100)
        loss.backward()
        got = kernel.reference(**given)
        for key, want in {"loss": loss, "grad_x": x.grad, "grad_weight": weight.grad}.items():
            close(got[key], want.detach())


def test_every_case_of_cross_entropy_launches_32_warps_and_ignores_somewhere(load):
    kernel = load("fused_linear_cross_entropy")
    assert all("num_warps" not in case.options for case in kernel.cases)
    assert any(case.shape["V"] >= 128_000 for case in kernel.cases)
    assert any(case.shape.get("ignored") for case in kernel.cases)


def test_delta_rule_state_walks_token_by_token(load):
    """Against the recurrence of one (batch, head) written without chunks of matrices."""
    kernel = load("chunk_gated_delta_rule")
    case = next(case for case in kernel.cases if case.shape["T"] > 128 and case.shape["initial"])
    given = made(kernel, case)
    got = kernel.reference(**given)
    k, w, u, g = (given[key][0, :, 0].double() for key in ("k", "w", "u", "g"))
    state = given["initial"][0, 0].double()
    length = case.shape["T"]
    for start in range(0, length, 64):
        close(got["h"][0, 0, start // 64], state)
        tokens = range(start, min(start + 64, length))
        last = g[tokens[-1]]
        ahead = state * last.exp()
        for t in tokens:
            v = u[t] - w[t] @ state
            close(got["v_new"][0, t, 0], v)
            ahead = ahead + torch.outer(k[t], v) * (last - g[t]).exp()
        state = ahead
    close(got["final"][0, 0], state)


def doubled(given, *names):
    return [given[name].detach().double().requires_grad_() for name in names]


def by_autograd(got, output, dy, inputs):
    """The reference's gradients, under their names, against those of an operator of PyTorch."""
    gradients = torch.autograd.grad(output, list(inputs.values()), dy)
    for name, want in zip(inputs, gradients):
        close(got[name], want)


def test_swiglu_and_geglu(load):
    for name, bend in (("swiglu", F.silu), ("geglu", lambda x: F.gelu(x, approximate="tanh"))):
        kernel = load(name)
        given = made(kernel, kernel.cases[0])
        gate, up = doubled(given, "gate", "up")
        y, got = bend(gate) * up, kernel.reference(**given)
        close(got["y"], y.detach())
        by_autograd(got, y, given["dy"].double(), {"dgate": gate, "dup": up})


def test_cross_entropy(load):
    kernel = load("cross_entropy")
    for case in kernel.cases[:4]:
        given = made(kernel, case)
        (logits,) = doubled(given, "logits")
        loss = F.cross_entropy(
            logits, given["target"], ignore_index=-100, label_smoothing=given["smoothing"]
        )
        got = kernel.reference(**given)
        close(got["loss"], loss.detach())
        by_autograd(got, loss, None, {"dlogits": logits})


def test_kl_divergence(load):
    kernel = load("kl_divergence")
    for case in kernel.cases:
        given = made(kernel, case)
        (x,) = doubled(given, "x")
        loss = F.kl_div(
            x, given["target"].double(), reduction="batchmean", log_target=given["log_target"]
        )
        got = kernel.reference(**given)
        close(got["loss"], loss.detach())
        by_autograd(got, loss, None, {"dx": x})


def test_group_norm(load):
    kernel = load("group_norm")
    for case in kernel.cases:
        given = made(kernel, case)
        x, weight, bias = doubled(given, "x", "weight", "bias")
        y, got = F.group_norm(x, given["groups"], weight, bias, 1e-5), kernel.reference(**given)
        close(got["y"], y.detach())
        wanted = {"dx": x, "dweight": weight, "dbias": bias}
        by_autograd(got, y, given["dy"].double(), wanted)


def test_causal_conv1d(load):
    kernel = load("causal_conv1d")
    for case in kernel.cases:
        given = made(kernel, case)
        x, weight, bias = doubled(given, "x", "weight", "bias")
        padded = F.pad(x.transpose(1, 2), (case.shape["W"] - 1, 0))
        y = F.silu(F.conv1d(padded, weight.unsqueeze(1), bias, groups=case.shape["D"]))
        y, got = y.transpose(1, 2), kernel.reference(**given)
        close(got["y"], y.detach())
        wanted = {"dx": x, "dweight": weight, "dbias": bias}
        by_autograd(got, y, given["dy"].double(), wanted)


def test_embedding(load):
    kernel = load("embedding")
    given = made(kernel, kernel.cases[0])
    assert given["padding_index"] >= 0
    (table,) = doubled(given, "table")
    y = F.embedding(given["index"], table, padding_idx=given["padding_index"])
    got = kernel.reference(**given)
    close(got["y"], y.detach())
    by_autograd(got, y, given["dy"].double(), {"dtable": table})


def test_philox_of_dropout(load):
    """The published known answers of Philox4x32-10 for the counter and key of zeros, and its share of ones."""
    kernel = load("dropout")
    philox = kernel.reference.__globals__["_philox"]
    zero = [int(part) for part in philox(torch.zeros(1, dtype=torch.int64), 0)]
    assert zero == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    case = next(case for case in kernel.cases if case.shape["percent"] == 30)
    y = kernel.reference(**made(kernel, case))["y"]
    assert abs((y != 0).double().mean().item() - 0.7) < 0.03


def test_flash_attention(load):
    forward, backward = load("flash_attention"), load("flash_attention_backward")
    for case in backward.cases:
        given = made(backward, case)
        do = given.pop("do").double()
        leaves = {name: given[name].detach().double().requires_grad_() for name in "qkv"}
        group = given["q"].shape[1] // given["k"].shape[1]
        parts = []
        bounds = given["cu_seqlens"].tolist()
        for i, j in zip(bounds, bounds[1:]):
            if i < j:
                q = leaves["q"][i:j].transpose(0, 1)
                k, v = (leaves[n][i:j].transpose(0, 1).repeat_interleave(group, 0) for n in "kv")
                o = F.scaled_dot_product_attention(q, k, v, is_causal=given["causal"])
                parts.append(o.transpose(0, 1))
        o = torch.cat(parts)
        close(forward.reference(**given)["o"], o.detach())
        gradients = torch.autograd.grad(o, tuple(leaves.values()), do)
        got = backward.reference(**given, do=do)
        for name, want in zip(("dq", "dk", "dv"), gradients):
            close(got[name], want)


def test_gated_delta_rule_agrees_with_its_chunked_state(load):
    """The token-by-token reference against the chunked form that `chunk_gated_delta_rule` walks."""
    whole, state = load("gated_delta_rule"), load("chunk_gated_delta_rule")
    case = next(case for case in whole.cases if case.shape["initial"] and case.shape["T"] > 128)
    given = {
        name: value.double() if value.is_floating_point() else value
        for name, value in made(whole, case).items()
    }
    k, v, a, b = (given[name].transpose(1, 2) for name in "kvab")
    g = torch.cat([part.cumsum(2) for part in a.split(64, dim=2)], 2)
    w, u = [], []
    for i in range(0, k.shape[2], 64):
        part = slice(i, i + 64)
        gate = g[:, :, part]
        ratio = (gate[..., :, None] - gate[..., None, :]).exp().tril(-1)
        key, strength = k[:, :, part], b[:, :, part, None]
        triangle = strength * (key @ key.transpose(2, 3)) * ratio
        eye = torch.eye(triangle.shape[-1], dtype=torch.float64)
        inverse = torch.linalg.inv(eye + triangle)
        u.append(inverse @ (strength * v[:, :, part]))
        w.append(inverse @ (strength * gate.exp()[..., None] * key))
    w, u = (torch.cat(x, 2).transpose(1, 2) for x in (w, u))
    chunked = state.reference(given["k"], w, u, g.transpose(1, 2), given["initial"])
    close(whole.reference(**given)["final"], chunked["final"])


def test_linear_attention_walks_token_by_token(load):
    kernel = load("linear_attention")
    case = next(case for case in kernel.cases if case.shape["T"] > 64)
    given = made(kernel, case)
    q, k, v = (given[name].double() for name in "qkv")
    decay = given["slope"].double().exp()[None, :, None, None]
    state = torch.zeros(*q.shape[:1], *q.shape[2:], v.shape[3], dtype=torch.float64)
    got = kernel.reference(**given)["o"]
    for t in range(q.shape[1]):
        state = state * decay + k[:, t, :, :, None] * v[:, t, :, None]
        close(got[:, t], (q[:, t, :, :, None] * state).sum(2) * q.shape[3] ** -0.5)


def test_paged_decode_attention(load):
    kernel = load("paged_decode_attention")
    for case in kernel.cases:
        given = made(kernel, case)
        got = kernel.reference(**given)["o"]
        page = case.shape["page"]
        group = case.shape["H"] // case.shape["HK"]
        for i, length in enumerate(given["lengths"].tolist()):
            if length == 0:
                assert not got[i].any()
                continue
            at = torch.arange(length)
            pages = given["block_table"][i][at // page].long()
            k, v = (
                given[n][pages, at % page].double().transpose(0, 1).repeat_interleave(group, 0)
                for n in ("k_cache", "v_cache")
            )
            q = given["q"][i].double()[:, None]
            close(got[i], F.scaled_dot_product_attention(q, k, v).squeeze(1))
