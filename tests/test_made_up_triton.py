"""Fixes on a Triton made of a few classes: what each does, and what it leaves to Triton. tests/cell has real ones."""

from __future__ import annotations

import json
import os
import sys
import types

import numpy as np
import pytest

from crosswarp.compat.acts import acted
from crosswarp.compat.copies import COMMON
from crosswarp.compat.record import Patches
from crosswarp.compat.shims import (
    attrs_descriptor,
    cache_groups,
    interpreter_autotune,
    interpreter_bool_sum,
    interpreter_nan,
    interpreter_reserved_options,
    interpreter_scalar_mask,
    libdevice_modules,
)


class Handle:
    def __init__(self, data, dtype):
        self.data, self.dtype = np.asarray(data), dtype


@pytest.fixture
def interpreter(monkeypatch):
    """A module as of Triton's interpreter, whose methods say that they were asked."""

    class InterpreterBuilder:
        def binary_op(self, lhs, rhs, op):
            return op(lhs, rhs)

        def create_minnumf(self, lhs, rhs):
            return "Triton's"

        create_maxnumf = create_minnumf

        def create_clampf(self, arg, lo, hi, propagate_nans):
            return self, arg, lo, hi

        def create_splat(self, ret_ty, arg):
            return ret_ty, arg

    class ReduceOps:
        axis, keep_dims = 0, False

        def min_max(self, input, val_reduce_op, idx_reduce_op=None):
            return self, input, val_reduce_op

        def sum(self, input):
            return self, input

        def to_tensor(self, data, dtype):
            return data, dtype

    class InterpretedFunction:
        pass

    module = types.ModuleType("triton.runtime.interpreter")
    module.np, module.InterpreterBuilder, module.ReduceOps = np, InterpreterBuilder, ReduceOps
    module.TensorHandle, module.InterpretedFunction = Handle, InterpretedFunction
    module._ir = types.SimpleNamespace(PROPAGATE_NAN=types.SimpleNamespace(NONE="none", ALL="all"))
    module.tl = types.SimpleNamespace(int1="int1")
    for name in ("triton", "triton.runtime"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


@pytest.fixture
def acts(monkeypatch):
    """`acts(function, ...)`: which fixes say that they acted while it was called."""

    def called(function, *args):
        monkeypatch.setattr(COMMON, "acted", {})
        function(*args)
        return acted()

    return called


@pytest.fixture
def applied():
    """`applied(shim)`: puts a fix on the made-up Triton."""
    made = []

    def put(shim):
        made.append(Patches())
        shim.SHIM.apply(made[-1])

    yield put
    for patches in made[::-1]:
        patches.undo()


def test_the_smaller_and_larger_of_a_number_and_nan(interpreter, applied, acts):
    applied(interpreter_nan)
    builder, reduce = interpreter.InterpreterBuilder(), interpreter.ReduceOps()
    assert builder.create_minnumf(np.nan, 2.0) == builder.create_maxnumf(2.0, np.nan) == 2.0
    assert (builder.create_minnumf(1.0, 2.0), builder.create_maxnumf(1.0, 2.0)) == (1.0, 2.0)
    assert (
        builder.create_clampf(5.0, 0.0, 1.0, "none")
        == builder.create_clampf(1.0, 0.0, 1.0, "none")
        == 1.0
    )
    assert (
        builder.create_clampf(np.nan, 0.5, 1.0, "none")
        == builder.create_clampf(-1.0, 0.5, 1.0, "none")
        == 0.5
    )
    assert builder.create_clampf(5.0, 0.0, 1.0, "all") == (builder, 5.0, 0.0, 1.0)
    assert reduce.min_max("x", np.max) == (reduce, "x", np.fmax.reduce)
    assert reduce.min_max("x", np.min) == (reduce, "x", np.fmin.reduce)
    # An index depends on the order of comparisons.
    assert reduce.min_max("x", np.max, np.argmax) == (reduce, "x", np.max)
    assert reduce.min_max("x", np.sum) == (reduce, "x", np.sum)
    for own, *call in (
        (True, builder.create_minnumf, 1.0, 2.0), (True, builder.create_maxnumf, 1.0, 2.0),
        (True, builder.create_clampf, 1.0, 0.0, 1.0, "none"), (False, builder.create_clampf, 1.0, 0.0, 1.0, "all"),
        (True, reduce.min_max, None, np.max), (False, reduce.min_max, None, np.max, np.argmax),
    ):  # fmt: skip
        assert acts(*call) == (["interpreter_nan"] if own else [])


def test_a_sum_of_truths_is_a_parity(interpreter, applied, acts):
    applied(interpreter_bool_sum)
    reduce = interpreter.ReduceOps()

    def added(values):
        return reduce.sum(types.SimpleNamespace(handle=Handle(values, "t"), dtype="int1"))

    assert added([True, True]) == (False, "int1") and added([True, True, True]) == (True, "int1")
    for values in ([1, 1], [1.0]):
        own, given = added(values)
        assert own is reduce and given.handle.data.tolist() == values
    assert acts(added, [True]) == ["interpreter_bool_sum"] and acts(added, [1]) == []


def test_a_truth_is_spread_as_one(interpreter, applied, acts):
    applied(interpreter_scalar_mask)
    builder = interpreter.InterpreterBuilder()
    for data, dtype, changed in (
        ([True], "int32", True),
        ([True], "int1", False),
        ([1], "int32", False),
    ):
        handle = Handle(data, dtype)
        ret, spread = builder.create_splat("block", handle)
        assert ret == "block" and (spread is not handle) is changed
        assert spread.dtype == ("int1" if changed else dtype) and spread.data is handle.data
        assert bool(acts(builder.create_splat, "block", handle)) is changed


def test_an_autotuner_of_the_interpreter_measures_nothing(interpreter, applied, acts, monkeypatch):
    class Autotuner:
        def __init__(self, fn):
            self.fn = fn

        def _bench(self, *args, config, **meta):
            return [9.0]

    module = types.ModuleType("triton.runtime.autotuner")
    module.Autotuner = Autotuner
    monkeypatch.setitem(sys.modules, module.__name__, module)
    applied(interpreter_autotune)
    inner = interpreter.InterpretedFunction()
    below = types.SimpleNamespace(fn=types.SimpleNamespace(fn=inner))
    for fn, times in (
        (inner, [0.0] * 3),
        (below, [0.0] * 3),
        (object(), [9.0]),
        (types.SimpleNamespace(fn=None), [9.0]),
    ):
        assert Autotuner(fn)._bench(1, config="c", BLOCK=2) == times
        assert bool(acts(lambda fn=fn: Autotuner(fn)._bench(config="c"))) is (len(times) == 3)


def test_a_launch_option_that_a_kernel_declares_is_for_both(interpreter, applied, acts):
    class GridExecutor:
        def __init__(self, fn):
            self.fn = fn

        def __call__(self, *args, **kwargs):
            return self, args, kwargs

    interpreter.GridExecutor, interpreter.RESERVED_KWS = GridExecutor, ["num_warps", "grid"]
    applied(interpreter_reserved_options)
    launch = GridExecutor(lambda x, num_warps=1: None)
    for given, passed_on, own in (
        ({"num_warps": 4}, (("x", 4), {"num_warps": 4}), True),
        ({"grid": (1,)}, (("x",), {"grid": (1,)}), False),
    ):
        assert launch("x", **given) == (launch, *passed_on)
        assert bool(acts(lambda given=given: launch("x", **given))) is own


class Manager:
    """As Triton's: a file by its name in a folder, and lists of them."""

    def __init__(self, folder):
        self.cache_dir = str(folder)

    def put(self, data, filename, binary=True):
        path = os.path.join(self.cache_dir, filename)
        with open(path, "wb" if isinstance(data, bytes) else "w") as file:
            file.write(data if isinstance(data, bytes) else str(data))
        return path

    def put_group(self, filename, group):
        return self, filename, group

    def get_file(self, filename):
        path = os.path.join(self.cache_dir, filename)
        return path if os.path.exists(path) else None

    def get_group(self, filename):
        return self, filename


@pytest.fixture
def manager(tmp_path, monkeypatch, applied):
    class FileCacheManager(Manager):
        put, put_group = Manager.put, Manager.put_group
        get_group = Manager.get_group

    module = types.ModuleType("triton.runtime.cache")
    module.FileCacheManager = FileCacheManager
    for name in ("triton", "triton.runtime"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    applied(cache_groups)
    # A manager without a folder would write to the one that the tests run in.
    monkeypatch.chdir(tmp_path)
    return FileCacheManager(tmp_path)


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("data", ["text", b"\x00\xff"])
def test_a_group_of_files_is_one_writers(manager, monkeypatch, links, data):
    def no_link(*paths):
        raise OSError

    if not links:
        monkeypatch.setattr(os, "link", no_link)
    group = {name: manager.put(data, name) for name in ("k.ptx", "k.json")}
    # Another process replaces a file before the list is written, and one after that.
    os.unlink(group["k.ptx"])
    Manager.put(manager, "another's", "k.ptx")
    manager.put_group("k", group)
    # Code that Triton has written and nobody replaced is not written again.
    assert os.path.samefile(group["k.json"], os.path.join(manager.cache_dir, "k.json")) is links
    os.unlink(os.path.join(manager.cache_dir, "k.json"))
    Manager.put(manager, "another's", "k.json")
    read = manager.get_group("k")
    assert read == group and set(read) == {"k.ptx", "k.json"}
    for path in read.values():
        with open(path, "rb" if isinstance(data, bytes) else "r") as file:
            assert file.read() == data
    os.unlink(read["k.ptx"])
    assert manager.get_group("k") is None


def test_what_a_fix_of_the_cache_leaves_to_triton(manager, tmp_path):
    path = manager.put("text", "k.ptx")
    both = {"k.ptx": path, "other": path}
    assert manager.put_group("k", both) == (manager, "k", both)
    manager.put("text", "k.ptx")
    manager.cache_dir, folder = "", manager.cache_dir
    assert manager.put_group("k", {"k.ptx": path}) == (manager, "k", {"k.ptx": path})
    manager.cache_dir = folder
    assert manager.get_group("none") is None
    lists = {
        "odd": "{", "other": json.dumps({"child_paths": {"a": "/x/a"}}), "empty": json.dumps({}),
        "part": json.dumps({"child_paths": {"a": "/x/a", "b": f"/x/{cache_groups._FOLDER}1/b"}}),
    }  # fmt: skip
    for name, text in lists.items():
        (tmp_path / f"__grp__{name}").write_text(text)
        assert manager.get_group(name) == (manager, name)
    (tmp_path / "__grp__folder").mkdir()
    assert manager.get_group("folder") == (manager, "folder")


def test_the_functions_of_libdevice_are_builtins_of_math(monkeypatch):
    math = types.ModuleType("triton.language.math")
    vars(math).update({name: name for name in ("exp", "min", "max", "helper", "sin")})
    language = types.ModuleType("triton.language")
    language.math = math
    language.core = types.SimpleNamespace(
        is_builtin=lambda thing: thing in ("exp", "min", "max", "sin")
    )
    top = types.ModuleType("triton")
    top.language = language
    monkeypatch.setitem(sys.modules, "triton", top)
    monkeypatch.setitem(sys.modules, "triton.language", language)
    assert libdevice_modules.functions() == {"exp": "exp", "sin": "sin"}


def test_what_is_known_of_arguments_in_both_spellings():
    made = attrs_descriptor.AttrsDescriptor((0, 2), (1,))
    assert made.divisibility_16 == (0, 2) and made.property_values == {
        "tt.divisibility": 16,
        "tt.equal_to": 1,
    }
    assert made.to_dict() == {
        "arg_properties": {"tt.divisibility": (0, 2), "tt.equal_to": (1,)}, "cls": "AttrsDescriptor",
    }  # fmt: skip
    again = attrs_descriptor.AttrsDescriptor.from_dict(made.to_dict())
    assert again == made and again.hash() == made.hash() and repr(again) == repr(made)
    assert attrs_descriptor.AttrsDescriptor((0,), (1,)).hash() != made.hash()
    bare = attrs_descriptor.AttrsDescriptor.from_dict({"arg_properties": {"tt.divisibility": None}})
    assert (bare.divisible_by_16, bare.equal_to_1) == ((), ())
