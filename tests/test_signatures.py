"""`crosswarp check`: what a file's text says of its kernels' signatures, and what it does not say."""

from __future__ import annotations

import textwrap

import pytest

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.signatures import evaluation, finding, given, gluon, infer, source

HEAD = """
import torch
import triton
import triton.language as tl

"""
COPY = """
@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(y + o, tl.load(x + o, mask=o < n))

"""


@pytest.fixture
def inferred(tmp_path):
    """`inferred(text)`: by kernel, what is known of a file with this below its imports."""

    def make(text, signature=(), constexpr=(), dtype="fp32", name="kernels.py"):
        path = tmp_path / name
        path.write_text(HEAD + textwrap.dedent(text), "utf-8")
        found = infer.infer(
            finding.read(path),
            [given.signature(one) for one in signature],
            [given.constexpr(one) for one in constexpr],
            dtype,
        )
        return {one.kernel: one for one in found}

    return make


def copied(inferred, text, **options):
    """The one signature of `copy`, launched by `text`."""
    (signature,) = inferred(COPY + textwrap.dedent(text), **options)["copy"].signatures
    return signature


def origins(signature):
    return {one.name: one.origin for one in signature.arguments}


def test_a_launch_tells_constants_numbers_and_options(inferred):
    found = copied(
        inferred,
        """
        def run(x: torch.Tensor):
            y = torch.empty_like(x)
            copy[(1,)](x, y, x.numel(), BLOCK=128, num_warps=8)
        """,
    )
    assert str(found) == "x *fp32:16, y *fp32:16, n i32:16, BLOCK=128, num_warps=8"
    line = found.lines[0]
    assert origins(found)["BLOCK"] == found.origins["num_warps"] == f"the launch at line {line}"
    assert [one.name for one in found.arguments if one.assumed] == ["x", "y"]
    assert (found.id, found.positional, dict(found.options)) == (
        f"line-{line}", 3, {"num_warps": {"value": 8}},
    )  # fmt: skip


@pytest.mark.parametrize(
    "made, element",
    [
        ("torch.randn(8, 8)", "fp32"),
        ("torch.randn(8, 8, dtype=torch.float16)", "fp16"),
        ("torch.empty(8, device='cuda', dtype=torch.bfloat16)", "bf16"),
        ("torch.randint(0, 9, (8,))", "i64"),
        ("torch.zeros(8).to(torch.float8_e5m2)", "fp8e5"),
        ("torch.zeros(8).half().contiguous()", "fp16"),
        ("torch.ones_like(torch.zeros(8, dtype=torch.int32))", "i32"),
        ("torch.full((8,), 1.0)", "fp32"),
        ("torch.zeros(8).to('cuda')", "fp32"),
        ("torch.zeros(8, dtype=DTYPE)", "bf16"),
    ],
)
def test_where_the_file_tells_a_dtype_it_is_taken(inferred, made, element):
    found = copied(inferred, f"DTYPE = torch.bfloat16\nx = {made}\ncopy[(1,)](x, x, 4, 64)\n")
    assert [one.type for one in found.arguments[:2]] == [f"*{element}"] * 2
    assert not any(one.assumed for one in found.arguments)
    assert "its dtype at line" in origins(found)["x"]


def test_a_dtype_is_found_through_the_calls_of_the_launcher(inferred):
    found = copied(
        inferred,
        """
        class Op(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, block):
                y = torch.empty_like(x)
                copy[(1,)](x, y, x.shape[0], BLOCK=block)

        def test():
            Op.apply(torch.randn(96, dtype=torch.float16), 32)
        """,
    )
    assert str(found) == "x *fp16:16, y *fp16:16, n=96 i32, BLOCK=32"


