"""The files of the error index, checked; `python -m crosswarp.matrix.facts.errors.models` compiles them.

compiled.json has the same in one file, with the words to look for first: reading forty TOML files would take longer
than the answer.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from crosswarp.matrix.errors import ConfigError
from crosswarp.matrix.facts import datafile, validators
from crosswarp.matrix.facts.errors import (
    ANCHORS,
    COMPILED,
    FOLDER,
    Entry,
    tidy,
    whole_words,
)

KINDS = (
    "environment", "versions", "author", "hardware", "compiler", "runtime", "interpreter", "autotuner", "inductor",
    "processes", "libraries", "foreign", "general",
)  # fmt: skip
# A wording of fewer characters is in too many texts.
_LEAST = 8
# The parts of a message that identify nothing: places, signs, and Python's general phrases.
_UNSAID = re.compile(
    r"\{\}|has no attribute|is not defined|got an unexpected keyword argument|not implemented|missing required argument"
    r"|unsupported (?:data )?d?type|unsupported operand type\(?s?\)? for|unknown d?type|positional arguments"
    r"|must be|expected|[^a-z]"
)

# The prefix of a short text of C++, which alone distinguishes it from other texts.
_BEFORE = {
    "emitOpError": "op ", "emitError": "error: ", "emitRemark": "remark: ", "emitWarning": "warning: ",
    "report_fatal_error": "llvm error: ",
}  # fmt: skip


def _link(text: str) -> str:
    if not re.fullmatch(r"https://[^\s<>()\"'`\\|]+/[^\s<>()\"'`\\|]+", text):
        raise ValueError(f'"{text}" is no https address of a page')
    return text


def _sentence(text: str) -> str:
    if not re.search(r"[.?)]$", text):
        raise ValueError(f'"{text[:60]}" is no whole sentence: end it with a full stop')
    return text


def _topic(text: str) -> str:
    parts = text.split(" & ")
    if len(parts) < 2:
        raise ValueError(f"{text!r} is one word of many texts: join at least two parts with ' & '")
    for part in parts:
        validators.regex(part)
        if part != part.lower():
            raise ValueError(f"{part!r} is looked for in small letters")
    return text


Releases = Annotated[str, AfterValidator(lambda text: text and validators.specifier(text))]
Expression = Annotated[str, AfterValidator(validators.regex)]
Sentence = Annotated[str, Field(min_length=5), AfterValidator(_sentence)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Cause(_Strict):
    why: Sentence
    do: Sentence
    code: str = ""
    log: Expression = ""
    triton: Releases = ""
    torch: Releases = ""
    targets: list[str] = []
    issue: str | None = None
    decides: bool = False


class _Says(_Strict):
    text: Annotated[str, Field(min_length=_LEAST)]
    triton: Releases = ""


class _Run(_Strict):
    """How the example is run, where it is not a kernel on sm_90."""

    target: str = "sm_90"
    options: dict[str, int | str | bool] = {}
    # Whether it needs TRITON_INTERPRET=1.
    interpret: bool = False
    # Statements ahead of the kernel, and the argument for `x_ptr`.
    before: str = ""
    dtype: str = "float32"


class Example(_Strict):
    """Code with an error, and the correction: statements of a kernel, or with `script` of the file that launches it."""

    bad: str
    good: str = ""
    script: bool = False
    run: _Run = _Run()


class _Error(_Strict):
    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: Annotated[str, Field(min_length=8, max_length=110)]
    says: Annotated[list[str | _Says], Field(min_length=1)]
    # The explanation of a single cause; `cause` has several.
    why: str = ""
    do: str = ""
    code: str = ""
    # Where the single cause is possible.
    triton: Releases = ""
    targets: list[str] = []
    cause: list[_Cause] = []
    ask: str = ""
    meaning: str = ""
    links: list[Annotated[str, AfterValidator(_link)]] = []
    framed: bool = False
    consequence: bool = False
    wrapper: bool = False
    foreign: str = ""
    shared: bool = False
    table: bool = False
    sure: bool = False
    own: bool = False
    # The causes of vendors' backends belong to it as well.
    vendors: bool = False
    bad: str = ""
    good: str = ""
    # Statements of a whole file rather than of a kernel.
    script: bool = False
    run: _Run = _Run()
    # More examples, for its other wordings.
    also: list[Example] = []

    @model_validator(mode="after")
    def _whole(self) -> _Error:
        if bool(self.cause) == bool(self.why and self.do):
            raise ValueError("give `why` and `do` of the one cause, or `cause` for each of several")
        if self.cause and (self.triton or self.targets or self.code):
            raise ValueError("of several causes each has its own `triton`, `targets` and `code`")
        if self.why:
            _sentence(self.why), _sentence(self.do)
        if len(self.cause) == 1:
            raise ValueError("one cause is written as `why` and `do`")
        if self.vendors and not self.cause:
            raise ValueError("`vendors` adds causes to several: write `cause`")
        if len(self.cause) > 1 and not self.ask:
            raise ValueError("several causes share the text: `ask` for the fact that decides")
        for text in self.templates():
            if re.search(r"\{(?![nw]?\})", text):
                raise ValueError(f"in {text!r} only {{}}, {{n}} and {{w}} stand for something")
            if len(re.sub(r"\{[nw]?\}", "", tidy(text))) < _LEAST or not whole_words(tidy(text)):
                raise ValueError(f"{text!r} says too little to be found by")
        if bool(self.bad) != bool(self.good) and not self.bad:
            raise ValueError("a corrected example belongs to one that fails")
        return self

    def examples(self) -> list[Example]:
        own = Example(bad=self.bad, good=self.good, script=self.script, run=self.run)
        return [own, *self.also] if self.bad else list(self.also)

    def templates(self) -> list[str]:
        return [wording if isinstance(wording, str) else wording.text for wording in self.says]


class _File(_Strict):
    error: Annotated[list[_Error], Field(min_length=1)]
    # Evidence of another vendor's backend, whatever the error: it leads the causes of entries with `vendors`.
    vendor: list[_Cause] = []
    # By id of an entry, how titles name it: expressions joined by ` & `, which are all found in any order.
    topic: dict[
        str, Annotated[list[Annotated[str, AfterValidator(_topic)]], Field(min_length=1)]
    ] = {}


def load(folder: Path = FOLDER) -> dict[str, _File]:
    """Each kind's entries. Raises ConfigError for an invalid entry, with the file and the entry."""
    made = {
        path.stem: datafile.load(path, _File, todo="Correct these entries of the error index.")
        for path in sorted(folder.glob("*.toml"))
    }
    for kind in made:
        if kind not in KINDS:
            raise ConfigError(f"{folder / kind}.toml: no kind of error. Kinds: {', '.join(KINDS)}.")
    counted = Counter(entry.id for file in made.values() for entry in file.error)
    if twice := sorted(name for name, times in counted.items() if times > 1):
        raise ConfigError(f"{folder}: two errors have one id: {', '.join(twice)}. Rename one.")
    texts = Counter(
        tidy(text) for file in made.values() for entry in file.error for text in entry.templates()
    )
    if twice := sorted(text for text, times in texts.items() if times > 1):
        raise ConfigError(
            f"{folder}: two errors say the same: {'; '.join(twice)}. Make one of them."
        )
    named = {name for file in made.values() for name in file.topic}
    if lost := sorted(named - counted.keys()):
        raise ConfigError(f"{folder}: topics of no error: {', '.join(lost)}. Name its id.")
    return made


