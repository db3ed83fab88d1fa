"""`crosswarp check`: what is assumed where a file does not say it, and the kernels that it finds in any spelling."""

from __future__ import annotations

import textwrap

import pytest

from crosswarp.matrix.signatures import finding, infer, source

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"


@pytest.fixture
def assumed(tmp_path):
    """`assumed(text)`: the first signature of the file's first kernel, by parameter as text."""

    def make(text):
        path = tmp_path / "kernels.py"
        path.write_text(HEAD + textwrap.dedent(text), "utf-8")
        found = infer.infer(finding.read(path))[0]
        assert not found.why, found.why
        first = found.signatures[0]
        assert {one.name for one in first.arguments} <= set(found.parameters)
        return {
            one.name: str(one).removeprefix(f"{one.name} ").split("=")[-1]
            for one in first.arguments
        }

    return make


BODIES = {
    "what is given a shape": ("x, y", "tl.store(y, tl.broadcast_to(tl.load(x), [4, 4]))", {"x": "*fp32:16"}),
    "what a tensor is filled with": (
        "x, CODE_SIZE: tl.constexpr", "tl.store(x, tl.full((4,), CODE_SIZE - 1, dtype=tl.int32))", {"CODE_SIZE": "128"},
    ),
    "a tensor of four axes": (
        "x, A: tl.constexpr, B: tl.constexpr",
        "a = tl.arange(0, A)[:, None, None, None]\n    b = tl.arange(0, B)[None, :, None, None]\n"
        "    tl.store(x + a + b, 1.0)",
        {"A": "8", "B": "8"},
    ),
    "an index": ("x, rows, y", "tl.store(y, tl.load(x + tl.load(rows)))", {"rows": "*i32:16", "x": "*fp32:16"}),
    "an index in two steps": (
        "x, rows, y",
        "r = tl.load(rows + tl.program_id(0)).to(tl.int64)\n    p = x + r * 4\n    tl.store(y, tl.load(p))",
        {"rows": "*i32:16"},
    ),
    "a bound": ("x, count", "for i in range(tl.load(count)):\n        tl.store(x + i, 0.0)", {"count": "*i32:16"}),
    "a mask": ("x, m", "tl.store(x, 1.0, mask=tl.load(m))", {"m": "*i1:16"}),
    "bytes of an assembly": (
        "q, y",
        "tl.store(y, tl.inline_asm_elementwise('', '=r,=r,=r,=r,r', [tl.load(q)], tl.int32, True, pack=4))",
        {"q": "*i8:16"},
    ),
    "a register an element of an assembly": (
        "x, y",
        "tl.store(y, tl.inline_asm_elementwise('', '=r,r', [tl.load(x)], tl.float32, True, 1))",
        {"x": "*fp32:16"},
    ),
    "bits": ("x, q", "tl.store(x, (tl.load(q) >> 4) & 15)", {"q": "*i32:16"}),
    "a name with two roles": (
        "q, scales, y",
        "b = tl.load(q)\n    b = (b >> 4) & 15\n    b = b * tl.load(scales)\n    tl.store(y, b)",
        {"q": "*i32:16", "scales": "*fp32:16"},
    ),
    "a value that the next iteration reads": (
        "x, after", "at = 0\n    for i in range(4):\n        tl.store(x + at, 1.0)\n        at = tl.load(after + at)",
        {"after": "*i32:16"},
    ),
    "a lock": ("lock, x", "while tl.atomic_cas(lock, 0, 1) == 1:\n        pass", {"lock": "*i32:16"}),
    "stored integers": ("out", "tl.store(out, tl.program_id(0))", {"out": "*i32:16"}),
    "addresses": (
        "table, y",
        "p = tl.load(table).to(tl.pointer_type(tl.float32))\n    tl.store(y, tl.load(p))",
        {"table": "*i64:16"},
    ),
    "a scale": ("x, sm_scale", "tl.store(x, tl.load(x) * sm_scale)", {"sm_scale": "fp32"}),
    "a number of its use": ("x, a", "tl.store(x, tl.exp(a * 1.0))", {"a": "fp32"}),
    "a stride": ("x, s", "tl.store(x + tl.program_id(0) * s, 1.0)", {"s": "i32:16"}),
    "a step of a loop": (
        "x, y, stride, n",
        "p = x + tl.program_id(0)\n    for i in range(n):\n        tl.store(y + i, tl.load(p))\n        p += stride",
        {"stride": "i32:16", "x": "*fp32:16"},
    ),
    "a pointer that is stepped": (
        "x, y, s", "x += s\n    tl.store(y, tl.load(x))", {"x": "*fp32:16", "s": "i32:16"},
    ),
    "an index behind a choice of pointers": (
        "x, y, rows, F: tl.constexpr",
        "r = tl.load(rows)\n    y += r * 4\n    p = x if F else y\n    tl.store(p + tl.arange(0, 16), 1.0)",
        {"rows": "*i32:16", "x": "*fp32:16", "y": "*fp32:16"},
    ),
    "strides in one": (
        "x, strides, shape: tl.constexpr", "tl.store(x + tl.arange(0, 16) * strides[0] + strides[1], shape[0] + 1.0)",
        {"strides": "[64, 1]", "shape": "[64]"},
    ),
    "strides that are passed on": (
        "x, X_STRIDES: tl.constexpr, OUT_SHAPE: tl.constexpr",
        "tl.store(x + other((0, 1, 2), X_STRIDES), other(OUT_SHAPE))",
        {"X_STRIDES": "[64, 64, 1]", "OUT_SHAPE": "[64, 64]"},
    ),
    "a part of a block": (
        "x, BLOCK_M: tl.constexpr, BLOCK_FACTOR: tl.constexpr",
        "half: tl.constexpr = BLOCK_M // BLOCK_FACTOR\n    tl.store(x + tl.arange(0, half), 1.0)",
        {"BLOCK_M": "64", "BLOCK_FACTOR": "4"},
    ),
    "a size that is bounded": (
        "x, SEQ_LEN: tl.constexpr, DIM: tl.constexpr",
        "tl.static_assert(SEQ_LEN <= 4, 'long')\n    tl.static_assert(DIM < 33)\n    tl.store(x + SEQ_LEN + DIM, 1.0)",
        {"SEQ_LEN": "4", "DIM": "32"},
    ),
    "abbreviated sizes": (
        "x, KV_BLK_SZ: tl.constexpr, PART_SZ: tl.constexpr, GRP_SZ: tl.constexpr",
        "tl.store(x + KV_BLK_SZ + PART_SZ + GRP_SZ, 1.0)", {"KV_BLK_SZ": "64", "PART_SZ": "64", "GRP_SZ": "4"},
    ),
    "a function or None": (
        "x, ACT: tl.constexpr", "a = tl.load(x)\n    if ACT is not None:\n        a = ACT(a)\n    tl.store(x, a)",
        {"ACT": "None"},
    ),
    "iterations that are unrolled": (
        "x, n_levels: tl.constexpr, HEAD_DIM: tl.constexpr, B: tl.constexpr",
        "for i in tl.static_range(n_levels):\n        for j in tl.static_range(0, HEAD_DIM, B):\n"
        "            tl.store(x + i + j + tl.arange(0, B), 1.0)",
        {"n_levels": "4", "HEAD_DIM": "64", "B": "64"},
    ),
    "steps, which end in eps": (
        "x, num_steps: tl.constexpr, rms_eps: tl.constexpr, lmbda: tl.constexpr",
        "for i in range(num_steps):\n        tl.store(x + i, lmbda * tl.load(x + rms_eps))",
        {"num_steps": "4", "lmbda": "1.0", "rms_eps": "1e-06"},
    ),
    "a precision": (
        "x, INPUT_PRECISION: tl.constexpr",
        "a = tl.load(x + tl.arange(0, 16)[:, None])\n    tl.store(x, tl.dot(a, a, input_precision=INPUT_PRECISION))",
        {"INPUT_PRECISION": "'ieee'"},
    ),
    "a function's": ("x, r, n", "tl.store(x + inner(r, n), 1.0)", {"r": "*i32:16", "n": "i32:16"}),
    "a flag": ("x, HAS_BIAS: tl.constexpr", "if HAS_BIAS:\n        tl.store(x, 1.0)", {"HAS_BIAS": "False"}),
    "a text": (
        "x, act: tl.constexpr", "if act == 'relu':\n        tl.store(x, 1.0)", {"act": "'relu'"},
    ),
    "a dtype": ("x, T: tl.constexpr", "tl.store(x, tl.load(x).to(T))", {"T": "tl.float32"}),
    "a size": ("x, HEAD_DIM: tl.constexpr", "tl.store(x + tl.arange(0, HEAD_DIM), 1.0)", {"HEAD_DIM": "128"}),
    "another name of it": (
        "x, D: tl.constexpr, B: tl.constexpr", "tl.store(x + tl.arange(0, B), tl.zeros((D,), tl.float32))",
        {"D": "64", "B": "64"},
    ),
    "nothing": ("x, b", "if b is not None:\n        tl.store(x, 1.0)", {"b": "None"}),
}  # fmt: skip


