"""The error index: its files are right, its data is what they say, and labelled texts get the answer that is theirs."""

from __future__ import annotations

import importlib.util
import json
import re
import time
from pathlib import Path

import pytest
from packaging.version import Version

from crosswarp import compat
from crosswarp.matrix.errors import ConfigError
from crosswarp.matrix.facts import columns, errors, known_texts
from crosswarp.matrix.facts.errors import models
from crosswarp.reports.findings.answers import answers
from crosswarp.reports.findings.error_text import Facts, Log
from crosswarp.reports.text import why_text

ROOT = Path(__file__).parent.parent
ISSUES = known_texts.committed()
SHIMS = compat.all_shims()
_SPEC = importlib.util.spec_from_file_location("why_answers", ROOT / "tests/proofs/why_answers.py")
assert _SPEC and _SPEC.loader
why_answers = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(why_answers)


def found(text, **facts):
    return answers(text, ISSUES, SHIMS, Facts(**facts))


def records(name):
    lines = (ROOT / "tests/data" / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_what_is_read_is_what_the_files_say():
    assert models.compiled(models.load()) == errors.COMPILED.read_text("utf-8")


def test_a_known_issue_that_a_cause_names_is_there():
    known = {issue.id for issue in ISSUES}
    named = {c.issue for e in errors.committed().entries for c in e.causes if c.issue}
    assert named and named <= known


# Flags for a part, other forms of a group, ends of a text, possessive: not in every browser, or another thing there.
PYTHON_ALONE = re.compile(r"\(\?[a-zA-Z-]+[:)]|\(\?(?:P=|[#(>])|\\[AZ]|(?<!\\)[*+?}]\+")


def python_alone(expression):
    # The page takes flags at the beginning.
    found = PYTHON_ALONE.search(re.sub(r"^\(\?[ism]+\)", "", expression))
    return found[0] if found else None


def test_each_expression_of_a_cause_is_one_for_the_page_s_script_too():
    logs = {c.log for one in errors.committed().entries for c in one.causes if c.log}
    logs |= {part for topic in errors.committed().topics for part in topic.parts}
    assert len(logs) > 100
    assert {one: python_alone(one) for one in logs if python_alone(one)} == {}
    alone = ("a(?i:fp8)", "(?x) a", "a\\Z", "a++", "(?>a)", "(?P<a>b)(?P=a)", "(a)?(?(1)b)")
    assert all(map(python_alone, alone))


PLAIN = 'says = ["a long text here"]\nwhy = "It is so."\ndo = "Do it so."\n'


@pytest.mark.parametrize(
    "text, problem",
    [
        ('says = ["abc"]\nwhy = "It is so."\ndo = "Do it so."', "too little"),
        ('says = ["a long text here"]\nwhy = "It is so."', "give `why` and `do`"),
        ('says = ["a long text here"]\nwhy = "It is so"\ndo = "Do it."', "whole sentence"),
        ('says = ["a long text here"]\nwhy = "It is so."\ndo = "Do it."', None),
        ('says = ["a long text {x}"]\nwhy = "It is so."\ndo = "Do it so."', "only {}"),
        (
            'says = ["a long text here"]\nwhy = "It is so."\ndo = "Do it so."\nwrong = 1',
            "Extra inputs",
        ),
        (
            'says = ["a long text here"]\ncause = [{why = "One of them.", do = "Do it so."}, '
            '{why = "Another one.", do = "Do it so.", log = "("}]\nask = "Which?"',
            "not a regular expression",
        ),
        (
            'says = ["a long text here"]\ncause = [{why = "One of them.", do = "Do it so."}, '
            '{why = "Another one.", do = "Do it so."}]',
            "fact that decides",
        ),
        (
            'says = ["a long text here"]\ncause = [{why = "One of them.", do = "Do it so."}]',
            "one cause is written",
        ),
        (
            'says = ["a long text here"]\ntriton = ">=3.0"\ncause = [{why = "One of them.", '
            'do = "Do it so."}, {why = "Another one.", do = "Do it so."}]\nask = "Which?"',
            "each has its own",
        ),
        (f'{PLAIN}good = "x = 1"', "belongs to one that fails"),
        (f'{PLAIN}bad = "x = 2"', None),
        (f'{PLAIN}bad = "x = 2"\ngood = "x = 1"', None),
    ],
)
def test_an_entry_that_cannot_be_right_is_refused(tmp_path, text, problem):
    (tmp_path / "author.toml").write_text(
        f'[[error]]\nid = "one"\ntitle = "A title of it"\n{text}\n'
    )
    if problem is None:
        models.load(tmp_path)
        return
    with pytest.raises(ConfigError, match=problem):
        models.load(tmp_path)


def test_two_entries_of_one_id_or_one_text_are_refused(tmp_path):
    one = '[[error]]\nid = "{}"\ntitle = "A title of it"\nsays = ["{}"]\nwhy = "It is so."\ndo = "Do it so."\n'
    (tmp_path / "author.toml").write_text(
        one.format("a", "some text") + one.format("a", "more text")
    )
    with pytest.raises(ConfigError, match="one id"):
        models.load(tmp_path)
    (tmp_path / "author.toml").write_text(
        one.format("a", "some text") + one.format("b", "Some  `text`")
    )
    with pytest.raises(ConfigError, match="say the same"):
        models.load(tmp_path)


def test_a_topic_has_two_parts_in_small_letters_and_an_entry(tmp_path):
    entry = 'id = "a"\ntitle = "A title of it"\nsays = ["some text"]\nwhy = "It is so."\ndo = "Do it so."\n'
    one = '[topic]\n{} = ["{}"]\n[[error]]\n' + entry
    for name, text, problem in (
        ("a", "cache", "at least two parts"),
        ("a", "Cache & full", "small letters"),
        ("a", "(cache & full", "(?i)regular|parenthesis|unterminated"),
        ("b", "cache & full", "topics of no error: b"),
        ("a", "cache & full", None),
    ):
        (tmp_path / "author.toml").write_text(one.format(name, text))
        if problem:
            with pytest.raises(ConfigError, match=problem):
                models.load(tmp_path)
        else:
            document = json.loads(models.compiled(models.load(tmp_path)))
            assert document["topics"] == [[0, ["cache", "full"]]]


def test_the_causes_of_vendors_belong_to_several_causes_alone(tmp_path):
    vendor = '[[vendor]]\nwhy = "Theirs."\ndo = "Do it so."\nlog = "npu"\n'
    entry = '[[error]]\nid = "a"\ntitle = "A title of it"\nsays = ["some text"]\nvendors = true\n'
    (tmp_path / "author.toml").write_text(f'{vendor}{entry}why = "It is so."\ndo = "Do it so."\n')
    with pytest.raises(ConfigError, match="write `cause`"):
        models.load(tmp_path)
    causes = "".join(f'[[error.cause]]\nwhy = "Of {n}."\ndo = "Do it so."\n' for n in "ab")
    (tmp_path / "author.toml").write_text(f'{vendor}{entry}ask = "Which?"\n{causes}')
    (made,) = json.loads(models.compiled(models.load(tmp_path)))["errors"]
    assert [one["why"] for one in made["causes"]] == ["Theirs.", "Of a.", "Of b."]


# What is answered


def test_labelled_texts_get_their_answer_first():
    verdicts = [why_answers.judge(one, found(one["text"])) for one in records("error_texts.jsonl")]
    assert len(verdicts) == 58
    assert verdicts.count("right") >= 0.95 * len(verdicts)
    assert "confidently wrong" not in verdicts


def test_what_is_not_triton_s_gets_no_answer_or_is_said_to_be_so():
    texts = records("foreign_texts.jsonl")
    assert len(texts) >= 60
    wrong = [one["text"] for one in texts if why_answers.judge(one, found(one["text"])) != "right"]
    assert wrong == []


def test_a_text_that_several_causes_share_is_never_certain_nor_answered_with_a_shim():
    for text in (
        "RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered",
        "NameError: name 'tl' is not defined",
        "LLVM ERROR: Cannot select: t5: f32 = foo",
        "ptxas fatal : Ptx assembly aborted due to errors",
        "LLVM ERROR: Failed to translate TritonGPU to LLVM IR.",
        'Casting.h:567: Assertion `isa<To>(Val) && "cast<Ty>() argument of incompatible type!"\' failed.',
    ):
        first = found(text)[0]
        assert first.entry and not first.certain and not first.fits, text
        said = why_text.terminal(found(text), None)
        assert "decide" in said and "compat.install(" not in said, text


def test_a_cause_outside_the_release_or_the_gpu_that_is_named_never_comes_first():
    text = "AttributeError: module 'triton.language' has no attribute 'rsqrt'"
    assert found(text)[0].id == "bi-mamba2-2"
    assert found(text, triton="3.6.0")[0].id != "bi-mamba2-2"
    text = "mma -> mma layout conversion is only supported on Ampere"
    assert found(text)[0].id == "triton-4418"
    assert found(text, target="sm_70")[0].id == "mma-mma-conversion"
    assert found(f"{text} on a Tesla V100")[0].id == "mma-mma-conversion"
    key = "cannot import name 'triton_key' from 'triton.compiler.compiler'"
    assert "older" in found(key, triton="2.3.1")[0].causes[0].cause.why
    assert "newer" in found(key, triton="3.6.0")[0].causes[0].cause.why


def test_python_s_own_errors_are_answered_with_a_frame_alone():
    text = "AttributeError: 'int' object has no attribute 'to'"
    assert found(text) == []
    framed = f'  File "/x/triton/runtime/interpreter.py", line 5, in f\n{text}'
    assert found(framed)[0].id == "interpreter-int-to"


@pytest.mark.parametrize(
    "text, releases",
    [
        ("cannot import name 'triton_key' from 'triton.runtime.cache'", "3.5 to 3.9"),
        (
            "ImportError: cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler' (x)",
            None,
        ),
        ("AttributeError: module 'triton.language' has no attribute 'dot_scaled'", "3.2 to 3.9"),
        ("TypeError: load() got an unexpected keyword argument 'cache_policy'\n tl.load(x)", "3.9"),
    ],
)
def test_names_and_options_are_looked_up_in_the_language_table(text, releases):
    first = found(text)[0]
    if releases is None:
        assert first.id == "attrs-descriptor"
    else:
        assert first.id in ("triton-name", "triton-option", "triton-key")
        assert releases in why_text.terminal([first], None) or first.id == "triton-key"


def test_a_message_that_nobody_wrote_more_of_is_recognised_with_its_file():
    first = found("error: 'ttng.x' op CLC operations: The result may not be sliced across CTAs.")[0]
    assert first.message and first.id == "source"
    said = why_text.terminal([first], None)
    assert "says this" in said and ".cpp" in said


def test_every_wording_is_found_where_it_stands():
    index = errors.committed()
    for wording in index.wordings:
        entry = index.entries[wording.number]
        said = wording.text.replace("{n}", "3").replace("{w}", "abc").replace("{}", "x")
        assert any(True for _ in wording.find(errors.tidy(said))), wording.text
        assert set(wording.anchors) <= set(errors.words(errors.tidy(said))), (
            entry.id,
            wording.text,
        )


# Logs

LOG = """\
(VllmWorker rank=0 pid=11) Traceback (most recent call last):
(VllmWorker rank=0 pid=11)   File "/x/triton/compiler/code_generator.py", line 3, in visit
(VllmWorker rank=0 pid=11) triton.compiler.errors.CompilationError: at 3:4:
(VllmWorker rank=0 pid=11) ValueError("arange's arguments must be of type tl.constexpr")
(VllmWorker rank=1 pid=12) Traceback (most recent call last):
(VllmWorker rank=1 pid=12)   File "/x/triton/compiler/code_generator.py", line 3, in visit
(VllmWorker rank=1 pid=12) ValueError("arange's arguments must be of type tl.constexpr")
Traceback (most recent call last):
  File "/x/launch.py", line 3, in <module>
TypeError: missing a required argument: 'num_warps'
Traceback (most recent call last):
  File "/x/bench.py", line 3, in <module>
TypeError: do_bench() got an unexpected keyword argument 'fast_flush'
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
"""


def test_a_log_is_taken_apart_and_the_first_cause_stands_before_what_follows():
    got = found(LOG)
    ids = [one.id for one in got]
    assert "arange-constexpr" in ids and "compilation-error" not in ids
    assert ids[-1] == "rank-killed" or ids.index("rank-killed") > ids.index("arange-constexpr")
    by_id = {one.id: one for one in got}
    assert by_id["arange-constexpr"].number == 4 and by_id["arange-constexpr"].also
    assert by_id["liger-215"].failure != by_id["triton-4485"].failure
    said = why_text.terminal(got, None)
    assert 'compat.install(only=["reserved_options", "do_bench_arguments"])' in said.replace(
        "\n", " "
    )
    assert "failure" in said and "line 4" in said


def test_a_log_of_twenty_megabytes_is_read_in_time():
    noise = "".join(
        f"step {n}: loss 1.{n} lr 0.001 some more words of a log line\n" for n in range(330_000)
    )
    assert len(noise) > 20_000_000
    text = f"{noise[: 10 << 20]}\nValueError: arange's arguments must be of type tl.constexpr\n{noise[10 << 20 :]}"
    found("x")
    before = time.process_time()
    got = found(text)
    spent = time.process_time() - before
    assert got[0].id == "arange-constexpr" and got[0].number > 100_000
    # A second is wanted; a loaded machine is slower.
    assert spent < 3


def test_the_lines_of_a_log_keep_their_numbers():
    for text in ("a\n\nError: b\n", "x\n" * 150_000 + "Error: b\n" + "y\n" * 10):
        (line,) = [one for one in Log(text).lines if one.text == "Error: b"]
        assert text.split("\n")[line.number - 1] == "Error: b"


@pytest.mark.parametrize(
    "text", ["", "\n\n", "{}", "\0", "((((" * 5000, "Error " * 50_000, "'" * 100_000]
)
def test_strange_texts_are_read(text):
    found(text)


def test_the_releases_at_hand_decide_where_nothing_else_is_said():
    key = "cannot import name 'triton_key' from 'triton.compiler.compiler'"
    old, new = Facts(triton="2.3.1"), Facts(triton="3.6.0")

    def first(text, facts=None, here=None):
        return answers(text, ISSUES, SHIMS, facts, here=here)[0].causes[0].cause.why

    assert "older" in first(key, here=old) and "newer" in first(key, here=new)
    assert "newer" in first(key, facts=new, here=old)
    assert "newer" in first(f"triton==3.6.0\n{key}", here=old)


# Examples


def test_what_is_proven_are_examples_that_are_there():
    document = json.loads(errors.PROVEN.read_text("utf-8"))
    examples = {
        f"{one.id}#{number}"
        for file in models.load().values()
        for one in file.error
        for number, _ in enumerate(one.examples(), 1)
    }
    assert document["date"] and document["command"]
    assert set(document["examples"]) == examples
    shown = 0
    for name, halves in document["examples"].items():
        for said in halves["bad"].values():
            assert said.partition(":")[0] in ("says", "passes", "other"), name
        says = [column for column, said in halves["bad"].items() if said.startswith("says")]
        # Corrected, it compiles wherever the other was refused in these words.
        assert {halves["good"].get(column, "passes") for column in says} <= {"passes"}, name
        shown += bool(says)
    assert shown >= 200


_EXAMPLES = importlib.util.spec_from_file_location(
    "error_examples", ROOT / "tests/proofs/error_examples.py"
)
assert _EXAMPLES and _EXAMPLES.loader
error_examples = importlib.util.module_from_spec(_EXAMPLES)
_EXAMPLES.loader.exec_module(error_examples)


def test_messages_of_the_newest_release_are_proven_on_every_release_that_has_them():
    releases = [Version(one.triton) for one in columns.published(columns.load())]
    having: dict[str, set[str]] = {}
    for one in errors.committed().messages:
        found = {str(release) for release in releases if error_examples.has(one, release)}
        having.setdefault(one.text, set()).update(found)
    proven = set()
    for example in json.loads(errors.PROVEN.read_text("utf-8"))["examples"].values():
        says = {column for column, said in example["bad"].items() if said.startswith("says")}
        text = example.get("message", "")
        if str(releases[-1]) in having.get(text, ()) and having[text] <= says:
            proven.add(text)
    assert len(proven) >= 200
