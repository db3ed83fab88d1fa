"""A library's settings, its metadata, and what `crosswarp init` makes of a checkout."""

# ruff: noqa: E501

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest

from crosswarp.matrix.checkout import finding, metadata, settings
from crosswarp.matrix.checkout.imports import Imports
from crosswarp.matrix.environments import beside
from crosswarp.matrix.errors import ConfigError
from crosswarp.matrix.facts import columns

ROOT = Path(__file__).parent.parent
ALL = """\
requires = ["einops>=0.7"]
targets = ["H100", "gfx942"]
columns = ["triton-3.*", "founding"]
tests = ["tests", "more/test_one.py"]
sample = 20
stub = ["mine._C"]
env = { MINE_BACKEND = "triton" }
cases = ["test_ops::*", "!*/fp64*"]
time-limit = 30
lint-exclude = ["benchmarks/*"]
"""


@pytest.fixture
def checkout(tmp_path):
    """`checkout({"pyproject.toml": text})`: a folder with these files."""

    def make(files, name="lib"):
        folder = tmp_path / name
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
        return folder

    return make


@pytest.mark.parametrize("name", ["crosswarp.toml", "pyproject.toml"])
def test_settings_from_either_file(checkout, name):
    head = "[tool.crosswarp]\n" if name == "pyproject.toml" else ""
    folder = checkout({name: head + ALL})
    source = settings.load(folder)
    assert source.path == folder / name
    found = source.settings
    assert found.requires == ("einops>=0.7",) and found.tests == ("tests", "more/test_one.py")
    assert (found.sample, found.time_limit, found.env) == (20, 30, {"MINE_BACKEND": "triton"})
    assert found.lint_exclude == ("benchmarks/*",)


def test_without_settings_the_defaults_hold(checkout):
    folder = checkout({"pyproject.toml": '[project]\nname = "lib"\n[tool.other]\nx = 1\n'})
    assert settings.load(folder) == settings.Source(settings=settings.Settings(), path=None)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("time_limit = 3", ['"time_limit"', 'did you mean "time-limit"?']),
        ("target = ['sm_90']", ['"target"', 'did you mean "targets"?']),
        ("zzz = 1", ['"zzz"', "there are: requires, targets"]),
        ("targets = ['sm_9']", ["targets: number 1", "Did you mean sm_9"]),
        ("columns = ['triton-3.2']", ["columns: number 1", "Did you mean triton-3.2.0"]),
        ("requires = ['einops >> 1']", ["requires: number 1", "is not a requirement"]),
        ("tests = ['../other']", ["tests: number 1", "no path inside the checkout"]),
        ("sample = 0", ["sample", "greater than or equal to 1"]),
        ("env = { 'A B' = 'x' }", ["env", "A B"]),
        ("stub = ['a-b']", ["stub: number 1"]),
    ],
)
@pytest.mark.parametrize("name", ["crosswarp.toml", "pyproject.toml"])
def test_an_error_names_file_key_and_what_was_meant(checkout, name, text, parts):
    head = "[tool.crosswarp]\n" if name == "pyproject.toml" else ""
    folder = checkout({name: head + text})
    with pytest.raises(ConfigError) as error:
        settings.load(folder)
    for part in (str(folder / name), *parts):
        assert part in str(error.value)


def test_two_places_for_settings_are_one_too_many(checkout):
    folder = checkout({"pyproject.toml": "[tool.crosswarp]\n", "crosswarp.toml": ""})
    with pytest.raises(ConfigError, match="Keep one"):
        settings.load(folder)


def test_the_published_schema_is_the_description():
    published = (ROOT / "docs" / "settings.schema.json").read_text("utf-8")
    assert published == settings.schema()
    schema = json.loads(published)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(tomllib.loads(ALL))
    for wrong in ({"time_limit": 3}, {"sample": 0}, {"targets": []}, {"env": {"A": 1}}):
        assert list(validator.iter_errors(wrong)), wrong


def names(folder):
    return [one.id for one in metadata.declared(folder).columns(columns.load())]