@pytest.mark.parametrize("what", BODIES)
def test_the_body_says_what_a_parameter_is(assumed, what):
    parameters, body, expected = BODIES[what]
    found = assumed(
        f"@triton.jit\ndef kernel({parameters}):\n    {body}\n\n"
        "@triton.jit\ndef inner(r, n):\n    return tl.load(r + n)\n"
    )
    assert {name: found[name] for name in expected} == expected


def test_a_size_that_the_file_writes_somewhere_is_taken(assumed):
    kernel = (
        "@triton.jit\ndef k(x, BLOCK: tl.constexpr):\n    tl.store(x + tl.arange(0, BLOCK), 1.0)\n"
    )
    assert assumed(f"{kernel}\nBLOCK = 512\n")["BLOCK"] == "512"
    assert assumed(f"{kernel}\ndef run(x, BLOCK=96):\n    pass\n")["BLOCK"] == "128"
    assert assumed(f"{kernel}\ndef run(x, b):\n    k[(1,)](x, BLOCK=b)\n")["BLOCK"] == "128"


def test_what_is_assumed_is_marked_and_tried_in_other_ways(tmp_path):
    path = tmp_path / "kernels.py"
    text = (
        "@triton.jit\ndef k(x, n, BLOCK: tl.constexpr):\n    tl.store(x + tl.arange(0, BLOCK), n)\n"
    )
    path.write_text(HEAD + text + "\ndef run(x):\n    k[(1,)](x, 8, BLOCK=32)\n", "utf-8")
    (found,) = infer.infer(finding.read(path))[0].signatures
    assert [one.name for one in found.assumed] == ["x"]
    # What the file says is in each of them.
    assert len(found.attempts) > 1 and all("BLOCK=32" in str(one) for one in found.attempts)
    assert len({one.program for one in found.attempts}) == len(found.attempts)