def test_what_differs_between_calls_is_said_and_not_lost(inferred):
    found = copied(
        inferred,
        """
        def run(x, BLOCK=64):
            copy[(1,)](x, x, x.numel(), BLOCK)

        run(torch.zeros(8, dtype=torch.float16))
        run(torch.zeros(16), BLOCK=128)
        """,
    )
    x, _, n, block = found.arguments
    assert (x.type, x.others) == ("*fp16", ("a tensor of fp32",))
    # Of two sizes none is the size.
    assert (n.type, n.value) == ("i32", None)
    assert block.others


def test_a_branch_that_is_left_out_is_said(inferred):
    text = """
    def run(x):
        warps = 4
        if x.numel() > 9:
            warps = 8
        copy[(1,)](x, x, 1, BLOCK=64, num_warps=warps)
    """
    found = copied(inferred, text)
    assert found.options["num_warps"] == {"value": 4} and "also 8" in found.notes[0]
    both = copied(inferred, text.replace("if x.numel() > 9:", "with torch.no_grad():"))
    assert both.options["num_warps"] == {"value": 8} and not both.notes


def test_a_size_that_is_zero_is_assumed(inferred):
    found = copied(
        inferred,
        """
        def run(x: torch.Tensor, size: int = 0):
            if size <= 0:
                size = chosen(x)
            copy[(1,)](x, torch.empty_like(x), x.numel(), BLOCK=size)
        """,
    )
    block = found.arguments[-1]
    assert (block.name, block.value, block.assumed) == ("BLOCK", {"value": 128}, True)


def test_the_name_of_a_dtype_is_a_text(inferred):
    found = inferred(
        """
        @triton.jit
        def typed(x, dtype: tl.constexpr):
            tl.store(x, 1.0)

        def run(x):
            typed[(1,)](x, str(x.dtype))
        """
    )
    (signature,) = found["typed"].signatures
    assert signature.arguments[-1].value == {"value": "torch.float32"}


def test_numbers(inferred):
    found = copied(
        inferred,
        """
        def run(x, n: float, scale=2**40):
            copy[(1,)](x, None, scale, BLOCK=triton.next_power_of_2(100))
        """,
    )
    assert str(found) == f"x *fp32:16, y=None, n={2**40} i64, BLOCK=128"


def test_strides_of_what_is_as_it_was_made(inferred):
    text = "x = torch.zeros(8, 24)\ncopy[(1,)](x, x, {}, BLOCK=8)\n"
    assert copied(inferred, text.format("x.stride(0)")).arguments[2].value == 24
    assert copied(inferred, text.format("x.stride(-1)")).arguments[2].value == 1
    assert copied(inferred, text.format("x.t().stride(0)")).arguments[2].value is None
    # A tuple has no shape, whatever it holds.
    assert copied(inferred, text.format("(3, 4).shape[0]")).arguments[2].value is None


TUNED = """
@triton.autotune(configs={configs}, key=["n"])
@triton.heuristics({{"EVEN": lambda args: True}})
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)

tuned[(1,)](torch.zeros(8), 4)
"""


@pytest.mark.parametrize(
    "configs",
    [
        "[triton.Config({'BLOCK': 64}, num_warps=4), triton.Config(dict(BLOCK=128))]",
        "[triton.Config(kwargs={'BLOCK': b}) for b in (64, 128)]",
        "made_elsewhere()",
    ],
)
def test_decorators_give_what_the_launch_leaves_out(inferred, configs):
    (found,) = inferred(TUNED.format(configs=configs))["tuned"].signatures
    assert found.left == ("BLOCK", "EVEN") and str(found) == "x *fp32:16, n=4 i32"


def test_what_no_configuration_gives_is_assumed(inferred):
    (found,) = inferred(TUNED.format(configs="[triton.Config({'OTHER': 64})]"))["tuned"].signatures
    assert [one.name for one in found.assumed] == ["BLOCK"] and found.left == ("EVEN",)
    # Of what is computed elsewhere nobody knows, before it is imported, what it gives.
    (found,) = inferred(TUNED.format(configs="made_elsewhere()"))["tuned"].signatures
    assert [one.name for one in found.spare] == ["BLOCK"]


