"""`crosswarp why` on texts made to mislead it: errors of others, wrong facts, parts left out, several failures."""

from __future__ import annotations

import json

import pytest

from crosswarp.matrix.facts import known_texts
from crosswarp.reports.findings.answers import answers
from crosswarp.reports.findings.error_text import Facts, Log
from crosswarp.reports.text import why_text

ISSUES, SHIMS = known_texts.packed()
TRACEBACK = "Traceback (most recent call last):\n"
FRAME = '  File "/x/site-packages/triton/compiler/compiler.py", line 3, in compile\n'


def found(text, **facts):
    return answers(text, ISSUES, SHIMS, Facts(**facts))


# Others' errors


@pytest.mark.parametrize(
    "text",
    [
        "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: ptxas exited with non-zero error code 65280, output: ptxas "
        "fatal   : Value 'sm_120' is not defined for option 'gpu-name'",
        "numba.cuda.cudadrv.driver.LinkerError: [218] Call to cuLinkAddData results in CUDA_ERROR_INVALID_PTX\n"
        "ptxas application ptx input, line 9; fatal   : Unsupported .version 8.4; current version is '8.2'",
        "[2/3] /usr/local/cuda/bin/nvcc -c kernel.cu\nnvcc fatal   : Unsupported gpu architecture 'compute_120'",
        "ptxas error   : Entry function '_Z6kernelPf' uses too much shared data (0x12000 bytes, 0xc000 max)\n"
        "make: *** [Makefile:12: kernel.o] Error 255",
        "LLVM ERROR: Cannot select: t12: v4i32 = X86ISD::PSHUFD t3\nclang: error: clang frontend command failed",
        "iree-compile: error: 'arith.addi' op requires the same type for all operands and results",
        "optuna: TypeError: autotune() got an unexpected keyword argument 'warps'",
        "LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.mma\n"
        "Stack dump:\n0.\tProgram arguments: /opt/llvm/bin/llc x.ll",
        "tritonclient.utils.InferenceServerException: unable to open shared memory region: out of resource",
    ],
)
def test_what_another_program_says_in_the_same_words_is_never_certain(text):
    for one in found(text)[:1]:
        assert one.doubtful or one.entry.foreign, one
        assert not one.certain and not one.fits
    # With a frame of Triton's it is Triton's.
    assert not any(one.doubtful for one in found(FRAME + text)[:1])


@pytest.mark.parametrize(
    "text",
    [
        "TypeError: load() got an unexpected keyword argument 'mask'",
        "TypeError: 'function' object is not subscriptable",
        "TypeError: forward() missing 2 required positional arguments: 'x' and 'mask'",
        "AttributeError: 'Name' object has no attribute 'func'",
        "AttributeError: 'NoneType' object has no attribute 'shape'",
        "AttributeError: 'Foo' object has no attribute 'handle'",
        "KeyError: '...'",
        '  File "/srv/triton/models/1/model.py", line 12, in execute\n    y = cfg["a"]\nKeyError: \'a\'',
        '  File "/home/me/triton-demo/app.py", line 3, in <module>\n'
        "AttributeError: 'NoneType' object has no attribute 'shape'",
        "OSError: [Errno 28] No space left on device: '/home/me/data.bin'",
        "Segmentation fault (core dumped)",
        "triton 3.2.0 installed\nAll tests passed, 0 errors",
        'TypeError: can only concatenate list (not "tuple") to list',
    ],
)
def test_python_s_errors_and_folders_of_that_name_are_not_answered(text):
    assert found(text) == []


def test_a_frame_counts_for_its_own_failure():
    other = f"{TRACEBACK}  File \"/x/app.py\", line 3\nAttributeError: 'Foo' object has no attribute 'handle'\n"
    own = f"{TRACEBACK}{FRAME}ValueError: arange's range must be a power of 2\n"
    for text in (other + own, own + other):
        assert [one.id for one in found(text)] == ["arange-power-of-two"]
    # The one traceback has what stands around it.
    assert found(f"@triton.jit\n{other}")


def test_an_answer_for_any_exception_comes_behind_that_of_another_failure():
    other = f"{TRACEBACK}{FRAME}KeyError: 'something'\n"
    own = f"{TRACEBACK}{FRAME}ValueError: arange's range must be a power of 2\n"
    assert [one.id for one in found(other + own)][0] == "arange-power-of-two"


