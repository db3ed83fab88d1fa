"""Several modules as one file: what is needed and nothing else, under names that do not collide."""

from __future__ import annotations

import textwrap

import pytest

from crosswarp.reports.reproducing.flatten import flatten, names


@pytest.fixture
def flat():
    """`flat("KERNEL", main="...", other="...")`: the file that holds what the module `main` calls by that name."""

    def make(wanted, there=(), reserved=(), **modules):
        sources = {name: textwrap.dedent(text) for name, text in modules.items()}
        found = flatten({"main": [wanted]}, sources.get, dict(there), reserved)
        assert found == flatten({"main": [wanted]}, sources.get, dict(there), reserved)
        return found

    return make


def run(text):
    found: dict = {}
    exec(compile(text, "flat", "exec"), found)
    return found


def test_what_nobody_needs_stays_out(flat):
    text = flat("KERNEL", main="""\
        '''What the module is for.'''
        import math
        import os
        from json import dumps, loads

        SIZE = 3
        OTHER = 4

        # about the helper
        def helper(x):
            OTHER = x
            return math.floor(OTHER) + SIZE

        def unused():
            return os.getcwd(), loads

        KERNEL = [helper(1.5), dumps([])]
    """)  # fmt: skip
    assert run(text)["KERNEL"] == [4, "[]"]
    assert "# about the helper" in text
    for left_out in ("import os", "loads", "unused", "OTHER = 4", "What the module is for"):
        assert left_out not in text


def test_names_of_several_modules_do_not_collide(flat):
    text = flat("KERNEL", main="""\
        from other import launch as forward, Thing
        from other import SIZE

        def launch(x, *, size=SIZE):
            return forward(x) + size

        def scoped(launch):
            '''a parameter is no global'''
            return [launch for launch in launch] + [Thing.launch]

        KERNEL = launch(1), scoped([5]), launch(x=1, size=0)
    """, other="""\
        from deep import launch as deepest

        SIZE = 100

        class Thing:
            launch = "of the class"

        def launch(x):
            return deepest(x) * 2
    """, deep="""\
        SIZE = 10

        def launch(x):
            global CALLS
            CALLS = SIZE
            return x + SIZE
    """)  # fmt: skip
    assert run(text)["KERNEL"] == (122, [5, "of the class"], 22)
    assert "import" not in text.replace("# from", "")


def test_what_runs_for_its_effect_is_kept(flat):
    text = flat("KERNEL", main="""\
        import helper_of_nobody
        table = {}
        def register(name):
            table[name] = 1
        register("a")
        try:
            from no_such_module import thing
        except ImportError:
            thing = None
        KERNEL = (table, thing)
    """)  # fmt: skip
    assert run(text)["KERNEL"] == ({"a": 1}, None) and "helper_of_nobody" not in text


def test_a_name_that_is_bound_twice(flat):
    text = flat("KERNEL", main="""\
        KERNEL = [1]
        for number in (2, 3):
            KERNEL = KERNEL + [number]
    """)  # fmt: skip
    assert run(text)["KERNEL"] == [1, 2, 3]


def test_what_the_file_has_already(flat):
    main = """\
        import json
        import os.path
        from json import dumps as _main

        KERNEL = lambda: (json.dumps([]), os.path.sep, _main([1]))
    """
    text = flat("KERNEL", {"json": "import json", "os": "import os"}, ["_main"], main=main)
    assert "import json\n" not in text and "import os.path" in text
    found = run(f"import json\nimport os\n{text}\n_main = None\n")
    assert found["KERNEL"]() == ("[]", "/", "[1]")


def test_relative_imports(flat):
    text = flatten(
        {"pack.main": ["KERNEL"]},
        {
            "pack.main": "from .other import VALUE\nKERNEL = VALUE\n",
            "pack.other": "VALUE = 7\n",
        }.get,
    )
    assert run(text)["KERNEL"] == 7


def test_what_cannot_be_made(flat):
    with pytest.raises(LookupError, match="main binds no KERNEL"):
        flat("KERNEL", main="x = 1\n")
    with pytest.raises(LookupError, match="the source of main is not here"):
        flat("KERNEL")
    with pytest.raises(SyntaxError):
        flat("KERNEL", main="KERNEL = (\n")


def test_all_names_of_a_module():
    assert names("import os\nA = B = 1\ndef f(): c = 2\nif A:\n    D = 3\n") == [
        "os", "A", "B", "f", "D",
    ]  # fmt: skip