def test_what_nothing_can_be_assumed_for_is_said_with_the_option_that_would_help(inferred):
    text = """
    @triton.jit
    def called(x, FUNCTION: tl.constexpr):
        tl.store(x, FUNCTION(tl.load(x)))
    """
    found = inferred(text)["called"]
    assert not found.signatures and "--constexpr 'called:FUNCTION=?'" in found.why


def test_given_signatures_come_first_and_say_so(inferred):
    (found,) = inferred(COPY, ["copy:*fp16,*i64:any,i32:1"], ["cop*:BLOCK=32,num_warps=2"])[
        "copy"
    ].signatures
    assert str(found) == "x *fp16:16, y *i64:any, n i32:1, BLOCK=32, num_warps=2"
    assert set(origins(found).values()) == {"--signature", "--constexpr"}
    launched = COPY + "copy[(1,)](torch.zeros(8), torch.zeros(8), 4, BLOCK=64)\n"
    (part,) = inferred(launched, ["copy:x=*bf16"])["copy"].signatures
    assert str(part) == "x *bf16:16, y *fp32:16, n=4 i32, BLOCK=64"


@pytest.mark.parametrize(
    "option, text",
    [
        (given.signature, "copy"),
        (given.signature, "copy:*fp99"),
        (given.signature, "copy:i32:17"),
        (given.signature, "copy:*fp32:1"),
        (given.signature, "copy:fp16"),
        (given.constexpr, "copy:128"),
    ],
)
def test_what_is_no_option_is_refused_with_what_to_write(option, text):
    with pytest.raises(UsageError, match="Write|begin with|Pointers are"):
        option(text)


def test_a_signature_of_another_length_is_no_signature(inferred):
    why = inferred(COPY, ["copy:*fp32"])["copy"].why
    assert "x, y, n" in why and "x=*fp32" in why
    assert "no parameter" in inferred(COPY, ["copy:BLOCK=i32"])["copy"].why


def test_kernels_that_others_call_are_parts_of_them(inferred):
    found = inferred(
        """
        @triton.jit
        def twice(x):
            return x * 2

        @triton.jit
        def whole(x):
            tl.store(x, twice(tl.load(x)))

        whole[(1,)](torch.zeros(1))
        """
    )
    assert found["twice"].part_of == ("whole",) and not found["twice"].why
    assert found["whole"].signatures


def test_a_kernel_inside_a_function_has_the_launch_in_there(inferred):
    text = """
    def make():
        @triton.jit
        def inner(x):
            tl.store(x, 1)
        inner[(1,)](torch.zeros(1, dtype=torch.float16))
    """
    (found,) = inferred(text)["make.inner"].signatures
    assert str(found) == "x *fp16:16"


def test_classes_annotations_and_other_names(inferred):
    found = inferred(
        """
        from triton import jit as compiled

        class Ops:
            @staticmethod
            @compiled
            def kernel(x: "*bf16", n: tl.int64, m: "i32", BLOCK: "tl.constexpr" = 16):
                tl.store(x, 1)

        @torch.jit.script
        def none(x):
            return x
        """
    )
    assert list(found) == ["Ops.kernel"]
    assert str(found["Ops.kernel"].signatures[0]) == "x *bf16:16, n i64:16, m i32:16, BLOCK=16"


def test_launches_of_one_program_are_one(inferred):
    text = (
        COPY + "x = torch.zeros(8)\n" + "copy[(1,)](x, x, 4, 8)\n" * 2 + "copy[(1,)](x, x, 4, 16)\n"
    )
    first, second = inferred(text)["copy"].signatures
    assert len(first.lines) == 2 and second.arguments[-1].value == {"value": 16}


def test_files_that_are_not_ours_to_read(tmp_path, monkeypatch):
    broken = tmp_path / "broken.py"
    broken.write_text("def (:\n")
    with pytest.raises(UsageError, match="broken.py:1: SyntaxError"):
        finding.read(broken)
    for text in ("nothing.py", "no.such.module", str(tmp_path)):
        with pytest.raises(UsageError, match="Name"):
            source.find(text, [str(tmp_path)])


