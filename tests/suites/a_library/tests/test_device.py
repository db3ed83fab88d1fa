"""What libraries' tests ask of torch.cuda, as real tests of theirs do."""

import copy
import io
import os
import subprocess

import pytest
import torch
import triton
from small_ops import Scale, scale

CUDA = torch.device("cuda")


@pytest.mark.parametrize(
    "where", ["cuda", "cuda:0", 0, torch.device("cuda"), torch.device("cuda", 0)]
)
def test_factories(where):
    made = [
        torch.zeros(3, device=where),
        torch.tensor([1.0, 2.0, 3.0], device=where),
        torch.arange(3.0, device=where),
        torch.empty_strided((3,), (1,), device=where),
        torch.randn(3, device=where).new_full((3,), 2.0, device=where),
        torch.ones_like(torch.ones(3), device=where),
        torch.ones(3).to(where),
        torch.ones(3).to(device=where, dtype=torch.float16),
        torch.ones(3).to(where, torch.float16),
        torch.ones(3).cuda(),
        torch.ones(3).type("torch.cuda.FloatTensor"),
        torch.linspace(0, 1, 3, device=where, pin_memory=False),
    ]
    for x in made:
        assert x.is_cuda and not x.is_cpu and x.device == torch.device("cuda:0")
        assert x.shape == (3,) and x.get_device() == 0 and x.device.index == 0
        scale(x, 2.0)


def test_default_device():
    with torch.device("cuda"):
        assert torch.ones(3).is_cuda
    torch.set_default_device("cuda")
    assert torch.ones(3).device.type == torch.get_default_device().type == "cuda"
    scale(torch.rand(3), 2.0)


def test_copies():
    x = torch.ones(3, device="cuda")
    there = x.cpu()
    same = x.to("cpu")
    x.add_(1)
    assert there.tolist() == same.tolist() == [1, 1, 1]
    assert x.cuda() is x and x.to("cuda") is x
    assert torch.empty(2, device="meta").device.type == "meta"
    file = io.BytesIO()
    torch.save({"x": x}, file)
    file.seek(0)
    assert torch.load(file, map_location="cuda")["x"].tolist() == [2, 2, 2]
    assert copy.deepcopy(x).is_cuda and repr(x).endswith("device='cuda:0')")


def test_modules():
    layer = torch.nn.Linear(4, 4).cuda()
    other = torch.nn.Linear(4, 4, device="cuda").to("cuda", torch.bfloat16)
    assert layer.weight.is_leaf and next(other.parameters()).device == torch.device("cuda:0")
    optimizer = torch.optim.AdamW(layer.parameters())
    layer(torch.randn(2, 4, device="cuda")).sum().backward()
    torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    optimizer.step()
    assert layer.weight.grad is not None


def test_which_gpu():
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1
    assert torch.cuda.get_device_capability() == (9, 0)
    properties = torch.cuda.get_device_properties("cuda")
    assert properties.multi_processor_count == 132 and "H100" in torch.cuda.get_device_name(0)
    assert torch.version.cuda and torch.version.hip is None
    assert torch.cuda.is_bf16_supported() and torch.cuda.current_device() == 0
    free, total = torch.cuda.mem_get_info()
    assert 0 < free < total
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == 0
    active = getattr(triton.runtime.driver, "active", None)
    if active is not None:
        target = active.get_current_target()
        assert (target.backend, target.arch) == ("cuda", 90)
    smi = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
    assert "H100" in smi and os.environ["PATH"]


def test_accelerator():
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is None:
        pytest.skip("torch 2.6 brought it")
    assert accelerator.is_available() and accelerator.current_accelerator().type == "cuda"
    accelerator.synchronize()


def test_streams_and_events():
    for name in ("Stream", "Event", "CUDAGraph", "device"):
        assert isinstance(getattr(torch.cuda, name), type)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream), torch.cuda.device(0):
        start.record()
        y = scale(torch.ones(3, device="cuda"), 2.0)
        end.record(stream)
    y.record_stream(stream)
    torch.cuda.synchronize()
    assert start.elapsed_time(end) > 0 and end.query()
    assert triton.testing.do_bench(lambda: scale(y, 2.0)) > 0


