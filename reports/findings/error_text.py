"""A log as `crosswarp why` reads it: its lines without the prefixes of CI and launchers, its failures, and the facts
that it names (releases, GPU)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain

from crosswarp.matrix.facts import errors
from crosswarp.matrix.printable import printable

# A longer text is read around the places that speak of a failure.
WHOLE = 200_000
# Lines: of all, and around each mark.
MOST = 8000
# Characters: of all lines that are read of a longer text, and of one failure that evidence is looked for in.
MOST_TEXT, OF_FAILURE = 400_000, 100_000
BEFORE, AFTER = 40, 15
# Words in the lines of a failure, in lower case; a search for each is faster than one expression for all.
MARKS = (
    "error", "assert", "exception", "traceback", "fatal", "failed", "cannot", "segmentation", "dumped", "unreachable",
    "illegal", "misaligned", "not support", "unsupported", "out of resource", "no module", "killed", "/triton/",
    "_inductor/",
)  # fmt: skip
# The marks of Triton's lines: read first where there are too many lines.
STRONG = (
    "/triton/", "_inductor/", "triton.compiler", "triton.runtime", "triton error [", "compilationerror",
    "inductorerror", "libtriton", "tritongpu", "ttgir", "constexpr", "ptxas", "llvm error", "out of resource",
    "outofresources",
)  # fmt: skip
_DIGITS = b"0123456789"
_SMALL = bytes.maketrans(bytes(range(65, 91)), bytes(range(97, 123)))
LONGEST_LINE = 4000
# Who speaks, in a log of several processes.
STREAM = re.compile(
    r"^\s*(?:\x1b\[[\d;]*m)*(\[(?:rank|Rank |gw)\d+\]|\[\d+\]:"
    r"|\((?:\w*(?:Worker|Core|Engine|rank|pid)\w*)[^)\n]{0,60}\))"
)
RANK = re.compile(r"\[[Rr]ank\d+\]$")
# Prefixes that a CI, a launcher or pytest adds to a line.
FRONT = re.compile(
    r"^(?:\s+|E {2,}|>+ |\[[^\]\n]{1,40}\]:?|\(\w[^)\n]{0,60}\)(?= )|\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?"
    r"|(?:\d\d-\d\d )?\d\d:\d\d:\d\d(?:[.,]\d+)?|(?:stderr|stdout) [FP](?= )"
    r"|(?:ERROR|FATAL|WARNING|INFO|FAILED|stderr|stdout)\b[:|]?(?= )|\|)\s*"
)
HEADER = re.compile(r"^(?:_{3,} .+ _{3,}|={3,} (?:FAILURES|ERRORS) ={3,}|\[\d+/\d+\] )")
# pytest shows the source of each frame above the line that failed: messages there are quoted, not raised.
SAID_BY_PYTEST = re.compile(r"^(?:\S+Z )?E   ")
FAILED_LINE = re.compile(r"^(?:\S+Z )?> ")
SOURCE_LINE = re.compile(r"^(?:\S+Z )?(?:    .*|\s*)$")
# Python shows the source of a frame below it: also quoted.
FRAME_LINE = re.compile(r'^(?:File ".*", line \d+|\S+\.py:\d+: in )')
SAID_BY_PYTHON = re.compile(r"^[\w.]*(?:Error|Exception|Warning|Exit|Interrupt|Failure)\b")
# Triton points at the source that it refuses.
CARET = re.compile(r"(?:^|\s)\^+\s*$")
TRACEBACK = "Traceback (most recent call last)"
CHAINED = (
    "the above exception was the direct cause",
    "during handling of the above exception",
    "was raised",
)


@dataclass(frozen=True)
class Line:
    # From 1, as an editor counts.
    number: int
    text: str
    # Index of the failure that it belongs to, from 0.
    failure: int
    # Source that a traceback quotes, not output.
    quoted: bool = False
    # The prefix of the launcher, where it names a rank.
    rank: str = ""


@dataclass(frozen=True)
class Facts:
    """Known facts about the reader's machine; empty: none."""

    triton: str = ""
    torch: str = ""
    # `sm_90`, `gfx942`.
    target: str = ""