def test_a_number_that_the_kernel_compares_with_is_tried_next(tmp_path):
    path = tmp_path / "kernels.py"
    body = "if BATCH_SIZE == 1:\n        a = 1.0\n    tl.store(x, a)"
    path.write_text(
        f"{HEAD}@triton.jit\ndef k(x, BATCH_SIZE: tl.constexpr):\n    {body}\n", "utf-8"
    )
    (found,) = infer.infer(finding.read(path))[0].signatures
    sizes = [str(one).partition("BATCH_SIZE=")[2] for one in found.attempts]
    assert sizes[:2] == ["128", "1"]


def test_indices_are_tried_as_torch_makes_them(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(
        f"{HEAD}@triton.jit\ndef k(x, rows):\n    tl.store(x + tl.load(rows), 1.0)\n", "utf-8"
    )
    (found,) = infer.infer(finding.read(path))[0].signatures
    assert ["rows *i64" in str(one) for one in found.attempts][:2] == [False, True]


def test_a_tensor_that_one_branch_shifts_is_tried_as_floats_too(tmp_path):
    path = tmp_path / "kernels.py"
    branches = "if PACKED:\n        a = tl.load(q) >> 4\n    else:\n        a = tl.exp(tl.load(q))"
    path.write_text(
        f"{HEAD}@triton.jit\ndef k(x, q, PACKED: tl.constexpr):\n    {branches}\n    tl.store(x, a)\n",
        "utf-8",
    )
    (found,) = infer.infer(finding.read(path))[0].signatures
    types = [one.arguments[1].type for one in found.attempts]
    assert types[0] == "*i32" and "*fp32" in types


def test_the_block_of_a_descriptor_has_the_sizes_of_the_kernel(tmp_path):
    path = tmp_path / "kernels.py"
    kernel = "@triton.jit\ndef k(q, HEAD_DIM: tl.constexpr):\n    q.store([0, 0], q.load([0, 0]) + HEAD_DIM)\n"
    path.write_text(
        f"{HEAD}from triton.tools.tensor_descriptor import TensorDescriptor\n\n{kernel}\n"
        "def run(x, y):\n    d = x.shape[-1]\n    x = y(x)\n    k[(1,)](TensorDescriptor.from_tensor(x, [16, d]), d)\n",
        "utf-8",
    )
    (found,) = infer.infer(finding.read(path))[0].signatures
    for attempt in found.attempts:
        made, head = attempt.arguments
        size = head.value["value"]
        assert made.assumed and made.value["arguments"][0]["sizes"] == [16, size]
        assert made.value["arguments"][1] == {"value": [16, size]}
    assert len(found.attempts) > 2


@pytest.mark.parametrize("before, device", [("", True), ("a = tl.load(a)\n    ", False)])
def test_a_function_that_takes_blocks_is_no_kernel(tmp_path, before, device):
    path = tmp_path / "kernels.py"
    body = f"{before}tl.store(out, tl.sum(tl.dot(a, tl.trans(a))))"
    path.write_text(f"{HEAD}@triton.jit\ndef k(a, out):\n    {body}\n", "utf-8")
    (found,) = infer.infer(finding.read(path))
    assert found.device is device and bool(found.signatures) is not device


def test_what_a_heuristic_compares_with_none_is_tried_without_it(tmp_path):
    path = tmp_path / "kernels.py"
    heuristic = '@triton.heuristics({"HAS": lambda args: args["b"] is not None})'
    body = "if HAS:\n        x += tl.load(b)\n    tl.store(x, 1.0)"
    kernel = f"{heuristic}\n@triton.jit\ndef k(x, b, HAS: tl.constexpr):\n    {body}\n"
    path.write_text(f"{HEAD}{kernel}\ndef run(x, b):\n    k[(1,)](x, b)\n", "utf-8")
    (found,) = infer.infer(finding.read(path))[0].signatures
    assert [one.arguments[1].type for one in found.attempts].count("none") == 1


def test_a_kernel_that_multiplies_bytes_is_tried_with_bytes_and_float_scales(tmp_path):
    path = tmp_path / "kernels.py"
    body = "p = tl.load(x).to(tl.int8)\n    tl.store(y, tl.dot(p, tl.load(v)) * tl.load(v_scale))"
    path.write_text(f"{HEAD}@triton.jit\ndef k(x, v, v_scale, y):\n    {body}\n", "utf-8")
    (found,) = infer.infer(finding.read(path))[0].signatures
    second = str(found.attempts[1])
    assert "v *i8" in second and "v_scale *fp32" in second


@pytest.mark.parametrize("named", ["RELU = tl.constexpr(3)", "RELU: tl.constexpr = 3", "RELU = 3"])
def test_a_constant_of_the_module_that_the_kernel_compares_with_is_assumed(assumed, named):
    kernel = "@triton.jit\ndef k(x, ACT_TYPE: tl.constexpr):\n    if ACT_TYPE == RELU:\n        tl.store(x, 1.0)\n"
    assert assumed(f"{named}\n\n{kernel}")["ACT_TYPE"] == "3"


KERNEL = "def k(x):\n    tl.store(x, 1.0)\n"
SPELLINGS = {
    "called": f"{KERNEL}\nf = triton.jit(k)\n",
    "called with options": f"{KERNEL}\nf = triton.jit(do_not_specialize=['x'])(k)\n",
    "tuned by a call": f"{KERNEL}\nf = triton.autotune(configs=[triton.Config({{}})], key=[])(triton.jit(k))\n",
    "a partial": f"from functools import partial\njit = partial(triton.jit, noinline=True)\n\n@jit\n{KERNEL}",
    "another name": f"compiled = triton.jit\n\n@compiled\n{KERNEL}",
    "a decorator of the file's": f"def mine(fn):\n    return triton.jit(fn)\n\n@mine\n{KERNEL}",
    "under a condition": f"if torch.cuda.is_available():\n    @triton.jit\n{textwrap.indent(KERNEL, '    ')}",
    "in a try": f"try:\n    import no\nexcept ImportError:\n    @triton.jit\n{textwrap.indent(KERNEL, '    ')}",
    "in a class": f"class Ops:\n    @staticmethod\n    @triton.jit\n{textwrap.indent(KERNEL, '    ')}",
    "in a function": f"def make():\n    @triton.jit\n{textwrap.indent(KERNEL, '    ')}    return k\n",
    "stacked": f"@other\n@triton.heuristics(VALUES)\n@triton.autotune(CONFIGS, key=[])\n@triton.jit\n{KERNEL}",
    "a library's door": f"from .compat import triton as t\n\n@t.jit\n{KERNEL}",
    "a jit of somebody's": f"from elsewhere import fast_jit\n\n@fast_jit()\n{KERNEL}",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_kernel_is_found_in_any_spelling(tmp_path, spelling):
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + SPELLINGS[spelling], "utf-8")
    (found,) = infer.infer(finding.read(path))
    assert str(found.signatures[0]) == "x *fp32:16"


def test_what_is_no_kernel_is_none(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(
        HEAD
        + "import numba\n\n@numba.njit\ndef f(x):\n    return x\n\n@torch.jit.script\ndef g(x):\n    return x\n"
        "\n@triton.jit\ndef h(x):\n    return x * 2\n",
        "utf-8",
    )
    (found,) = infer.infer(finding.read(path))
    assert found.device and not found.signatures and not found.why


def test_what_is_multiplied_by_a_number_with_a_point_is_a_float(assumed):
    assert assumed("@triton.jit\ndef kernel(x, s):\n    tl.store(x, s * 0.5)\n")["s"] == "fp32"


def test_what_is_shifted_is_an_integer_whatever_its_name_is_used_for_later(assumed):
    body = "b = tl.load(q)\n    b = (b >> 4) & 15\n    b = b * 0.5\n    tl.store(x, tl.exp(b))"
    assert assumed(f"@triton.jit\ndef kernel(x, q):\n    {body}\n")["q"] == "*i32:16"


def test_what_heuristics_give_is_not_passed_as_well_where_it_is_annotated(tmp_path):
    text = """
        @triton.heuristics(dict(TILES=lambda args: 4))
        @triton.jit
        def kernel(x, n: int, TILES: int, B: tl.constexpr):
            tl.store(x + tl.arange(0, B) + TILES, n)
    """
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + textwrap.dedent(text), "utf-8")
    (found,) = infer.infer(finding.read(path))
    assert not found.why and found.signatures[0].left == ("TILES",)
    assert "TILES" not in [one.name for one in found.signatures[0].arguments]


def test_a_launch_that_adds_in_integers_is_tried_with_integers(tmp_path):
    text = """
        @triton.jit
        def kernel(x, y, ACC: tl.constexpr):
            i = tl.arange(0, 16)
            a = tl.load(x + i[:, None] * 16 + i[None, :])
            tl.store(y + i[:, None] * 16 + i[None, :], tl.dot(a, a, out_dtype=ACC))

        def f(x, y):
            kernel[(1,)](x, y, tl.int32)
    """
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + textwrap.dedent(text), "utf-8")
    (found,) = infer.infer(finding.read(path))
    tried = [str(one.arguments[0]) for one in found.signatures[0].attempts]
    assert tried[:2] == ["x *fp32:16", "x *i8:16"]


@pytest.mark.parametrize("root, found", [("setup.py", True), ("", False)])
def test_a_checkouts_own_packages_are_found_above_its_file(tmp_path, root, found):
    file = tmp_path / "lib" / "ops" / "kernels.py"
    file.parent.mkdir(parents=True)
    (tmp_path / "src").mkdir()
    if root:
        (tmp_path / root).write_text("")
    above = source.above(file)
    assert (above[-2:] == [tmp_path, tmp_path / "src"]) is found


@pytest.mark.parametrize("names", [("'x'", "'n'"), ("0", "1")])
def test_what_torch_compile_says_of_its_kernel_is_taken(assumed, names):
    x, n = names
    found = assumed(f"""
        @pointwise(size_hints=[4], triton_meta={{'signature': {{{x}: '*bf16', {n}: 'i32'}}, 'device': Device(index=0)}})
        @triton.jit
        def k(x, n, XBLOCK: tl.constexpr):
            tl.store(x + tl.arange(0, XBLOCK), 1.0, mask=tl.arange(0, XBLOCK) < n)
        """)
    assert found == {"x": "*bf16:16", "n": "i32:16", "XBLOCK": "128"}