def test_generators():
    generator = torch.Generator(device="cuda").manual_seed(3)
    assert generator.device.type == "cuda" and isinstance(generator, torch.Generator)
    assert isinstance(torch.default_generator, torch.Generator)
    assert torch.Generator().device.type == "cpu"
    a = torch.randn(4, device="cuda", generator=generator)
    b = torch.randn(4, device=generator.device, generator=generator.manual_seed(3))
    assert a.tolist() == b.tolist()
    torch.cuda.manual_seed_all(7)
    torch.manual_seed(7)
    state = torch.cuda.get_rng_state()
    first = torch.rand(2, device="cuda").tolist()
    torch.cuda.set_rng_state(state)
    assert torch.rand(2, device="cuda").tolist() == first
    with torch.random.fork_rng(devices=["cuda:0"]):
        torch.rand(2)
    assert torch.cuda.default_generators[0].get_state().numel() == 16


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast(dtype):
    a = torch.randn(8, 8, device="cuda")
    with torch.autocast("cuda", dtype=dtype):
        assert (a @ a).dtype == dtype
        with torch.autocast(device_type="cuda", enabled=False):
            assert (a @ a).dtype == torch.float32
        with torch.cuda.amp.autocast(dtype=dtype):
            assert torch.is_autocast_enabled()
        assert (a @ a).dtype == dtype
        scale(a, 2.0)
    assert (a @ a).dtype == torch.float32 and not torch.is_autocast_enabled()


def test_custom_forward_and_backward():
    class Cast(torch.autograd.Function):
        @staticmethod
        @torch.cuda.amp.custom_fwd
        def forward(ctx, x):
            return scale(x, 2.0)

        @staticmethod
        @torch.cuda.amp.custom_bwd
        def backward(ctx, dy):
            return scale(dy, 2.0)

    x = torch.randn(8, device="cuda", requires_grad=True)
    Cast.apply(x).sum().backward()
    assert x.grad.dtype == torch.float32


def test_compile_is_the_function():
    @torch.compile
    def one(x):
        return Scale.apply(x, 2.0)

    @torch.compile(fullgraph=True, dynamic=False)
    def two(x):
        return scale(x, 2.0)

    x = torch.ones(8, device="cuda", requires_grad=True)
    (one(x) + two(x.detach())).sum().backward()
    layer = torch.nn.Linear(4, 4)
    assert torch.compile(layer) is layer


_LIBRARY = torch.library.Library("small_ops", "DEF")
_LIBRARY.define("double(Tensor x) -> Tensor")
_LIBRARY.impl("double", lambda x: scale(x, 2.0), "CUDA")
_LIBRARY.define("both(Tensor x) -> Tensor")


def _never(x):
    raise RuntimeError("this one is for tensors on the CPU")


_LIBRARY.impl("both", _never, "CPU")
_LIBRARY.impl("both", lambda x: scale(x, 2.0), "CUDA")
_LIBRARY.define("turned(Tensor x) -> Tensor")
_LIBRARY.impl("turned", lambda x: scale(x, 2.0), "CUDA")
_LIBRARY.impl("turned", _never, "CPU")
_IMPL = torch.library.Library("small_ops", "IMPL", "CUDA")
_LIBRARY.define("by_key(Tensor x) -> Tensor")
_IMPL.impl("by_key", lambda x: scale(x, 2.0))


@pytest.mark.parametrize("name", ["double", "both", "turned", "by_key"])
def test_registered_operators(name):
    y = getattr(torch.ops.small_ops, name)(torch.ones(8, device="cuda"))
    assert y.shape == (8,)


def test_custom_op():
    if not hasattr(torch.library, "custom_op"):
        pytest.skip("torch 2.4 brought it")

    @torch.library.custom_op("small_ops::custom", mutates_args=(), device_types="cuda")
    def custom(x: torch.Tensor) -> torch.Tensor:
        return scale(x, 2.0)

    custom.register_fake(lambda x: torch.empty_like(x))
    assert custom(torch.ones(8, device="cuda")).shape == (8,)


def test_triton_op():
    if not hasattr(torch.library, "triton_op"):
        pytest.skip("torch 2.6 brought it")
    from small_ops.kernels import scale_kernel

    @torch.library.triton_op("small_ops::traced", mutates_args={})
    def traced(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        torch.library.wrap_triton(scale_kernel)[(1,)](x, y, 2.0, x.numel(), BLOCK=64)
        return y

    assert traced(torch.ones(8, device="cuda")).shape == (8,)


def test_wrapped_kernel():
    """Without an operator around it, as flash-attention does."""
    if not hasattr(torch.library, "wrap_triton"):
        pytest.skip("torch 2.6 brought it")
    from small_ops.kernels import scale_kernel

    x = torch.ones(8, device="cuda")
    y = torch.empty_like(x)
    torch.library.wrap_triton(scale_kernel)[(1,)](x, y, 2.0, x.numel(), BLOCK=64)
    assert y.shape == (8,)


def test_what_only_a_gpu_has():
    """The reference is torch's own fused attention."""
    q = torch.randn(2, 16, 4, 32, device="cuda", dtype=torch.float16)
    out, *_ = torch.ops.aten._flash_attention_forward(
        q, q, q, None, None, 16, 16, 0.0, False, False, scale=0.5
    )
    assert out.shape == q.shape
    scale(out, 2.0)