def test_columns_by_what_dependencies_and_extras_allow(checkout):
    text = """
    [project]
    name = "lib"
    dependencies = ["torch>=2.6", "einops"]
    [project.optional-dependencies]
    cuda = ["triton>=3.3,<3.8; sys_platform == 'linux'"]
    windows = ["triton>=9; sys_platform == 'win32'"]
    rocm = ["triton>=3.4"]
    """
    folder = checkout({"pyproject.toml": text})
    found = metadata.declared(folder)
    # Either extra will do, and torch for all.
    assert names(folder)[0] == "triton-3.3.1" and names(folder)[-1] == "triton-3.9.0"
    assert found.range_alone("triton") == "triton<3.8,>=3.3 or triton>=3.4"
    assert 'the extra "cuda"' in found.range_of("triton")
    only = checkout({"pyproject.toml": text.replace('rocm = ["triton>=3.4"]', "")}, "only")
    assert names(only) == ["triton-3.3.1", "triton-3.4.0", "triton-3.5.1", "triton-3.6.0", "triton-3.7.1"]  # fmt: skip


@pytest.mark.parametrize(
    ("dependencies", "expected"),
    [
        (["torch==2.10.0+cu128"], ["triton-3.6.0"]),
        (["torch==2.7.1+cpu", "triton>=3"], ["triton-3.3.1"]),
        # Another vendor's build is no release of PyTorch.
        (["torch==2.7.1+corex.4.4.0"], []),
        (["torch!=2.7.1+cpu", "triton<3.4,>=3.3"], ["triton-3.3.1"]),
        # No column has this patch release.
        (["torch==2.7.0"], ["triton-3.3.1"]),
        (["torch==2.9.0+cu129"], ["triton-3.5.1"]),
        (["torch==1.13.0"], []),
    ],
)
def test_a_pinned_build_or_patch_release_is_the_column_of_its_release(
    checkout, command, dependencies, expected
):
    text = f"[project]\nname = 'lib'\ndependencies = {json.dumps(dependencies)}\n"
    folder = checkout({"pyproject.toml": text, "tests/test_a.py": KERNEL_TEST})
    assert names(folder) == expected
    _, out, _ = command("init", str(folder))
    assert (", of the same minor release." in out) == (dependencies[0][7:12] in ("2.7.0", "2.9.0"))


def test_a_version_that_setup_py_keeps_in_a_name_is_read(checkout):
    script = (
        'TORCH: Final = "2.7.0"\nTRITON = "3.3.0"\nOTHER = "9"\nOTHER = "10"\n'
        'NEEDS = [f"torch=={TORCH}", f"triton>={TRITON}", f"triton<{OTHER}", f"triton>{TRITON:>9}", f"triton=={unset}"]\n'
        'setup(name="lib", install_requires=NEEDS)\n'
    )
    folder = checkout({"setup.py": script})
    found = metadata.declared(folder)
    assert found.range_alone("triton") == "triton>=3.3.0"
    assert found.range_alone("torch") == "torch==2.7.0"
    assert names(folder) == ["triton-3.3.1"]


def test_columns_of_setup_cfg_and_of_files(checkout):
    config = "[metadata]\nname = lib\n[options]\ninstall_requires =\n  triton>=3.8\n  torch\n"
    folder = checkout({"setup.cfg": config})
    assert names(folder) == ["triton-3.8.0", "triton-3.9.0"]
    dynamic = '[tool.setuptools.dynamic]\ndependencies = { file = ["needs.txt"] }\n'
    folder = checkout(
        {"pyproject.toml": dynamic, "needs.txt": "triton<3  # old\n-r other.txt\n"}, "other"
    )
    assert names(folder) == ["triton-2.3.1"]


def test_a_setup_py_is_searched_and_never_run(checkout):
    script = """
import sys
sys.exit("run!")
def needs():
    return ["triton>=3.0", "torch>=2.1"] if sys.platform == "linux" else ["triton==3.9.0"]
setup(name="computed", install_requires=needs(), ext_modules=[CUDAExtension("computed._C", []),
      cpp.CppExtension(name="computed_cpu", sources=[])])
"""
    folder = checkout({"setup.py": script})
    found = metadata.declared(folder)
    assert found.name == "computed" and "the text of setup.py" in found.range_of("triton")
    assert names(folder)[0] == "triton-3.0.0"
    assert metadata.modules_of_extensions(folder) == ["computed._C", "computed_cpu"]
    assert {wish.name for wish in found.wishes} == {"triton", "torch"}
    # What is read outright is believed instead.
    project = {"pyproject.toml": '[project]\nname="x"\ndependencies = ["triton>=3.9"]\n'}
    folder = checkout({"setup.py": script, **project}, "both")
    assert names(folder) == ["triton-3.9.0"]