def test_a_module_is_found_and_not_imported(tmp_path):
    package = tmp_path / "lib" / "ops"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").write_text("raise SystemExit('imported')\n")
    (package / "one.py").write_text(HEAD + COPY)
    path = source.find("lib.ops.one", [str(tmp_path)])
    found = finding.read(path)
    assert (found.path, found.module, found.root) == (package / "one.py", "lib.ops.one", tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "x = x\ncopy[(1,)](x, x, x, x)\n",
        "def f(x):\n    return f(x)\ncopy[(1,)](f(f), f(1), 1 << 10**9, BLOCK=9 ** 9 ** 9)\n",
        "a, *b = c = d, e = 1, (2, 3)\ncopy[(1,)](*a, **b)\n",
        "copy[(1,)](lambda: 1, (yield), [i for i in x], BLOCK={}[0])\n",
        "x += 1\nfor x, y in z:\n    copy[x](x, y, z / 0, 1 // 0)\n",
    ],
)
def test_no_text_breaks_it(inferred, text):
    found = inferred(COPY + text)["copy"]
    assert found.why or all(one.assumed for one in found.signatures)


@pytest.mark.parametrize("inside, module", [(False, ""), (True, "triton.permute")])
def test_a_folder_of_kernels_named_triton_is_not_triton(tmp_path, inside, module):
    folder = tmp_path / "triton"
    (folder / "runtime" if inside else folder).mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "permute.py").write_text("x = 1\n")
    assert source.parse(folder / "permute.py").module == module


GLUON = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@gluon.jit
def moved(x_ptr, y_ptr, n, BLOCK: gl.constexpr, layout: gl.constexpr):
    o = gl.arange(0, BLOCK, layout=layout)
    gl.store(y_ptr + o, gl.load(x_ptr + o, mask=o < n), mask=o < n)


@gluon.jit
def fetched(source, y_ptr, ROWS: gl.constexpr):
    tile = gl.allocate_shared_memory(source.dtype, [ROWS, ROWS], source.layout)
    tma.async_load(source, [0, 0], tile)