def compiled(files: dict[str, _File]) -> str:
    """compiled.json of these files."""
    errors: list[dict[str, Any]] = []
    says: list[tuple[int, str, str]] = []
    vendors = [vendor for file in files.values() for vendor in file.vendor]
    for kind, file in files.items():
        for entry in file.error:
            says += [
                (len(errors), tidy(text if isinstance(text, str) else text.text),
                 "" if isinstance(text, str) else text.triton)
                for text in entry.says
            ]  # fmt: skip
            errors.append(_record(kind, entry, vendors))
    places = {error["id"]: place for place, error in enumerate(errors)}
    topics = [
        [places[name], text.split(" & ")]
        for file in files.values()
        for name, texts in file.topic.items()
        for text in texts
    ]
    wordings = [[*row, anchors] for row, anchors in _anchored(says)]
    return _document(errors=errors, says=wordings, topics=topics)


def _record(kind: str, error: _Error, vendors: list[_Cause]) -> dict[str, Any]:
    own = {name: getattr(error, name) for name in ("why", "do", "code", "triton", "targets")}
    causes = error.cause or [_Cause.model_validate(own)]
    causes = [*vendors, *causes] if error.vendors else causes
    whole = {
        "id": error.id, "kind": kind, "title": error.title,
        "causes": [cause.model_dump(exclude_defaults=True) for cause in causes],
        **{name: getattr(error, name) for name in Entry.__dataclass_fields__
           if name not in ("id", "kind", "title", "causes")},
    }  # fmt: skip
    return {name: value for name, value in whole.items() if value not in ("", [], False)}


def _anchored(says: list[tuple[int, str, str]]) -> list[tuple[tuple[int, str, str], list[str]]]:
    """Each wording with its rarest words."""
    counted = Counter(word for _, text, _ in says for word in set(whole_words(text)))
    return [
        (row, sorted(whole_words(row[1]), key=lambda word: (counted[word], -len(word)))[:ANCHORS])
        for row in says
    ]


def _document(**lists: list[Any]) -> str:
    """An entry a line, so that a change is read as one."""

    def lines(many: list[Any]) -> str:
        return ",\n".join(json.dumps(row, ensure_ascii=False) for row in many)

    parts = [f'"{name}": [\n{lines(many)}\n]' for name, many in lists.items()]
    return "{" + ",\n".join(['"crosswarp_errors": 1', *parts]) + "}\n"


def compiled_messages(extracted: list[dict[str, str]]) -> str:
    """Makes messages.json of the extracted `text`, `where`, `exception`, `first`, `last` and `condition` of each.

    A text that is too short by itself matches where its file is named, or behind the prefix of its emitter.
    """
    compiled, seen = [], set()
    for raw in extracted:
        text = " ".join(raw["text"].split())
        plain = tidy(text)
        key = plain, raw["first"], raw["last"]
        if not whole_words(plain) or key in seen:
            continue
        thin = len(_UNSAID.sub("", plain)) < _LEAST
        before = _BEFORE.get(raw["exception"], "")
        if before and thin:
            plain, thin = before + plain, False
        seen.add(key)
        compiled.append(
            (text, raw["where"], raw["exception"], raw["first"], raw["last"], raw["condition"], int(thin), plain)
        )  # fmt: skip
    anchored = _anchored([(n, row[-1], "") for n, row in enumerate(compiled)])
    rows = [[*row, anchors] for row, (_, anchors) in zip(compiled, anchored)]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f'{{"crosswarp_messages": 1,\n"messages": [\n{lines}\n]}}\n'


def main() -> None:
    COMPILED.write_text(compiled(load()), encoding="utf-8")
    print(COMPILED.name, "written")


if __name__ == "__main__":
    main()