@pytest.mark.parametrize(
    "file, text, first, last",
    [
        ("pyproject.toml", '[project]\ndependencies = ["triton>=3.3 ; platform_system == \'Linux\'"]', "3.3.1", "3.9.0"),
        ("pyproject.toml", '[project.optional-dependencies]\ncuda = ["triton>=3.2,<3.5"]\nrocm = ["triton>=3.0,<3.5"]', "3.0.0", "3.4.0"),
        ("pyproject.toml", '[project]\ndependencies = ["torch>=2.6", "numpy"]', "3.2.0", "3.9.0"),
        ("setup.py", "from setuptools import setup\nimport nothing\nneeds = ['torch']\nneeds += ['triton>=3.1']\nsetup()", "3.1.0", "3.9.0"),
        ("setup.cfg", "[options]\ninstall_requires =\n  triton~=3.4\n", "3.4.0", "3.9.0"),
        ("x-1.dist-info/METADATA", "Name: x\nRequires-Dist: triton>=3.0.0; extra == 'a'\nRequires-Dist: torch<2.15,>=2.4\n", "3.0.0", "3.8.0"),
        ("x-1.dist-info/METADATA", "Name: x\nRequires-Dist: triton>=3.1\nRequires-Dist: triton==3.6.0; extra == 'a'\n", "3.1.0", "3.9.0"),
        ("pyproject.toml", "[project]\nname = 'x'", "2.3.1", "3.9.0"),
        ("setup.py", "(", "2.3.1", "3.9.0"),
    ],
)  # fmt: skip
def test_the_range_is_found_from_inside_of_a_checkout_or_an_installed_package(
    checkout, file, text, first, last
):
    folder = checkout({file: text, "inside/file.py": ""})
    for path in (folder / "inside", folder / "inside" / "file.py"):
        found = metadata.above(path).columns(columns.load())
        assert (found[0].triton, found[-1].triton) == (first, last)


@pytest.mark.parametrize(
    "files", [{}, {"setup.py": "def ("}, {"setup.cfg": "[options\n=="}, {"setup.py": "\0"}]
)
def test_what_cannot_be_read_says_nothing(checkout, files):
    folder = checkout({"README": "", **files})
    found = metadata.declared(folder)
    assert (found.name, found.wishes) == ("lib", ())
    assert len(names(folder)) == len(columns.published(columns.load()))


LIBRARY = {
    "pyproject.toml": """
[project]
name = "lib"
dependencies = ["triton>=3.2", "torch", "einops>=0.7", "numpy"]
[project.optional-dependencies]
test = ["pytest", "transformers", "pytest-timeout", "black"]
rocm = ["triton>=3.4"]
[tool.pytest.ini_options]
testpaths = "checks/"
""",
    "setup.py": "setup(ext_modules=[CUDAExtension('lib._C')])",
    "src/lib/__init__.py": "",
    "checks/helpers.py": "",
    "checks/test_one.py": "import os, torch, transformers.models, lib, helpers, scipy\n"
    + "".join(f"def test_{n}(): pass\n" for n in range(101)),
}


def test_init_writes_what_it_finds(checkout, command):
    folder = checkout(LIBRARY)
    status, out, err = command("init", str(folder))
    assert status == 0, err
    found = settings.load(folder).settings
    assert found.tests == ("checks",) and found.stub == ("lib._C",) and found.sample == 100
    assert found.requires == ("einops>=0.7", "transformers", "pytest-timeout")
    assert found.targets == ("sm_90", "gfx942") and found.columns == ()
    for part in (
        "The library lib",
        "triton>=3.2 (pyproject.toml",
        "triton-3.4.0",
        "black",
        "scipy",
    ):
        assert part in out, part
    before = (folder / "crosswarp.toml").read_text()
    status, out, err = command("init", str(folder))
    assert status == 2 and "holds settings already" in err
    assert (folder / "crosswarp.toml").read_text() == before