class Log:
    """A text, read."""

    def __init__(self, text: str) -> None:
        self.lines = tuple(_lines(text))
        self._framed: dict[int, bool] = {}
        pieces, self._starts, at = [], [], 0
        for line in self.lines:
            self._starts.append(at)
            pieces.append(errors.tidy(line.text[:LONGEST_LINE]))
            at += len(pieces[-1]) + 1
        # Every line in one spelling, one behind the other: a message may be folded.
        self.tidy = " ".join(pieces)

    def at(self, position: int) -> int:
        """Returns the index in `lines` of a position in `tidy`."""
        return max(0, bisect_right(self._starts, position) - 1)

    def start(self, place: int) -> int:
        """Where in `tidy` that line begins."""
        return self._starts[place]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(errors.words(self.tidy))

    @cached_property
    def plain(self) -> str:
        """The lines as they are written, for expressions."""
        return "\n".join(line.text for line in self.lines)

    @cached_property
    def said_first(self) -> str:
        """The output lines, then those that a traceback quotes: of two equal lines the first counts."""
        return "\n".join(line.text for line in sorted(self.lines, key=lambda line: line.quoted))

    @cached_property
    def by_failure(self) -> dict[int, str]:
        by_number: dict[int, list[str]] = {}
        for line in self.lines:
            # The rank identifies a tensor of another GPU.
            by_number.setdefault(line.failure, [line.rank] if line.rank else []).append(line.text)
        return {number: _ends("\n".join(texts), OF_FAILURE) for number, texts in by_number.items()}

    @cached_property
    def _spoken(self) -> str:
        """The lines without passing mentions of Triton."""
        return _spoken(self.plain)

    @cached_property
    def own(self) -> bool:
        """Whether Triton or inductor is mentioned, and not just in passing."""
        return bool(FRAME.search(self._spoken))

    @cached_property
    def framed(self) -> bool:
        """Whether Triton, inductor or a library known for Triton's errors is mentioned."""
        return _has_frame(self.plain)

    def framed_in(self, failure: int) -> bool:
        """`framed` for one failure, where the log has several tracebacks: text outside them counts for all."""
        if failure not in self._framed:
            tracebacks = [number for number, text in self.by_failure.items() if TRACEBACK in text]
            texts = [
                text
                for other, text in self.by_failure.items()
                if len(tracebacks) < 2 or other == failure or other not in tracebacks
            ]
            self._framed[failure] = self.framed and any(map(_has_frame, texts))
        return self._framed[failure]

    @cached_property
    def others(self) -> bool:
        """Whether another compiler or kernel library is mentioned, and no file of Triton's."""
        return bool(OTHERS.search(self.plain)) and not PLACE.search(self._spoken)

    @cached_property
    def interpreted(self) -> bool:
        """Whether it speaks of the interpreter."""
        return "interpret" in self.tidy

    @cached_property
    def generated(self) -> bool:
        """Whether inductor wrote one of its kernels."""
        return bool(GENERATED.search(self.plain))

    @cached_property
    def facts(self) -> Facts:
        """The releases and the GPU that it names, each where it names one alone."""
        return Facts(
            _one(TRITON.findall(self.plain)), _one(TORCH.findall(self.plain)), _gpu(self.plain)
        )


