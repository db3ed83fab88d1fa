"""Is what `crosswarp lint` finds true? Published libraries are linted, each finding tried on the releases it names.

    python tests/proofs/lint_truth.py --work FOLDER --column 3.9.0=PYTHON --column 3.0.0=PYTHON:FOLDER ..

Run by hand, on the host. The libraries are taken from the package index by name, without what they need, and nothing of
them is imported. A column is a Python with that Triton, or one with another Triton and a folder that goes before it:
`uv pip install --no-deps --target FOLDER triton==3.0.0`. What is tried there stands in `CHECKS`; 3.10.0, which there is
not yet, is tried by comparing. A finding is true when it is on every release that it names.
"""

import argparse
import ast
import collections
import json
import subprocess
import sys
from pathlib import Path

LIBRARIES = (
    "liger-kernel",
    "fla-core",
    "unsloth",
    "torchao",
    "xformers",
    "flag_gems",
    "triton_kernels",
)
CHECKS = '''
import dataclasses, importlib, importlib.util, inspect, json, sys, tempfile, os, warnings
warnings.simplefilter("ignore")
import triton

def thing(path):
    """As code gets it: the longest module, then its attributes."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError as error:
            if not ".".join(parts[:end]).startswith(error.name or "-"):
                raise
            continue
        for name in parts[end:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(path)

def missing(check):
    try:
        thing(check["subject"])
    except (ImportError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"

def argument(check):
    path, _, name = check["subject"].partition("(")
    name = name[:-1]
    function = thing(path)
    own = inspect.signature(getattr(function, "fn", function))
    try:
        if name:
            own.bind_partial(**{name: None})
        else:
            hidden = ("_builder", "_semantic", "_generator")
            kept = [one for one in own.parameters.values() if one.name not in hidden]
            own.replace(parameters=kept).bind_partial(*[None] * check["positional"])
    except TypeError as error:
        return f"TypeError: {error}"

def removed(check):
    try:
        thing(check["subject"])(*[None] * 6, _semantic=object())
    except NotImplementedError as error:
        return f"NotImplementedError: {error}"

def option(check):
    name = check["subject"].partition(".")[2]
    fields = set()
    for path in ("nvidia.compiler.CUDAOptions", "amd.compiler.HIPOptions"):
        try:
            fields |= {one.name for one in dataclasses.fields(thing("triton.backends." + path))}
        except (ImportError, AttributeError):
            fields |= {one.name for one in dataclasses.fields(thing("triton.compiler.backends.cuda.CUDAOptions"))}
    return None if name in fields else f"KeyError: {name}"

def decorated(check):
    text = (
        "import triton\\n@triton.jit\\ndef k(" + ", ".join(check["arguments"]) + "):\\n    pass\\n"
        "triton.autotune(configs=[triton.Config({})], **{" + repr(check["word"]) + ": " + check["value"] + "}"
        + (", key=[]" if check["word"] != "key" else "") + ")(k)\\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "decorated.py")
        open(path, "w").write(text)
        spec = importlib.util.spec_from_file_location("decorated", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["decorated"] = module
        try:
            spec.loader.exec_module(module)
        except ValueError as error:
            return f"ValueError: {error}"

KINDS = {
    "language-name": missing, "host-name": missing, "language-argument": argument, "host-argument": argument,
    "language-removed": removed, "launch-option": option, "autotune-key": decorated,
    "autotune-argument-name": decorated,
}
told = []
for check in json.load(open(sys.argv[1])):
    try:
        why = KINDS[check["rule"]](check)
    except Exception as error:
        why = None
        check["error"] = f"{type(error).__name__}: {error}"
    told.append({"why": why, "error": check.get("error", ""), "triton": triton.__version__})
json.dump(told, open(sys.argv[2], "w"))
'''


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--column", action="append", default=[], metavar="VERSION=PYTHON[:FOLDER]")
    parser.add_argument("--library", action="append", default=[])
    parser.add_argument(
        "--folder", action="append", default=[], metavar="NAME=PATH", help="sources at hand"
    )
    parser.add_argument("--keep", action="store_true", help="do not lint again what was linted")
    options = parser.parse_args()
    columns = dict(one.split("=", 1) for one in options.column)
    at_hand = {name: Path(path) for name, _, path in (one.partition("=") for one in options.folder)}
    chosen = options.library or ([] if at_hand else LIBRARIES)
    found = {name: linted(options, name, installed(options, name)) for name in chosen}
    found |= {name: linted(options, name, folder) for name, folder in at_hand.items()}
    verdicts = tried(options.work, columns, found)
    table(found, verdicts)


def installed(options, name):
    folder = options.work / f"try-{name}"
    if not folder.exists():
        where = ["--target", str(folder), "--python", sys.executable]
        subprocess.run(["uv", "pip", "install", "-q", "--no-deps", *where, name], check=True)
    return folder


