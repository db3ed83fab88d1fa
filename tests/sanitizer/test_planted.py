"""Faults planted into what Triton really emitted: each is found, by the detector that is there for it.

A barrier that stands beside another one between the same accesses is no fault to leave out; together they are.
"""

import launches
import numpy as np
import pytest

from crosswarp.matrix.cell.machines import ptx

RACE, WAIT = "race in shared memory", "missing wait"
BARRIER, GROUP = r"bar\.sync", r"cp\.async\.wait_group"
PRODUCT, STORE = r"wgmma\.wait_group", r"(?:@%p\d+ )?cp\.async\.bulk\.wait_group"


def planted(name, text, **options):
    assert text != launches.text_of(name), "nothing was planted"
    return launches.launch(name, text, orders=False, **options)


@pytest.mark.parametrize("name", launches.NAMES)
def test_nothing_is_found_in_what_triton_emitted(name):
    made = launches.arrays_of(name)
    assert [str(finding) for finding in launches.launch(name, made=made)] == []
    *inputs, output = made.values()
    if name == "softmax":
        expected = np.exp(inputs[0] - inputs[0].max(1, keepdims=True))
        expected /= expected.sum(1, keepdims=True)
    else:
        a, b = (array.astype(np.float64) for array in inputs)
        expected = a @ (b if name == "matmul" else b.T)
    assert np.allclose(output, expected, rtol=1e-2, atol=5e-2)


@pytest.mark.parametrize(
    ("name", "pattern", "numbers", "kind", "line"),
    [
        *[("softmax", BARRIER, (n,), RACE, "standard.py") for n in range(5)],
        *[("matmul", BARRIER, (n,), RACE, "matmul.py") for n in range(1, 5)],
        # Of the objects before anybody asks them, of a stage before it is filled again, before its end, of the output.
        ("descriptor_matmul", BARRIER, range(5, 10), RACE, "descriptor_matmul.py"),
        ("descriptor_matmul", BARRIER, range(10, 13), RACE, "descriptor_matmul.py"),
        ("descriptor_matmul", BARRIER, (13, 14), RACE, "descriptor_matmul.py"),
        ("descriptor_matmul", BARRIER, (15,), RACE, "descriptor_matmul.py"),
        ("matmul", GROUP, (0,), WAIT, "matmul.py:59"),
        ("matmul", GROUP, (1,), WAIT, "matmul.py:67"),
        ("descriptor_matmul", PRODUCT, (0,), RACE, "descriptor_matmul.py"),
        ("descriptor_matmul", PRODUCT, (1,), "accumulator before its wait", "descriptor_matmul.py:25"),
        ("descriptor_matmul", STORE, (3,), WAIT, "descriptor_matmul.py:25"),
    ],
)  # fmt: skip
def test_a_barrier_or_wait_that_is_gone(name, pattern, numbers, kind, line):
    found = planted(name, launches.without(launches.text_of(name), pattern, *numbers))
    assert kind in launches.kinds(found)
    told = next(str(finding) for finding in found if finding.kind == kind)
    assert line in told and ("`" in told)
    if kind == RACE:
        assert "program (0, 0, 0), thread" in told and "the other side is" in told


@pytest.mark.parametrize(
    ("name", "pattern", "number"),
    [("matmul", BARRIER, 0), ("descriptor_matmul", BARRIER, 6), ("descriptor_matmul", STORE, 0)],
)
def test_one_that_another_one_stands_for_is_no_fault(name, pattern, number):
    assert planted(name, launches.without(launches.text_of(name), pattern, number)) == []


def test_a_wait_for_an_mbarrier_that_is_gone():
    text = launches.text_of("descriptor_matmul")
    begin, end = text.index("waitLoop:"), text.index("@!complete bra.uni waitLoop;")
    found = planted(
        "descriptor_matmul",
        text[:begin] + text[end:].replace("@!complete bra.uni waitLoop;", "", 1),
    )
    assert WAIT in launches.kinds(found)
    told = next(str(finding) for finding in found if finding.kind == WAIT)
    assert "mbarrier is missing" in told and "cp.async.bulk.tensor" in told.split("the copy is")[1]