FRAME = re.compile(
    r"triton(?![-_ ]?(?:server|client|inference|bench)|::(?:arch|engines|bindings))"
    r"|\btl\.\w|\.triton/|torchinductor|_inductor|restore_value"
    r"|reset_to_zero|CompilationError"
    r"|TritonGPU|\bttir\b|\bttgir\b|\bptxas\b"
    r"|\btt[gn]?\.\w+|constexpr"
    r"|\b(?:Cuda|HIP|CUDA)(?:Driver|Utils)\b|CompiledKernel|JITFunction|\bAutotuner\b|\bHeuristics\b|KernelMetadata"
    r"|\bnum_(?:warps|stages|ctas)\b|TRITON_|\bat \d+:\d+:|OutOfResources|InterpreterError"
    r"|"
    r"\b[XYZR]\d?_?BLOCK\b|\bdynamic_func\b|\bInterpreted\w+|\bbest_config\b|\bnvvm\b|\bhsaco\b|\bmlir\b|LLVM ERROR"
    r"|\berror: \W?(?:arith|scf|cf|tensor|amdgpu)\.\w|UNREACHABLE executed at|Pipeline failed while executing"
    r"|\b_dynamo\b|\[grid\]|\w\[\([^)\n]{0,60}\)\]\(|\bhipModule\w+|\bcuModule\w+|\bload_binary\b|\bcuda_utils\b|\bcode_generator\.py|\binductor\b"
    r"|[/\\\\]tmp\w{8}[/\\\\](?:main|cuda_utils|hip_utils|__triton_launcher)\.c\b|/lib/(?:Dialect|Conversion|Analysis)/[\w/]+\.(?:cpp|h):\d"
    r"|cache_results|index out of bounds: 0 <= tmp\d|\bautotune\(\) got"
    r"|\bhelion\b|flex_attention|torch[. ]compile"
    r"|\b(?:input_precision|max_num_imprecise_acc|boundary_check|padding_option|cache_modifier|propagate_nan)\b"
    r"|\b(?:loop_unroll_factor|warp_specialize|static_range|fp8e4nv)\b"
    r"|\b(?:GPUTarget|AttrsDescriptor|ASTSource|KernelInterface)\b|\bTLX[A-Z]\w+"
    r"|\bsycl_functions\.h|\bsycl headers not found",
    re.I,
)
LIBRARY = re.compile(
    r"\bunsloth\b|bitsandbytes[/\\]+(?:triton|nn[/\\]+triton)|flash_attn[/\\.]+(?:ops|layers|losses)|\bfla/|liger_kernel|\bvllm/"
    r"|sageattention|\bmamba_ssm|\bautotune_warmup|custom_autotune|gptq_triton|matmul248|quant_linear\.py"
    r"|\bbisheng|\bmake_(?:tensor_descriptor|block_ptr)\b|\batomic_(?:add|cas|xchg)\b|\bdo_bench\w*"
    r"|\bmlir::|\bparentOp\b|getTotal(?:In|Out)DimSize|isSupportedDotOpLayout",
    re.I,
)
# Lists of packages, start-up lines of vLLM, advice of pip: they name Triton after any failure.
PASSING = re.compile(
    r"\b(?:pytorch[-_])?triton(?:[-_](?:windows|rocm|nightly|xpu|kernels))?[ \t]*(?:version)?"
    r"[ \t]*(?:==|[-@:=]|is)?[ \t]*v?\d+\.\d+[\w.+]*(?:[ \t]+installed)?|\btriton is installed\b"
    r"|\b(?:using|use) (?:the )?triton\b[^\n]{0,60}backend[^\n]{0,20}"
    r"|triton (?:module )?has been replaced[^\n]*|pip3? install [^\n]{0,80}triton\S*|triton-\d[\w.+]*(?:dist-info|whl)"
    r"|xla triton|triton gemm|triton_autotuner|\w+_triton_gemm\w*",
    re.I,
)
# A file of a traceback. Somebody's folder may have the name; the package's parts are Triton's.
NAMED_FILE = re.compile(r'File "[^"\n]*"')
PACKAGE = re.compile(
    r"(?:site|dist)-packages|triton[/\\](?:compiler|runtime|language|backends|testing|ops|tools|_C|experimental|knobs"
    r"|common|profiler|__init__)|triton_kernels|for-triton"
)
FOLDER = re.compile(r'triton(?=[^"\n]*[/\\])')
# Programs that run ptxas, LLVM or MLIR as well, or have Triton in their name.
OTHERS = re.compile(
    r"\bjaxlib\b|xla_extension|nvrtc|\biree\b|optuna|triton[-_ ]?(?:server|client|inference)|triton_python_backend"
    r"|make(?:\[\d+\])?: \*\*\*|"
    r"\b_ZN6triton\d+(?:bindings|arch|engines)|triton::(?:arch|engines)::|pintool\.so|"
    r"\bnumba\b|\bcupy\b|\bnvcc\b|\bclang(?:\+\+)?: error|\brustc\b|exllama|torchvision[/\\]"
    r"|XlaRuntimeError|\bxla/|tensorflow[/.]|tritonserver|model_lifecycle\.cc|backend_model\.cc|_Z\d+\w+|\.cu:\d+"
    r"|main\.cu\b|Failed building wheel for (?!triton)"
    r"|torch[/\\]utils[/\\]cpp_extension|Error building extension"
    # A build of another package's C++ and CUDA, and the package of a like name.
    r"|/csrc/\w+(?:/\w+)*\.(?:o|cpp|cu)\b|Linking C(?:XX|UDA) |\btriton[-_]library\b"
    # LLVM's tools, run by themselves.
    r"|Program arguments: \S*?(?:^|[/ ])(?:llc|opt|clang(?:\+\+)?|lli|llvm-\w+"
    r"|mlir-(?:opt|translate)|ld\.lld)(?:-\d+)?(?:\.exe)?(?= )"
    r"|(?:binary|dynamic) analysis|symbolic execution|taint (?:analysis|engine)"
)
# A file of Triton's or inductor's, in a traceback.
PLACE = re.compile(
    r"[/\\]triton[/\\](?:compiler|runtime|language|backends|common|ops|_C|testing|__init__)|[/\\]_inductor[/\\]|torchinductor_"
    r"|\.triton[/\\]|triton\.(?:compiler|runtime)\."
)
GENERATED = re.compile(
    r"torchinductor|torch[/\\.]_inductor|\btriton_(?:poi|red|per|tem)_|InductorError"
)
TRITON = re.compile(
    r"\b(?:pytorch[-_])?triton(?:[-_](?:windows|rocm|nightly|xpu))?[ \t]*(?:version)?[ \t]*(?:==|[-_@:=]|is)?[ \t]*v?"
    r"(\d\.\d+(?:\.\d+)?)\b(?!\.\d+\.\d)",
    re.I,
)
TORCH = re.compile(
    r"\b(?:py)?torch(?: version)?[ \t]*(?:==|[-:=]|is)?[ \t]*v?(\d\.\d+(?:\.\d+)?)\b", re.I
)
SM = re.compile(
    r"\bsm_?(\d{2,3})a?\b(?! or higher)|compute capability[ :=]+\(?(\d+)[.,] ?(\d)|\b(gfx\d+[a-f]?\w?)\b",
    re.I,
)
# People write the GPU's name.
GPUS = (
    ("sm_70", r"V100|Titan V\b"), ("sm_75", r"\bT4\b|RTX ?20\d0|GTX ?16\d0|Turing|Quadro RTX|2080"),
    ("sm_80", r"A100|A800|A30\b"), ("sm_86", r"RTX ?30\d0|\bA10G?\b|A40\b|A6000|RTX A\d000|3090"),
    ("sm_89", r"RTX ?40\d0|\bL40S?\b|\bL4\b|4090|Ada\b"), ("sm_90", r"H100|H200|H800|H20\b|GH200|Hopper"),
    ("sm_100", r"B200|GB200|B100\b"), ("sm_103", r"B300|GB300"), ("sm_120", r"RTX ?50\d0|5090|RTX PRO 6000"),
    ("sm_121", r"DGX Spark|GB10\b"), ("sm_61", r"GTX ?10\d0|\bP40\b|1080"), ("sm_60", r"P100"),
    ("gfx942", r"MI30[08]X?|MI325"), ("gfx90a", r"MI2[15]0X?"), ("gfx950", r"MI35[05]"), ("gfx908", r"MI100"),
    ("gfx906", r"MI[56]0\b"), ("gfx1100", r"7900 ?XTX?|RDNA ?3"), ("gfx1201", r"9070|RDNA ?4"),
)  # fmt: skip