# Facts that contradict


@pytest.mark.parametrize(
    "text, facts, wrong",
    [
        ("AttributeError: module 'triton.language' has no attribute 'gather'", {"triton": "3.9.0"}, "in 3.3 to 3.9"),
        (
            "ValueError(\"type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e5')\")",
            {"target": "sm_90"}, None,
        ),
        (
            "NotImplementedError: Block pointers have been removed in favor of the tensor descriptor API",
            {"triton": "3.2.0"}, None,
        ),
        ("cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler'", {"triton": "3.0.0"}, None),
        ("TypeError: missing a required argument: 'num_warps'", {"triton": "3.6.0"}, None),
        (
            "LinearLayout.cpp:500: LinearLayout::reshapeOuts: Assertion `getTotalOutDimSize() == x' failed",
            {"triton": "3.2.0", "target": "gfx942"}, None,
        ),
    ],
)  # fmt: skip
def test_what_the_release_or_the_gpu_rules_out_is_never_certain(text, facts, wrong):
    first = found(text, **facts)[0]
    assert not first.certain and not first.fits
    said = why_text.terminal(found(text, **facts), facts.get("triton"))
    assert "this text is its own" not in said.partition("\n\n2.")[0]
    assert wrong is None or wrong not in said


def test_a_cause_that_nothing_allows_is_said_to_be_none():
    text = 'ValueError("type fp8e4nv not supported in this architecture")'
    said = " ".join(why_text.terminal(found(text, target="sm_90"), None).split())
    assert "not of the release or GPU that is named" in said
    assert found(text, target="sm_80")[0].certain


# Parts left out


@pytest.mark.parametrize(
    "text",
    [
        "ptxas error ... blah",
        "RuntimeError: `ptxas` failed with error code 255: \n…",
        "ImportError: cannot import name '...' from 'triton'",
        "KeyError: 'Keyword argument ...'",
        '  File ".../triton/compiler/compiler.py", line ...\nRuntimeError: ...',
    ],
)
def test_where_the_name_is_left_out_nothing_is_certain_and_no_shim_offered(text):
    for one in found(text)[:1]:
        assert not one.certain and not one.fits, one


# What a traceback quotes


def test_the_source_that_a_traceback_shows_was_not_said():
    text = (
        "Traceback (most recent call last):\n"
        '  File "/x/triton/language/semantic.py", line 5, in make_shape_compatible\n'
        '    raise ValueError("Cannot make_shape_compatible: incompatible dimensions "\n'
        "ValueError: Cannot make_shape_compatible: incompatible dimensions at index 0: 16 and 32\n"
    )
    first = found(text)[0]
    assert (first.id, first.number, first.certain) == ("broadcast-shapes", 4, True)
    assert [line.quoted for line in Log(text).lines] == [False, False, True, False]
    # Alone it is evidence, and none to be certain of.
    alone = text.replace("ValueError: Cannot make_shape_compatible", "ValueError: x")
    assert not any(one.certain for one in found(alone))


def test_the_source_that_triton_points_at_was_not_said():
    text = (
        '    tl.device_assert((0 <= ids) & (ids < 7), "index out of bounds: 0 <= ids < 7")\n'
        "    ^\n"
        "AttributeError(\"'NoneType' object has no attribute 'f_code'\")\n"
    )
    assert found(text)[0].id == "device-assert-frame"
    assert [line.quoted for line in Log(text).lines] == [True, False, False]


def test_pytest_shows_source_in_both_its_ways():
    text = (
        "    def test_one():\n>       kernel[(1,)](x)\n\ntests/test_x.py:3: \n"
        '/x/triton/runtime/jit.py:500: in run\n    raise ValueError("arange\'s range must be a power of 2")\n'
        "E   ValueError: arange's range must be a power of 2\n"
    )
    first = found(text)[0]
    assert (first.id, first.number) == ("arange-power-of-two", 7)


def test_a_wording_that_begins_with_anything_begins_at_its_first_word():
    text = (
        'Traceback (most recent call last):\n  File "/x/triton/language/core.py", line 3, in __init__\n'
        '    assert isinstance(arg1, constexpr), f"{arg1} is used"\n'
        "AssertionError: 4 used as tl.static_range start value is not a constexpr\n"
    )
    assert (found(text)[0].id, found(text)[0].number) == ("static-range-constexpr", 4)