def test_init_reads_what_a_setup_py_may_ask_for(checkout, command):
    script = 'def more():\n    return ["transformers>=4.5", "scipy>=1", "triton>=3.2", "black"]\nsetup(name="lib")\n'
    files = {
        "setup.py": script, "test/__init__.py": "", "test/transformers/test_a.py": "import transformers, other\n",
    }  # fmt: skip
    folder = checkout(files)
    status, out, err = command("init", str(folder))
    assert status == 0, err
    found = settings.load(folder).settings
    assert (
        found.requires == ("transformers>=4.5",)
        and "imported by the tests: other (test/transformers/test_a.py:1)" in out
    )
    # Which branch is taken is not known, so that the columns are written down.
    assert found.columns[0] == "triton-3.2.0" and "the text of setup.py" in out


def test_init_beside_settings_in_pyproject_writes_nothing(checkout, command):
    folder = checkout({"pyproject.toml": "[tool.crosswarp]\nsample = 3\n"})
    status, _, err = command("init", str(folder))
    assert status == 2 and "holds settings already" in err
    assert not (folder / "crosswarp.toml").exists()
    status, out, _ = command("init", str(folder), "--print")
    assert status == 0 and tomllib.loads(out)["targets"] == ["sm_90"]


def test_init_of_no_folder(command, tmp_path):
    status, _, err = command("init", str(tmp_path / "none"))
    assert status == 2 and "no such folder" in err


def test_what_is_written_is_what_is_read(checkout):
    """Of names with quotes and the like as well."""
    folder = checkout({"x": ""})
    found = finding.Found({"tests": ['a "b"', "c\\d"], "sample": 3, "requires": []})
    (folder / "crosswarp.toml").write_text(finding.text(found))
    assert settings.load(folder).settings.tests == ('a "b"', "c\\d")


# Checkouts without a pyproject.toml


KERNEL_TEST = "import torch, helper_of_nobody\ndef test_a(): pass\n"


@pytest.mark.parametrize(
    "script, expected",
    [
        ('setup(install_requires=["numpy", "tqdm>=4", "triton>=3.6"])', ("tqdm>=4",)),
        ('needs = ["tqdm"]\nsetup(install_requires=needs + ["einops"])', ("tqdm", "einops")),
        ('setup(install_requires=open("requirements.txt").read().splitlines())', ("scipy==1.1",)),
        ('def read(p):\n    return open(p)\nsetup(install_requires=[l for l in read("requirements.txt")])', ("scipy==1.1",)),
        # What is changed later, or computed, is not known: what an installer by hand reads is.
        ('needs = ["tqdm"]\nneeds.append(more())\nsetup(install_requires=needs)', ("scipy==1.1",)),
        ('setup(install_requires=open("/etc/requirements.txt"))', ("scipy==1.1",)),
    ],
)  # fmt: skip
def test_what_a_setup_py_lists_is_needed(checkout, command, script, expected):
    files = {"setup.py": script, "requirements.txt": "scipy==1.1  # why\ntriton==3.2.0\n", "tests/test_a.py": "def test_a(): pass\n"}  # fmt: skip
    folder = checkout(files)
    status, out, err = command("init", str(folder))
    assert status == 0, err
    assert settings.load(folder).settings.requires == expected


def test_a_conda_file_is_read(checkout, command):
    conda = """
name: x
channels:
  - conda-forge
dependencies:
  - python=3.10
  - pytorch>=2.4
  - cudatoolkit
  - conda-forge::einops=0.8.0=py_0
  - pandas
  - pip:
    - transformers>=4.5
"""
    tests = "import einops, transformers\ndef test_a(): pass\n"
    folder = checkout({"environment.yml": conda, "tests/test_a.py": tests})
    assert command("init", str(folder))[0] == 0
    # Of an environment of everything only what is imported.
    assert settings.load(folder).settings.requires == ("einops==0.8.0.*", "transformers>=4.5")
    assert settings.load(folder).settings.columns[0] == "triton-3.0.0"


def test_tests_in_odd_places_are_found(checkout, command):
    files = {"lib/ops/test_softmax.py": KERNEL_TEST, "lib/ops/a/test_b.py": KERNEL_TEST, "third_party/x/test_c.py": KERNEL_TEST,
             "build/lib/test_d.py": KERNEL_TEST, "lib/__init__.py": ""}  # fmt: skip
    folder = checkout(files)
    status, out, _ = command("init", str(folder))
    assert status == 0 and settings.load(folder).settings.tests == ("lib/ops",)
    assert "2 test functions in lib/ops" in out and "put on the path as they are" in out
    assert "imported by the tests: helper_of_nobody (lib/ops/a/test_b.py:1)" in out
    assert "11 times about 5.6 GB" in out and out.rstrip().endswith("then crosswarp test")