def _spoken(text: str) -> str:
    return NAMED_FILE.sub(_without_triton, PASSING.sub(" ", text))


def _has_frame(text: str) -> bool:
    spoken = _spoken(text)
    return bool(FRAME.search(spoken) or LIBRARY.search(spoken))


def _without_triton(match: re.Match[str]) -> str:
    return match[0] if PACKAGE.search(match[0]) else FOLDER.sub("", match[0])


def _one(values: Sequence[str]) -> str:
    """The one that all name; "" where they differ."""
    return values[0] if len(set(values)) == 1 else ""


def _gpu(text: str) -> str:
    text = text[:WHOLE]
    named = {target for target, names in GPUS if re.search(names, text)}
    if len(named) == 1:
        return named.pop()
    asked = {
        sm and f"sm_{sm}" or major and f"sm_{major}{minor}" or gfx.lower()
        for sm, major, minor, gfx in SM.findall(text)
    }
    return asked.pop() if len(asked) == 1 and not named else ""


def _lines(text: str) -> Iterator[Line]:
    streams: dict[str, int] = {}
    # The last line of each.
    above: dict[str, str] = {}
    failures, before = -1, ""
    seen: set[tuple[str, str]] = set()
    rows = list(_numbered(text))
    pytest = any(SAID_BY_PYTEST.match(raw) for _, raw in rows)
    if pytest:
        rows = _without_source(rows)
    for place, (number, raw) in enumerate(rows):
        match = STREAM.match(raw)
        stream = match[1] if match else ""
        line = _stripped(raw)
        if not line:
            continue
        if len(text) > WHOLE:
            # A log says the same again and again.
            if (stream, line) in seen and TRACEBACK not in line:
                continue
            seen.add((stream, line))
        begins = TRACEBACK in line and not any(phrase in before.lower() for phrase in CHAINED)
        if stream not in streams or begins or HEADER.match(line):
            if not (stream in streams and HEADER.match(before)):
                failures += 1
            streams[stream] = failures
        quoted = bool(
            pytest
            and FAILED_LINE.match(raw)
            or FRAME_LINE.match(above.get(stream, ""))
            and not (FRAME_LINE.match(line) or SAID_BY_PYTHON.match(line))
            or place + 1 < len(rows)
            # Asked first: a log has many lines.
            and "^" in rows[place + 1][1]
            and CARET.search(rows[place + 1][1])
        )
        before = above[stream] = line
        yield Line(number, line, streams[stream], quoted, stream if RANK.match(stream) else "")


