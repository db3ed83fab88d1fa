"""What stands between the tests and a GPU, with a process that is none in place of it."""

import device
import numpy as np
import pytest

_SCRIPT = """
import pickle, sys, time
said = []
while True:
    method, arguments = pickle.load(sys.stdin.buffer)
    said.append(method)
    if method == "die":
        sys.exit(3)
    if method == "hang":
        time.sleep(1000)
    answer = (False, "illegal") if method == "fault" else (True, said)
    sys.stdout.buffer.write(pickle.dumps(answer)); sys.stdout.buffer.flush()
"""
_TEXT = ".version 8.4\n.target sm_80\n.visible .entry row(.param .u64 p0)\n.reqntid 64\n{ ret; }\n"


@pytest.mark.parametrize(
    "method, words", [("fault", "illegal"), ("die", "died"), ("hang", "no answer")]
)
def test_one_that_failed_is_replaced(tmp_path, method, words):
    script = tmp_path / "stand_in.py"
    script.write_text(_SCRIPT, "utf-8")
    process = device.Process(script)
    try:
        assert process.ask("one") == ["one"]
        assert process.ask("two") == ["one", "two"]
        if method == "hang":
            process.seconds = 0.2
        with pytest.raises(RuntimeError, match=words):
            process.ask(method)
        process.seconds = device.SECONDS
        assert process.ask("three") == ["three"]
    finally:
        process.end()


class _Memory:
    """Asked as a process is; a launch adds one to every byte of the array whose address is the second parameter."""

    def ask(self, method, *arguments):
        if method == "hold":
            self.held = [bytearray(raw) for raw in arguments[0]]
            return [1000 * (place + 1) for place in range(len(self.held))]
        if method == "launch":
            self.launched = arguments
            place = int.from_bytes(arguments[5][1], "little") // 1000 - 1
            self.held[place] = bytearray(byte + 1 for byte in self.held[place])
        if method == "encode":
            return bytes(arguments[0] // 1000 for _ in range(128))
        return (
            [bytes(raw[:size]) for raw, size in zip(self.held, arguments[0])]
            if method == "release"
            else None
        )


@pytest.fixture
def memory(monkeypatch):
    monkeypatch.setattr(device, "_process", _Memory())
    monkeypatch.setattr(device, "assemble", lambda text, target: b"cubin")
    monkeypatch.setattr(device, "described", lambda: (90, "none"))
    return device._process


def test_an_array_that_is_given_twice_is_one(memory):
    got = np.zeros(4, np.uint8)
    device.execute(_TEXT, (3,), [got, got, got], shared=64)
    assert got.tolist() == [1, 1, 1, 1] and len(memory.held) == 1
    assert memory.launched[:5] == (b"cubin", "row", (3, 1, 1), 64, 64)


def test_parameters_are_addresses_numbers_and_tensor_maps(memory):
    a, b = np.zeros(4, np.uint8), np.ones((2, 2), np.uint16)
    device.execute(_TEXT, (1,), [lambda encode, held: encode(held[2], "u8"), b, a, 2**32 - 5])
    first, second, third, last = memory.launched[5]
    # the map knows the place of an array among the arguments
    assert set(first) == {2} and int.from_bytes(third, "little") == 2000
    assert int.from_bytes(last, "little") == 2**32 - 5
    assert a.tolist() == [0] * 4 and b.tolist() == [[258, 258]] * 2