def test_pytests_other_settings_name_the_tests(checkout, command):
    files = {"pytest.ini": "[pytest]\ntestpaths = checks\n", "checks/test_a.py": KERNEL_TEST}
    assert finding.tests_of(checkout({**files, "tests/b.py": ""})) == ["checks"]


@pytest.mark.parametrize("tests", [{}, {"tests/script.py": "print(1)\n"}])
def test_without_tests_no_test_is_the_next_step(checkout, command, tests):
    files = {"lib/k.py": "import triton\n@triton.jit\ndef k(): pass\n", "lib/__init__.py": ""}
    status, out, _ = command("init", str(checkout({**files, **tests})))
    assert status == 0 and "Next: crosswarp test" not in out
    assert "crosswarp check lib/k.py" in out and "Next: crosswarp lint" in out


def test_what_is_imported_and_only_a_requirements_file_names_is_needed(checkout, command):
    setup = "from setuptools import setup\nsetup(name='lib', install_requires=['einops', 'triton>=3.3'])\n"
    files = {
        "setup.py": setup, "requirements.txt": "pyyaml==6.0.1\nboto3==1.0\neinops==0.6\ntriton==3.2.0\n",
        "tests/test_a.py": "import yaml, einops\n" + KERNEL_TEST,
    }  # fmt: skip
    folder = checkout(files)
    _, out, _ = command("init", str(folder))
    assert settings.load(folder).settings.requires == ("einops", "pyyaml") and "yaml (" not in out


def test_tests_that_cannot_launch_a_kernel_are_no_next_step(checkout, command):
    pytests = {"pytest.ini": "[pytest]\ntestpaths = tests/names\n"}
    tests = {
        "tests/names/test_a.py": "import json, lib\ndef test_a(): pass\n",
        "lib/__init__.py": "",
    }
    _, out, _ = command("init", str(checkout({**pytests, **tests})))
    assert "launch no kernel. Next: name others with `tests` in that file" in out
    # Through the library they may launch one.
    through = {**pytests, **tests, "lib/__init__.py": "import torch\n"}
    _, out, _ = command("init", str(checkout(through, name="other")))
    assert "launch no kernel" not in out and "Next: crosswarp test" in out


def test_the_next_step_names_a_release_that_the_metadata_allows(checkout, command):
    setup = "from setuptools import setup\nsetup(name='lib', install_requires=['triton>=3.3,{}'])\n"
    tests = {"tests/test_a.py": KERNEL_TEST}
    _, out, _ = command("init", str(checkout({"setup.py": setup.format("<3.4"), **tests})))
    assert out.endswith("builds one environment of about 5.6 GB. Next: crosswarp test\n")
    files = {"setup.py": setup.format("<3.9"), **tests}
    _, out, _ = command("init", str(checkout(files, name="other")))
    assert out.endswith("Next: crosswarp test --triton 3.8.0, then crosswarp test\n")


def test_without_a_column_in_the_range_the_next_step_names_one(checkout, command):
    setup = "from setuptools import setup\nsetup(name='lib', install_requires=['triton==2.1.0'])\n"
    status, out, _ = command(
        "init", str(checkout({"setup.py": setup, "tests/test_a.py": KERNEL_TEST}))
    )
    assert (
        status == 0 and "triton==2.1.0 (setup.py, install_requires): no column lies in that" in out
    )
    assert out.rstrip().endswith("Next: crosswarp test --triton newest")


def test_what_the_library_imports_for_its_tests_is_followed(checkout):
    files = {
        "lib/__init__.py": "from .a import f\n", "lib/a.py": "import needed\ntry:\n    import wanted\nexcept ImportError:\n    pass\n",
        "lib/other.py": "import never\n", "tests/test_a.py": "import lib, conf\ndef test_a():\n    import late\n", "tests/conf.py": "",
    }  # fmt: skip
    folder = checkout(files)
    found = Imports(folder, finding.files_of(folder, ["tests"]))
    assert dict(found.of_others) == {"needed": "lib/a.py:1", "late": "tests/test_a.py:3"}