def linted(options, name, folder):
    out = options.work / f"lint-{name}.json"
    if not (options.keep and out.exists()):
        command = [
            Path(sys.executable).with_name("crosswarp"),
            "lint",
            folder,
            "--format",
            "json",
            "--out",
            out,
        ]
        subprocess.run(command, stdout=subprocess.DEVNULL)
    return json.loads(out.read_text())["findings"]


def check_of(finding):
    """What a column needs to try it, read from the file again and not from the finding's own words."""
    check = {"rule": finding["rule"], "subject": finding["subject"]}
    if finding["rule"].startswith("autotune") or finding["subject"].endswith("()"):
        tree = ast.parse(Path(finding["path"]).read_bytes())
        for node in ast.walk(tree):
            if finding["subject"].endswith("()") and isinstance(node, ast.Call):
                if (node.lineno, node.col_offset + 1) == (finding["line"], finding["column"]):
                    check["positional"] = len(node.args)
            elif isinstance(node, ast.FunctionDef):
                for one in node.decorator_list:
                    words = {word.arg: word.value for word in getattr(one, "keywords", [])}
                    for word, value in words.items():
                        if (value.lineno, value.col_offset + 1) == (
                            finding["line"],
                            finding["column"],
                        ):
                            names = [
                                arg.arg
                                for arg in (
                                    *node.args.posonlyargs,
                                    *node.args.args,
                                    *node.args.kwonlyargs,
                                )
                            ]
                            check.update(
                                word=word, value=ast.unparse(literal(tree, value)), arguments=names
                            )
    return check


def literal(tree, value):
    """The list that a name stands for: the last that the file gives it."""
    if not isinstance(value, ast.Name):
        return value
    given = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List)
    ]
    given = [
        node for node in given if value.id in (getattr(one, "id", None) for one in node.targets)
    ]
    return max(given, key=lambda node: node.lineno).value if given else value


def tried(work, columns, found):
    """By library and number of the finding: release -> why it is true, or None."""
    verdicts = collections.defaultdict(dict)
    waiting = collections.defaultdict(list)
    for name, findings in found.items():
        for number, finding in enumerate(findings):
            for release in finding["releases"]:
                if finding["rule"] == "version-string":
                    verdicts[name, number][release] = by_letters(finding["subject"], release)
                elif release in columns:
                    waiting[release].append(((name, number), check_of(finding)))
                else:
                    verdicts[name, number][release] = None
    for release, checks in waiting.items():
        python, _, before = columns[release].partition(":")
        asked, answer = work / f"asked-{release}.json", work / f"answer-{release}.json"
        asked.write_text(json.dumps([check for _, check in checks]))
        environ = {"PYTHONPATH": before, "PATH": "/usr/bin:/bin", "HOME": str(work)}
        subprocess.run([python, "-c", CHECKS, str(asked), str(answer)], env=environ, check=True)
        for (key, check), told in zip(checks, json.loads(answer.read_text()), strict=True):
            assert told["triton"].split("+")[0] == release, (told, release)
            verdicts[key][release] = told["why"]
            if told["why"] is None:
                print("FALSE", key[0], release, check, told["error"])
    return verdicts


def by_letters(subject, release):
    """Whether letters and numbers disagree: `triton.__version__ > '3.2.0'` for a release."""
    from packaging.version import Version

    class Triton:
        __version__ = release

    class Number:
        __version__ = Version(release)

    tree = ast.parse(subject, mode="eval")
    letters = eval(compile(tree, "letters", "eval"), {"triton": Triton})
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            node.comparators = [
                ast.copy_location(ast.Call(ast.Name("V", ast.Load()), [one], []), one)
                for one in node.comparators
            ]
    numbers = eval(
        compile(ast.fix_missing_locations(tree), "numbers", "eval"),
        {"triton": Number, "V": Version},
    )
    return f"letters say {letters}, numbers {numbers}" if letters != numbers else None


def table(found, verdicts):
    rows = collections.defaultdict(collections.Counter)
    for name, findings in found.items():
        for number, finding in enumerate(findings):
            told = verdicts[name, number]
            true = all(told.get(release) for release in finding["releases"])
            for key in ((name, finding["rule"]), ("all", "all")):
                rows[key]["found"] += 1
                rows[key]["true" if true else "false"] += 1
                rows[key]["tried"] += len(finding["releases"])
        if not findings:
            rows[name, "(nothing)"]["found"] += 0
    print(
        "| library | rule | found | tried on releases | true | false |\n| --- | --- | --- | --- | --- | --- |"
    )
    for (name, rule), row in rows.items():
        if name != "all":
            print(
                f"| {name} | {rule} | {row['found']} | {row['tried']} | {row['true']} | {row['false']} |"
            )
    everything = rows["all", "all"]
    share = 100 * everything["true"] / max(everything["found"], 1)
    print(
        f"| all | | {everything['found']} | {everything['tried']} | {everything['true']} | {everything['false']} |"
    )
    print(f"\n{share:.1f} % true")


if __name__ == "__main__":
    main()