def _without_source(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Without the source that pytest shows above a line that failed."""
    source = set()
    for place, (_, raw) in enumerate(lines):
        if FAILED_LINE.match(raw):
            above = place - 1
            while above >= 0 and SOURCE_LINE.match(lines[above][1]):
                source.add(above)
                above -= 1
    return [line for place, line in enumerate(lines) if place not in source]


def _stripped(raw: str) -> str:
    line, before = printable(raw), None
    if HEADER.match(line):
        return line.rstrip()
    while before != line:
        before, line = line, FRONT.sub("", line, count=1)
    return line.rstrip()


def _ends(text: str, most: int) -> str:
    """Its beginning and its end, where it is longer."""
    return text if len(text) <= most else f"{text[: most // 2]}\n{text[-most // 2 :]}"


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are read, with their numbers."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if len(text) <= WHOLE:
        yield from enumerate(lines, 1)
        return
    for place in _read(text, lines):
        yield place + 1, lines[place][:LONGEST_LINE]


def _read(text: str, lines: Sequence[str]) -> list[int]:
    """Returns the lines of a long text to read: those around the marks of a failure.

    Lines that differ only in numbers count as one, at the first occurrence, where a failure begins.
    """
    shapes = text.encode("utf-8", "surrogatepass").translate(_SMALL, _DIGITS).split(b"\n")
    first = dict(zip(reversed(shapes), range(len(shapes) - 1, -1, -1), strict=True))
    places = sorted(first.values())
    # The last line is the final error.
    ends = [len(lines) - 1]
    strong = _having(shapes, places, STRONG)
    chosen: set[int] = set()
    left = MOST_TEXT
    for place in chain(ends, _from_both_ends(strong), _marked(shapes, places)):
        for number in range(max(0, place - BEFORE), min(len(lines), place + AFTER)):
            if number not in chosen:
                left -= min(len(lines[number]), LONGEST_LINE)
                if left < 0 or len(chosen) >= MOST:
                    return sorted(chosen)
                chosen.add(number)
    return sorted(chosen)


def _having(shapes: Sequence[bytes], places: Sequence[int], marks: Sequence[str]) -> list[int]:
    """Returns the places whose line has one of the marks."""
    whole = b"\n".join([shapes[place] for place in places])
    starts = [0, *accumulate(len(shapes[place]) + 1 for place in places)]
    numbers: set[int] = set()
    for mark in marks:
        wanted, at = mark.encode(), -1
        while (at := whole.find(wanted, at + 1)) >= 0:
            number = bisect_right(starts, at) - 1
            numbers.add(number)
            at = starts[number + 1] - 1
    return [places[number] for number in sorted(numbers)]


def _marked(shapes: Sequence[bytes], places: Sequence[int]) -> Iterator[int]:
    """Yields places with a mark of a failure, from both ends: of a long log only a few are used."""
    marks = [mark.encode() for mark in MARKS]

    def having(some: Iterable[int]) -> Iterator[int]:
        return (place for place in some if any(mark in shapes[place] for mark in marks))

    for first, other in zip(having(places), having(reversed(places))):
        if first > other:
            return
        yield first
        yield other


def _from_both_ends(places: Sequence[int]) -> Iterator[int]:
    """The first, the last, the second, …: the cause is early in a log, its consequences late."""
    for number in range((len(places) + 1) // 2):
        yield places[number]
        yield places[-1 - number]