@pytest.mark.parametrize(
    ("name", "guarded", "tensor"),
    [
        ("softmax", "@%p1 ld.global", "x_ptr"),
        ("softmax", "@%p1 st.global", "y_ptr"),
        ("matmul", "@%p17 st.global", "c_ptr"),
        ("matmul", "@%p18 st.global", "c_ptr"),
    ],
)
def test_a_mask_that_is_gone(name, guarded, tensor):
    text = launches.text_of(name)
    found = planted(name, text.replace(guarded, guarded.split()[1]))
    (told,) = [finding for finding in found if finding.kind == "out-of-bounds"]
    assert f"behind the end of {tensor}" in str(told)
    assert told.line[0].endswith(f"{name}.py") and told.program_id is not None


def test_a_mask_of_a_copy_that_is_gone():
    text = launches.text_of("matmul").replace("0x10, %r23;", "0x10, 16;")
    findings = planted("matmul", text)
    # Where another tensor happens to lie behind it there may be a second one.
    assert {finding.kind for finding in findings} == {"out-of-bounds"}
    assert any("behind the end of a_ptr" in finding.tensor for finding in findings)


@pytest.mark.parametrize("name", ["softmax", "matmul"])
@pytest.mark.parametrize(
    ("shift", "kind"),
    [(2, "misaligned"), (1 << 16, "out-of-bounds"), (-4096, "out-of-bounds")],
)
def test_an_offset_that_is_shifted(name, shift, kind):
    register = {"softmax": "%rd2", "matmul": "%rd21"}[name]
    text = launches.text_of(name).replace(f"[ {register} + 0 ]", f"[ {register} + {shift} ]")
    found = planted(name, text)
    assert kind in launches.kinds(found) or (
        shift == 2 and "out-of-bounds" in launches.kinds(found)
    )


def test_a_shared_store_that_is_gone_leaves_what_is_read_uninitialised():
    text = launches.text_of("softmax").replace("@%p2 st.shared.b32 [ %r3 + 0 ], %r4;", "")
    assert "uninitialised shared memory" in launches.kinds(planted("softmax", text))


def test_a_store_that_is_gone_leaves_the_output_to_the_next_launch():
    """What softmax does not write is read by a softmax of its output."""
    from crosswarp.matrix.cell.observers import sanitizer

    made = launches.arrays_of("softmax")
    y = made["y_ptr"]
    empty = sanitizer.Unwritten(y.ctypes.data, y.nbytes, y.itemsize)
    found = launches.launch(
        "softmax", made={"x_ptr": y, "y_ptr": made["x_ptr"]}, orders=False, also=[empty]
    )
    assert launches.kinds(found) == ["uninitialised read"]
    assert "300 times in all" in str(found[0]) and "0 bytes into x_ptr (float32[3, 100])" in str(
        found[0]
    )


def test_a_view_ends_where_it_ends():
    """Rows of 100 in a storage of 128 columns: without its mask the load falls between the rows, and only the last
    one behind the end."""
    wide = {name: np.ones((3, 128), np.float32) for name in ("x_ptr", "y_ptr")}
    made = {name: array[:, :100] for name, array in wide.items()}
    scalars = {"x_stride": 128, "y_stride": 128}
    assert launches.launch("softmax", made=made, scalars=scalars) == []
    text = launches.text_of("softmax").replace("@%p1 ld.global", "ld.global")
    (told,) = planted("softmax", text, made=made, scalars=scalars)
    assert told.kind == "out-of-bounds" and "x_ptr" in told.what
    inner = {name: array[1:2, :100] for name, array in wide.items()}
    shifted = launches.text_of("softmax").replace("[ %rd1 + 0 ]", "[ %rd1 + 512 ]")
    (told,) = planted("softmax", shifted, made=inner, scalars=scalars, grid=(1,))
    assert "behind the end of x_ptr" in told.tensor


def test_a_barrier_that_half_a_warp_passes():
    around = "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p2, %r1, 112;\n@!%p2 bra OVER;\nbar.sync 0;\nOVER:"
    text = launches.text_of("softmax").replace("bar.sync 0;", around, 1)
    found = planted("softmax", text)
    assert {"barrier in divergence", "deadlock"} & {*launches.kinds(found)}


def test_a_barrier_that_nobody_else_comes_to_is_a_deadlock_that_names_who_waits_where():
    text = launches.text_of("softmax").replace("bar.sync 0;", "bar.sync 1, 256;", 1)
    (told,) = planted("softmax", text)
    assert told.kind == "deadlock"
    assert "threads 0-127 of program (0, 0, 0) and of 2 more at `bar.sync 1, 256`" in told.what


def test_what_is_not_known_is_not_hidden():
    with pytest.raises(ptx.Unsupported):
        launches.launch(
            "softmax", launches.text_of("softmax").replace("bar.sync 0;", "frobnicate;", 1)
        )