def test_what_a_test_can_do_without_is_not_asked_for(checkout):
    test = (
        "import pytest, needed\ntry:\n    import wanted\nexcept ImportError:\n    wanted = None\n"
        "if wanted:\n    import more\ndef test_a():\n    pytest.importorskip('asked.for')\n    import asked\n"
    )
    files = {
        "tests/test_a.py": test + "    import helper, shared\n", "tests/tool.py": "import tools_own\n",
        "tests/helper.py": "import helpers_own\n", "scripts/shared.py": "",
        "lib/ops/_cambricon/__init__.py": "from . import x\nimport torch_mlu\n", "lib/__init__.py": "from .deep.down import f\n",
        "lib/deep/down/__init__.py": "from .beside import f\n", "lib/deep/down/beside.py": "import lib.ops._cambricon\n",
        "tests/test_b.py": "import lib\n",
    }  # fmt: skip
    folder = checkout(files)
    found = Imports(folder, finding.files_of(folder, ["tests"]))
    assert dict(found.of_others) == {
        "needed": "tests/test_a.py:1",
        "helpers_own": "tests/helper.py:1",
    }
    assert set(found.optional) == {"wanted", "more", "asked"}
    # Of an extra for developers it is installed all the same.
    assert {"wanted", "asked"} <= set(found.all)


def test_what_an_environment_lacks_is_one_line(tmp_path):
    (tmp_path / "there_is_this.py").write_text("")
    imports = {"numpy": "a.py:1", "there_is_this": "a.py:2", "nobody_has_this": "a.py:3"}
    assert beside.missing(Path(sys.executable), [tmp_path], imports) == (
        "not installed, and imported: nobody_has_this (a.py:3). Name in `requires` what provides it."
    )
    # Nothing of `requires` is installed into an interpreter that was named.
    assert beside.missing(Path(sys.executable), [tmp_path], imports, here=True).endswith(
        "nobody_has_this (a.py:3). Install it: pip install nobody_has_this."
    )
    assert beside.missing(tmp_path / "no-python", [], imports) == ""


@pytest.mark.parametrize("name", ["requirements-dev.txt", "requirements_test.txt", "tests/requirements.txt", "test-requirements.txt"])  # fmt: skip
def test_requirements_of_developers_are_taken_where_tests_import_them(checkout, command, name):
    project = '[project]\nname = "lib"\ndependencies = ["einops"]\n'
    files = {"pyproject.toml": project, name: "parameterized\nblack\n", "tests/test_a.py": "import parameterized\ndef test_a(): pass\n"}  # fmt: skip
    folder = checkout(files)
    assert command("init", str(folder))[0] == 0
    assert settings.load(folder).settings.requires == ("einops", "parameterized")


def test_the_tables_of_tools_are_read(checkout, command):
    project = """
[tool.poetry]
name = "lib"
[tool.poetry.dependencies]
python = ">=3.9"
torch = "^2.6"
triton = {version = "~3.2", optional = true}
einops = "^0.6.1"
plain = "1.2"
any = "*"
several = [{version = "<1", python = "<3.10"}, {version = ">=1", python = ">=3.10"}]
wheel-of = {git = "https://example.org/x.git", tag = "v1"}
hub = {version = "^1.2", extras = ["fast"]}
[tool.poetry.extras]
gpu = ["triton"]
[tool.poetry.group.test.dependencies]
parameterized = "*"
black = "*"
[tool.uv]
dev-dependencies = ["hypothesis>=6"]
[tool.hatch.envs.test]
dependencies = ["pytest-benchmark"]
"""
    test = "import parameterized, hypothesis\ndef test_a(): pass\n"
    folder = checkout({"pyproject.toml": project, "tests/test_a.py": test})
    status, out, _ = command("init", str(folder))
    assert status == 0 and "The library lib," in out and "triton<3.3,>=3.2" in out
    assert settings.load(folder).settings.requires == (
        "einops<0.7,>=0.6.1", "plain==1.2", "any", "several>=1", "wheel-of @ git+https://example.org/x.git@v1",
        "hub[fast]<2,>=1.2", "parameterized", "hypothesis>=6", "pytest-benchmark",
    )  # fmt: skip