# What several causes share


def test_an_author_s_mistake_in_the_words_of_a_known_issue_is_not_answered_with_its_shim():
    text = FRAME + "AssertionError: all reduction inputs must have the same shape"
    first = found(text, triton="3.1.0")[0]
    assert first.id == "reduction-inputs" and not first.certain
    assert first.causes[0].cause.issue is None
    shown = found("    counts = tl.histogram(x, 16)\n" + text, triton="3.1.0")[0]
    assert shown.causes[0].cause.issue == "triton-4860"
    text = "NameError(\"Cannot access global variable G from within @jit'ed function."
    assert (
        found(text)[0].id == "global-not-constexpr" and found(text)[0].causes[0].cause.issue is None
    )
    annotated = found(f"G: tl.constexpr = 3\n{text}", triton="3.4.0")[0]
    assert annotated.causes[0].cause.issue == "annotated-globals"


def test_an_assertion_without_words_is_read_from_the_statement():
    head = "triton.compiler.errors.CompilationError: at 3:4:\ndef kernel(p):\n"
    first = found(f"{head}    a[0] = 1.0\n    ^\nAssertionError()")[0]
    assert "Elements of a tile are assigned" in first.causes[0].cause.why
    first = found(f"{head}    for i in tl.static_range(n):\n    ^\nAssertionError()")[0]
    assert "tl.static_range got a bound" in first.causes[0].cause.why


# Logs


def test_workers_and_containers_prefixes_are_taken_away():
    front = "(EngineCore_DP0 pid=77) ERROR 11-26 10:00:09 [core.py:700] "
    said = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable"
    (line,) = Log(front + said).lines
    assert line.text == said
    (line,) = Log(f"2026-11-26T10:00:00.000000000Z stderr F {said}").lines
    assert line.text == said