"""


def test_a_layout_is_a_constant_that_a_launch_makes(inferred):
    (signature,) = inferred(
        GLUON
        + "LANES = 32\nx = torch.zeros(8, dtype=torch.float16)\n"
        + "layout = gl.SliceLayout(1, gl.BlockedLayout([1, 4], [1, LANES], warps_per_cta=[4, 1], order=[1, 0]))\n"
        + "moved[(1,)](x, x, 8, BLOCK=256, layout=layout)\n"
    )["moved"].signatures
    assert signature.arguments[-1].value == {
        "made": "triton.experimental.gluon.language.SliceLayout",
        "arguments": [
            {"value": 1},
            {
                "made": "triton.experimental.gluon.language.BlockedLayout",
                "arguments": [{"value": [1, 4]}, {"value": [1, 32]}],
                "words": {"warps_per_cta": {"value": [4, 1]}, "order": {"value": [1, 0]}},
            },
        ],
        "words": {},
    }
    assert not signature.assumed
    assert str(signature).endswith(
        "layout=gl.SliceLayout(1, gl.BlockedLayout([1, 4], [1, 32], warps_per_cta=[4, 1], order=[1, 0]))"
    )


def test_nothing_is_assumed_for_a_layout_and_it_can_be_given(inferred):
    found = inferred(GLUON)["moved"]
    assert (
        not found.signatures
        and "for layout (a layout of Gluon's is given as gl.Blocked" in found.why
    )
    named = GLUON.replace("layout: gl", "L: gl").replace("layout=layout", "layout=L")
    assert "assumed for L (a layout" in inferred(named)["moved"].why
    given_ = "moved:layout=gl.BlockedLayout([1], [32], [4], [0]),BLOCK=64"
    (signature,) = inferred(GLUON, constexpr=[given_])["moved"].signatures
    assert str(signature).endswith("BLOCK=64, layout=gl.BlockedLayout([1], [32], [4], [0])")
    assert [one.type for one in signature.arguments[:3]] == ["*fp32", "*fp32", "i32"]


@pytest.mark.parametrize(
    "made, element, assumed",
    [("torch.zeros(8, 8, dtype=torch.float16)", "fp16", False), ("other()", "fp32", True)],
)
def test_a_descriptor_is_of_a_tensor_as_large_as_its_block(inferred, made, element, assumed):
    (signature,) = inferred(
        GLUON
        + "def run(x: torch.Tensor):\n    layout = gl.NVMMASharedLayout.get_default_for([64, 32], gl.float16)\n"
        + f"    x = {made}.view(8, 8) if {not assumed} else x\n"
        + "    fetched[(1,)](TensorDescriptor.from_tensor(x, [64, 32], layout), x, ROWS=64)\n"
    )["fetched"].signatures
    source_, ROWS = signature.arguments[0], signature.arguments[-1]
    assert (source_.type, source_.assumed, ROWS.value) == ("descriptor", assumed, {"value": 64})
    assert source_.value["arguments"][:2] == [
        {"tensor": element, "sizes": [64, 32]},
        {"value": [64, 32]},
    ]


def test_of_gluon_no_number_is_assumed_where_it_may_be_memory(inferred):
    found = inferred(
        GLUON + "@gluon.jit\ndef part(descriptor, tile):\n    other(descriptor, tile)\n"
    )
    assert "nothing can be assumed for descriptor, tile" in found["part"].why
    assert "nothing can be assumed for source" in found["fetched"].why


@pytest.mark.parametrize(
    "used, backend",
    [
        ("gl.amd.cdna3.buffer_load(x, x)", "hip"),
        ("tma.store_wait(0)", "cuda"),
        ("gl.load(x)", ""),
        ("gl.amd.cdna3.buffer_load(x, tma.x)", ""),
    ],
)
def test_a_kernel_in_gluon_may_be_for_one_backend(tmp_path, used, backend):
    path = tmp_path / "kernels.py"
    path.write_text(f"{GLUON}@gluon.jit\ndef chosen(x):\n    {used}\n", "utf-8")
    found = finding.read(path)
    (kernel,) = [one for one in found.kernels if one.name == "chosen"]
    assert gluon.backend(found, kernel) == backend


def test_a_library_hands_gluon_on_under_its_own_name(inferred):
    found = inferred(
        "from mine.door import gl, gluon\n@gluon.jit\ndef k(x_ptr, L: gl.constexpr):\n"
        "    gl.store(x_ptr + gl.arange(0, 64, L), 1.0)\n"
        "k[(1,)](torch.zeros(8), gl.BlockedLayout([1], [32], [4], [0]))\n"
    )["k"]
    assert str(found.signatures[0]) == "x_ptr *fp32:16, L=gl.BlockedLayout([1], [32], [4], [0])"


def test_a_launcher_that_is_passed_a_kernel_launches_it(inferred):
    # As Helion writes it.
    found = copied(
        inferred,
        """
        def run(x: torch.Tensor, *, _launcher=_default_launcher):
            y = torch.empty_like(x)
            _launcher(copy, (4,), x, y, 100, BLOCK=64, num_warps=2, num_stages=1)
        """,
    )
    assert str(found) == "x *fp32:16, y *fp32:16, n=100 i32, BLOCK=64, num_warps=2, num_stages=1"


def test_functions_that_call_each_other_often_are_followed_once(tmp_path, monkeypatch):
    text = "import torch\nimport triton\n\n@triton.jit\ndef k(x, n):\n    pass\n\ndef f0(x, n):\n    k[(1,)](x, n)\n"
    for place in range(1, 10):
        calls = f"    f{place - 1}(x, n)\n" * 3
        text += f"\ndef f{place}(x, n):\n{calls}"
    text += "\ndef main():\n    f9(torch.ones(4, dtype=torch.float16), 8)\n"
    path = tmp_path / "kernels.py"
    path.write_text(text, "utf-8")
    steps = []
    own = evaluation.Evaluation._kind

    def counted(self, node, scope, depth):
        steps.append(node)
        return own(self, node, scope, depth)

    monkeypatch.setattr(evaluation.Evaluation, "_kind", counted)
    (found,) = infer.infer(finding.read(path))[0].signatures
    assert str(found) == "x *fp16:16, n=8 i32" and len(steps) < 1000


@pytest.mark.parametrize(
    "decorators, word, passed",
    [("", "TILE", True), ("", "num_warps", False), ("@other\n", "TILE", False)],
)
def test_a_word_that_triton_refuses_is_passed_although_its_value_is_unknown(
    tmp_path, decorators, word, passed
):
    path = tmp_path / "kernels.py"
    path.write_text(
        "import triton\nfrom elsewhere import other, size\n\n"
        f"{decorators}@triton.jit\ndef k(x, n):\n    pass\n\n"
        f"def run(x):\n    k[(1,)](x, 1, {word}=size(x))\n",
        "utf-8",
    )
    (found,) = infer.infer(finding.read(path))[0].signatures
    assert (word in found.options) is passed


@pytest.mark.parametrize(
    ("first", "offset", "type_"),
    [
        ("x: int", "o", "*fp32"),
        ("x: tl.int32", "BLOCK + o", "*fp32"),
        ("x: int", "shift + o", "i32"),
        ("x: int, y", "y + o", "i32"),
    ],
)
def test_the_use_of_a_parameter_wins_over_an_annotation_as_a_number(inferred, first, offset, type_):
    kernel = f"""
        @triton.jit
        def kernel({first}, shift, BLOCK: tl.constexpr):
            o = tl.arange(0, BLOCK)
            tl.store(x + {offset}, 1.0)
        """
    (signature,) = inferred(kernel)["kernel"].signatures
    assert {one.name: one.type for one in signature.arguments}["x"] == type_


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        ("x = x.to(tl.pointer_type(tl.float32))", "i64"),
        ("pass", "*fp32"),
        ("x = shift + x", "i32"),
    ],
)
def test_a_launcher_that_calls_its_pointer_an_integer(inferred, body, type_):
    text = f"""
        @triton.jit
        def kernel(x, shift, BLOCK: tl.constexpr):
            {body}
            o = tl.arange(0, BLOCK)
            tl.store(x + o, 1.0)

        def run(x: int):
            kernel[(1,)](x, 3, 64)
        """
    (signature,) = inferred(text)["kernel"].signatures
    assert {one.name: one.type for one in signature.arguments}["x"] == type_


def test_the_base_of_an_address_may_stand_behind_a_number(inferred):
    text = """
        @triton.jit
        def kernel(shift: tl.int32, index, x, BLOCK: tl.constexpr):
            row = tl.load(index)
            tl.store(shift + x + tl.arange(0, BLOCK), 1.0)
            tl.store(row + x, 1.0)
        """
    (signature,) = inferred(text)["kernel"].signatures
    types = {one.name: one.type for one in signature.arguments}
    assert types["shift"] == "i32"
    assert (types["x"], types["index"]) == ("*fp32", "*i32")


def test_a_default_is_left_to_configurations_that_the_file_does_not_show(inferred):
    text = """
        from elsewhere import configs

        @triton.autotune(configs=configs(), key=[])
        @triton.jit
        def kernel(x, BLOCK: tl.constexpr = 16):
            tl.store(x + tl.arange(0, BLOCK), 1.0)

        def run(x: torch.Tensor, **options):
            kernel[(1,)](x, **options)
        """
    (signature,) = inferred(text)["kernel"].signatures
    assert [one.name for one in signature.arguments] == ["x"]
    assert signature.left == ("BLOCK",) and not signature.spare


# Passed by a function whose parameters are a tensor, a whole number, a float, a truth, and one without an annotation.
NUMBERS = """
7  # n=7 i32
-7  # n=-7 i32
not 0  # n=True i1
2 + 3  # n=5 i32
7 - 9  # n=-2 i32
3 * 4  # n=12 i32
7 // 2  # n=3 i32
7 / 2  # n=3.5 fp32
7 % 4  # n=3 i32
1 << 5  # n=32 i32
64 >> 2  # n=16 i32
2 ** 10  # n=1024 i32
2 ** 70  # n i32:16
1 << 70  # n i32:16
2 ** 0.5  # n=1.4142135623730951 fp32
1.5 + 1  # n=2.5 fp32
min(3, 5)  # n=3 i32
max(3, 5)  # n=5 i32
min(2.5, 3)  # n=2.5 fp32
int(3.7)  # n=3 i32
int(-3.7)  # n=-3 i32
len((1, 2))  # n i32:16
math.ceil(3.2)  # n=4 i32
math.floor(3.7)  # n=3 i32
math.sqrt(16.0)  # n=4.0 fp32
math.log2(8)  # n=3.0 fp32
float(3)  # n=3.0 fp32
triton.cdiv(7, 2)  # n=4 i32
triton.next_power_of_2(100)  # n=128 i32
triton.next_power_of_2(1)  # n=1 i32
triton.next_power_of_2(64)  # n=64 i32
bool(3)  # n i1
(3, 4)[1]  # n=4 i32
[3, 4][0]  # n=3 i32
1 if b else 2  # n=1 i32
3 if b else 3  # n=3 i32
i + 1  # n i32:16
i * 2.0  # n fp32
i / 2  # n fp32
i // 2  # n i32:16
f + 1  # n fp32
f ** 2  # n fp32
i ** 2  # n i32:16
u + 1  # n i32:16
u + 1.0  # n i32:16
u ** 0.5  # n fp32
i < 2  # n i1
i and 3  # n=3 i32
b or b  # n i1
b and (i < 2)  # n i1
not b  # n i1
-f  # n fp32
-i  # n i32:16
min(i, 3)  # n i32:16
min(i, 3.0)  # n i32:16
min(u, 3)  # n i32:16
min()  # n i32:16
len(u)  # n i32:16
int(u)  # n i32:16
triton.cdiv(i, 2)  # n i32:16
triton.cdiv(7, i)  # n i32:16
float(u)  # n fp32
math.exp(u)  # n fp32
bool(u)  # n i1
x.ndim  # n i32:16
x.itemsize  # n i32:16
x.shape[0]  # n i32:16
x.numel()  # n i32:16
u.shape[0]  # n i32:16
u.size(0)  # n i32:16
2**31 - 1  # n=2147483647 i32
2**31  # n=2147483648 i64
-2**31 - 1  # n=-2147483649 i64
2**63  # n=9223372036854775808 u64
1 // 0  # n i32:16
True  # n=True i1
True + 1  # n=2 i32
None  # n=None
"""


@pytest.mark.parametrize("line", NUMBERS.strip().splitlines())
def test_what_a_launch_passes(inferred, line):
    expression, _, argument = line.partition("  # ")
    head = "import math\ndef run(x: torch.Tensor, i: int, f: float, b: bool, u):\n"
    arguments = copied(inferred, f"{head}    copy[(1,)](x, x, {expression}, BLOCK=8)\n")
    assert str(arguments.arguments[2]) == argument


# The uses of `u` in a kernel, of which its launch says nothing -> the types that both are passed as.
USES = """
tl.store(x + u, 1.0)  # x *fp32 | u i32
tl.store(x + u * 4, 1.0)  # x *fp32 | u i32
tl.store(x, tl.load(u))  # x *fp32 | u *fp32
tl.store(u, 1.0)  # x *fp32 | u *fp32
tl.store(u + 4, 1.0)  # x *fp32 | u *fp32
tl.store(x, tl.load(x + o, mask=o < u))  # x *fp32 | u i32
tl.store(x + o, 1.0, mask=o < u)  # x *fp32 | u i32
tl.store(x, u)  # x *fp32 | u i32
tl.store(x, u * 2.0)  # x *fp32 | u fp32
tl.store(x, u + 0.5)  # x *fp32 | u fp32
tl.store(x, tl.exp(u))  # x *fp32 | u fp32
tl.store(x, tl.where(o < 4, u, 0.0))  # x *fp32 | u i32
tl.store(x, u & 1)  # x *fp32 | u i32
tl.store(x, u >> 1)  # x *fp32 | u i32
tl.store(x, ~u)  # x *fp32 | u i1
tl.store(x, -u)  # x *fp32 | u i32
tl.store(x, u // 2)  # x *fp32 | u i32
tl.store(x, u % 2)  # x *fp32 | u i32
if u:\\n        tl.store(x, 1.0)  # x *fp32 | u i1
if not u:\\n        tl.store(x, 1.0)  # x *fp32 | u i1
if u > 3:\\n        tl.store(x, 1.0)  # x *fp32 | u i32
if u is not None:\\n        tl.store(x, tl.load(u))  # x *fp32 | u *fp32
for i in range(u):\\n        tl.store(x + i, 1.0)  # x *fp32 | u i32
for i in range(0, 8, u):\\n        tl.store(x + i, 1.0)  # x *fp32 | u i32
tl.store(x + tl.arange(0, 8) * u, 1.0)  # x *fp32 | u i32
tl.store(x + tl.program_id(0) * u, 1.0)  # x *fp32 | u i32
tl.atomic_add(u, 1)  # x *fp32 | u *i32
tl.atomic_add(x, u)  # x *fp32 | u i32
tl.store(x, u.to(tl.float32))  # x *fp32 | u i32
tl.store(x, tl.cast(u, tl.float32))  # x *fp32 | u i32
tl.store(x, tl.cdiv(u, 4))  # x *i32 | u i32
tl.store(x, tl.sqrt(u))  # x *fp32 | u fp32
tl.store(x, tl.maximum(u, 0.0))  # x *fp32 | u i32
tl.store(x, tl.load(tl.make_block_ptr(u, (4,), (1,), (0,), (4,), (0,))))  # x *fp32 | u *fp32
tl.store(x, tl.load(tl.make_block_ptr(x, (u,), (1,), (0,), (4,), (0,))))  # x *fp32 | u i32
tl.store(x, tl.load(tl.make_block_ptr(x, (4,), (u,), (0,), (4,), (0,))))  # x *fp32 | u i32
v = u\\n    tl.store(x + v, 1.0)  # x *fp32 | u i32
v = u + o\\n    tl.store(v, 1.0)  # x *fp32 | u *fp32
u += 4\\n    tl.store(u, 1.0)  # x *fp32 | u *fp32
tl.store(x, 1.0 if u else 2.0)  # x *fp32 | u i1
tl.device_assert(u)  # x *fp32 | u i32
tl.device_assert(u < 3)  # x *fp32 | u i32
tl.store(x, u == 3)  # x *fp32 | u i32
tl.multiple_of(u, 8)  # x *fp32 | u i32
tl.store(x + (u and 1), 1.0)  # x *fp32 | u i1
pass  # x *fp32 | u i32
"""


@pytest.mark.parametrize("line", USES.strip().splitlines())
def test_what_a_use_says_of_a_parameter(inferred, line):
    body, _, passed = line.partition("  # ")
    body = body.replace("\\n", "\n")
    result = inferred(
        f"@triton.jit\ndef k(x, u):\n    o = tl.arange(0, 8)\n    {body}\n\n"
        "def run(x: torch.Tensor, u):\n    k[(1,)](x, u)\n"
    )
    (signature,) = result["k"].signatures
    assert " | ".join(map(str, signature.arguments)).replace(":16", "") == passed
