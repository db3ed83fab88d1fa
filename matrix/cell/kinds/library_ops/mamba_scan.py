"""mamba-ssm: state space models in chunks of the sequence, the step of one token, and the norms beside them."""

from _library import kernel, tensor, without_root

# The last chunk of 64 is not full.
BATCH, LENGTH, HEADS, WIDTH, STATE, CHUNK = 1, 130, 2, 64, 64, 64


def ssd():
    without_root("mamba_ssm")
    from mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined as op

    x = tensor(BATCH, LENGTH, HEADS, WIDTH)
    b, c = (tensor(BATCH, LENGTH, 1, STATE) for _ in range(2))
    decay = (-tensor(HEADS, dtype="float32", grad=False).abs()).requires_grad_()
    skip, bias = tensor(HEADS, dtype="float32"), tensor(HEADS, dtype="float32")
    step = tensor(BATCH, LENGTH, HEADS)
    return op(x, step, decay, b, c, CHUNK, D=skip, dt_bias=bias, dt_softplus=True)


def mamba3_siso():
    without_root("mamba_ssm")
    from mamba_ssm.ops.triton.mamba3.mamba3_siso_combined import mamba3_siso_combined as op

    query, key = (tensor(BATCH, LENGTH, 1, STATE) for _ in range(2))
    steps = tensor(BATCH, HEADS, LENGTH, dtype="float32", grad=False).abs().requires_grad_()
    decay = (-tensor(BATCH, HEADS, LENGTH, dtype="float32", grad=False).abs()).requires_grad_()
    biases = (tensor(HEADS, STATE, dtype="float32") for _ in range(2))
    return op(
        query, key, tensor(BATCH, LENGTH, HEADS, WIDTH), decay, steps, tensor(BATCH, HEADS, LENGTH), *biases,
        tensor(BATCH, LENGTH, HEADS, STATE // 4, dtype="float32"), D=tensor(HEADS, dtype="float32"), chunk_size=CHUNK,
    )  # fmt: skip


def state_update():
    without_root("mamba_ssm")
    from mamba_ssm.ops.triton.selective_state_update import selective_state_update as op

    state = tensor(BATCH, HEADS, WIDTH, STATE, dtype="float32", grad=False)
    x, step = (tensor(BATCH, HEADS, WIDTH, grad=False) for _ in range(2))
    decay = -tensor(HEADS, WIDTH, STATE, dtype="float32", grad=False).abs()
    b, c = (tensor(BATCH, 1, STATE, grad=False) for _ in range(2))
    skip, bias = (tensor(HEADS, WIDTH, dtype="float32", grad=False) for _ in range(2))
    return op(state, x, step, decay, b, c, D=skip, z=x, dt_bias=bias, dt_softplus=True)


def rms_norm():
    without_root("mamba_ssm")
    from mamba_ssm.ops.triton.layer_norm import rms_norm_fn as op

    x, residual = (tensor(2, LENGTH, WIDTH) for _ in range(2))
    return op(x, tensor(WIDTH), None, residual=residual, prenorm=True, residual_in_fp32=True)


def rms_norm_gated():
    without_root("mamba_ssm")
    from mamba_ssm.ops.triton.layernorm_gated import rmsnorm_fn as op

    return op(tensor(LENGTH, WIDTH), tensor(WIDTH), None, z=tensor(LENGTH, WIDTH))


KERNEL = kernel(
    "mamba_scan",
    "mamba-ssm",
    (ssd, mamba3_siso, state_update, rms_norm, rms_norm_gated),
    {"mamba3_siso": ">=2.3"},
)