def test_of_a_long_log_triton_s_lines_are_read_wherever_they_stand():
    words = ["worker", "ERROR", "request", "failed", "assert", "cache", "retry"]
    noise = "".join(
        f"{' '.join(words[(n + k * k) % 7] for k in range(n % 9 + 4))} {chr(97 + n % 26)}{chr(97 + n // 26 % 26)}"
        f"{chr(97 + n // 676 % 26)}\n"
        for n in range(11_000)
    )
    middle = noise.index("\n", len(noise) // 2) + 1
    said = "triton.compiler.errors.CompilationError: at 3:4:\nValueError: arange's range must be a power of 2\n"
    text = noise[:middle] + said + noise[middle:]
    assert len(text) > 400_000
    first = found(text)[0]
    assert first.id == "arange-power-of-two" and first.number > 4000


# Titles, vendors and platforms


@pytest.mark.parametrize(
    "text, first",
    [
        ("cannot access `/.triton` in OpenShift", "cache-permission"),
        ("Permission problem with the triton cache as a non-root user", "cache-permission"),
        ("triton cache is corrupted when multiple processes start", "shared-cache-race"),
        ("ptxas too old for sm_121", "ptxas-unknown-gpu"),
        ("bf16 not supported on V100 with triton", "bf16-arch"),
        ("tl.load gives wrong values for bf16 when TRITON_INTERPRET is set", "interpreter-bf16"),
        ("pip install triton fails on macOS", "triton-missing"),
        ("torch and triton version mismatch", "pin-conflict"),
        ("torch.compile hangs with triton", "symptom-hang"),
        ("make_tensor_descriptor fails on sm_89", "tma-target"),
    ],
)
def test_a_title_without_a_message_finds_its_entry_in_any_order_of_words(text, first):
    (one, *_) = found(text)
    assert one.id == first and not one.certain and not one.doubtful


def test_a_title_is_short_names_triton_and_gives_way_to_a_message():
    title = "cannot access the cache of triton: permission"
    assert [one.id for one in found(title)][:1] == ["cache-permission"]
    # Without Triton in it, of another program, or one sentence of a long text.
    assert found(title.replace("of triton", "of pip")) == []
    assert (
        found(f"{title}\ntritonserver: exit") == []
        or found(f"{title}\ntritonserver: exit")[0].entry.foreign
    )
    assert "cache-permission" not in [one.id for one in found(f"{title}\n" + "some words\n" * 60)]
    message = "ValueError: arange's range must be a power of 2"
    assert [one.id for one in found(f"{title}\n{message}")][0] == "arange-power-of-two"


@pytest.mark.parametrize(
    "message",
    ["RuntimeError: PassManager::run failed", "error: failed to legalize operation 'tt.dot'"],
)
def test_a_vendor_s_backend_in_the_text_is_not_answered_with_nvidia_s_gpus(message):
    frame = '  File "/x/site-packages/triton/backends/{}/compiler.py", line 3, in make_ttgir\n'
    for folder, name in (("intel", "Intel"), ("ascend", "Ascend"), ("mthreads", "Moore Threads")):
        assert name in found(frame.format(folder) + message)[0].causes[0].cause.why
    why = found(frame.format("nvidia") + message)[0].causes[0].cause.why
    assert not any(name in why for name in ("Intel", "Ascend", "Moore Threads"))


def test_the_platform_that_the_text_shows_decides_which_cause_is_first():
    def why(text):
        return found(text)[0].causes[0].cause.why

    missing, wheel = (
        "ModuleNotFoundError: No module named 'triton'",
        "No matching distribution found for triton",
    )
    for message in (missing, wheel):
        assert "macOS" in why(f'File "/Users/me/x.py", line 1\n{message}')
        assert "Windows" in why(f'File "C:\\Users\\me\\x.py", line 1\n{message}')
        assert why(f'File "/home/me/x.py", line 1\n{message}').startswith("Linux:")
        assert "macOS has" not in why(message)


def test_the_name_that_is_missing_tells_too_old_from_too_new():
    text = "ImportError: cannot import name '{}' from 'triton.runtime.cache'"
    old, new = (found(text.format(f"default_{one}_dir"))[0] for one in ("dump", "cache"))
    assert "too old" in old.causes[0].cause.why and "too new" in new.causes[0].cause.why
    assert not old.certain and not new.certain
    # Triton hands over the argument, and a function of another time does not take it.
    hidden = "triton.compiler.errors.CompilationError: TypeError(\"flip() got an unexpected keyword argument '{}'\")"
    newer, older = (found(hidden.format(one))[0] for one in ("_semantic", "_builder"))
    assert "too old for the installed Triton" in newer.causes[0].cause.why
    assert "the installed Triton is too old" in older.causes[0].cause.why
    # A release that has the name not any more.
    assert (
        "too new" in found(text.format("default_dump_dir"), triton="3.6.0")[0].causes[0].cause.why
    )


def test_the_rank_in_front_of_a_line_is_evidence_of_another_gpu():
    message = "ValueError: Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)"
    assert "another GPU" in found(f"[rank3]: {message}")[0].causes[0].cause.why
    assert "CPU tensor" in found(message)[0].causes[0].cause.why


def test_what_a_tool_says_outranks_the_tool_s_name():
    text = (
        "[ERROR][Triton][BEG]\n/x/bishengir-compile: /lib/libm.so.6: version `GLIBC_2.29' not found "
        "(required by /x/bishengir-compile)"
    )
    assert found(text)[0].id == "glibc-too-old"
    assert found("ImportError: `GLIBC_2.38' not found (required by ./app)")[0].entry.foreign


# Lines to paste


def test_similar_words_are_no_reason_to_paste_a_shim():
    """A shim's symptom may be one wording of several, and its issue be another."""
    for _, text in list(known_texts.evidence(ISSUES, SHIMS))[::4]:
        some = found(text)[:3]
        assert all(one.known.exact for one in some if one.fits), text
        listed = json.loads(why_text.export(some, None))["found"]
        assert [bool(one["paste"]) for one in listed] == [
            bool(one.fits and one.known.shim) for one in some
        ], text
    first = found("AssertionError: target must be of GPUTarget type")[0]
    assert first.id == "gputarget" and not first.certain


@pytest.mark.parametrize("triton, offered", [("2.0.0", False), ("2.1", False), ("2.3.1", True)])
def test_a_release_that_crosswarp_does_not_cover_gets_no_shim(triton, offered):
    some = found("AttributeError: module 'triton.language' has no attribute 'fma'", triton=triton)
    assert some[0].fits is offered and any(one.fits for one in some) is offered
    if not offered:
        assert "Install one of 3.0 to 3.9" in some[0].causes[0].cause.do


# The release and the GPU that --triton and --target name


@pytest.mark.parametrize(
    "facts, words",
    [
        ({}, "a multiple of 16 bytes"),
        ({"target": "sm_100"}, "Blackwell"),
        ({"target": "sm_80"}, "a multiple of 16 bytes"),
        ({"triton": "2.0.0"}, "Triton 2.0 and 2.1"),
        ({"triton": "3.4.0", "target": "sm_90"}, "a multiple of 16 bytes"),
    ],
)
def test_the_gpu_and_the_release_choose_the_cause(facts, words):
    text = "RuntimeError: Triton Error [CUDA]: misaligned address"
    first = found(text, **facts)[0]
    assert words in first.causes[0].cause.why
    if target := facts.get("target"):
        # It counts as in the text.
        assert found(f"{text} on {target}")[0].causes[0].cause == first.causes[0].cause


# The words around a message that several causes share


@pytest.mark.parametrize(
    "text, words",
    [
        (
            "Unsupported: autograd.Function with body that accepts non-Tensors\n"
            "File mamba_ssm/ops/triton/ssd_combined.py",
            "no tensor",
        ),
        ("torch.compile: pre_hook and post_hook are not supported in Triton's Autotune", "hooks"),
        ("RuntimeError: Triton Error [HIP]:  Code: 400, Messsage: invalid resource handle", "AMD GPU"),
        ("RuntimeError: `ptxas` failed with error code 4294967295", "on Windows"),
        ("AttributeError: 'CudaDriver' object has no attribute 'active'", "newer Triton"),
        ("AssertionError('First input (fp16) and second input (uint8) must have the same dtype!')", "fp8"),
        ("AssertionError('First input (fp16) and second input (fp32) must have the same dtype!')", "float32"),
        ("InductorError: Cannot bitcast data-type of size 64 to data-type of size 32", "Python float"),
        ("ValueError('Cannot bitcast data-type of size 8 to size 1')", "torch.bool"),
        ("Fatal Python error: Segmentation fault in xla/service/gpu/triton_fusion", "jaxlib"),
        ("NoValidChoicesError: No choices to select\n  target: flex_attention_backward", "flex_attention"),
        ("`if` conditionals can only accept values of type {int}, not objects of type NoneType", "None"),
        ("Pipeline failed while executing [`ConvertTritonGPUToLLVM` on 'builtin.module']", "last pass"),
        (
            "TypeError: function takes exactly 18 arguments (23 given), in torch.compile's launcher",
            "inductor calls",
        ),
        ("Pipeline failed while executing [`X`] (RTX 2080 Ti, triton 3.3.0)", "older than sm_80"),
        ("RuntimeError: Triton Error [HIP]: Code: 209, set by ZLUDA", "ZLUDA"),
        ("ptxas fatal: error: Modifier '.evict_last' cannot be combined with modifier '.cs'", "go together"),
        ("ValueError('Cannot cast tensor to bool') in a kernel of triton", "and, or or not"),
        (
            "jax_triton: Cannot call @triton.jit'd outside of the scope of a kernel",
            "traces kernels",
        ),
        ("MLIR translation rule for primitive 'pallas_call' not found for platform cuda", "translation"),
        (
            "in triton.compile: AttributeError: 'InterpretedFunction' object has no attribute 'cache_key'",
            "is compiled now",
        ),
    ],
)  # fmt: skip
def test_the_words_around_a_message_choose_its_cause(text, words):
    assert words in found(text)[0].causes[0].cause.why


def test_a_cause_that_rests_on_a_name_is_not_shown_where_the_text_has_no_such_name():
    text = f'{TRACEBACK}{FRAME}python: /x/SwizzledLayout.cpp:12: Assertion `0 && "unexpected"\' failed.\nAborted'
    answer = found(text)[0]
    assert any(one.cause.why.startswith("The text names Intel") for one in answer.causes)
    shown = [one.cause.why for one in why_text.shown_causes(answer)]
    assert shown and not any(why.startswith("The text names") for why in shown)
    with_name = found(f"{text}\nthird_party/intel/lib/x.cpp")[0]
    assert why_text.shown_causes(with_name)[0].cause.why.startswith("The text names Intel")
