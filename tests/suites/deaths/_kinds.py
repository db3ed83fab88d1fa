"""Ways in which a case can end, each with the outcome and the beginning of the reason that it has to have.

A function here is the launcher of one kind of case; it runs in the child that the suite forks for it. Its docstring is
not for reading: `kind(outcome, reason)` says what must be recorded.
"""

import ctypes
import errno
import os
import pickle
import signal
import struct
import sys
import threading
import time

LAUNCH, INPUTS, REFERENCE = {}, {}, {}
EXPECTED = {}
# Those that take as long as the time limit, that need a memory limit, and that kill the process beside them.
HANGS, EATS, KILLERS = set(), set(), set()


def kind(outcome, reason="", place=LAUNCH, of=None):
    def add(function):
        name = function.__name__.strip("_")
        place[name] = function
        EXPECTED[name] = (outcome, reason)
        if of is not None:
            of.add(name)
        return function

    return add


def _api(reason):
    return kind("api-error", reason)


def good(x):
    return {"y": x * 2}


@kind("pass")
def passes(x):
    return good(x)


# Signals


def _by_signal(number, reason):
    def die(x):
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        time.sleep(60)

    die.__name__ = f"signal_{reason}".replace(" ", "_")
    kind("crash", reason)(die)


for _name in (
    "BUS",
    "FPE",
    "ILL",
    "TRAP",
    "SYS",
    "TERM",
    "HUP",
    "INT",
    "USR1",
    "PIPE",
    "XCPU",
    "QUIT",
):
    _by_signal(getattr(signal, f"SIG{_name}"), f"SIG{_name}")
_by_signal(signal.SIGRTMIN + 3, f"signal {signal.SIGRTMIN + 3}")


@kind("crash", "SIGKILL")
def kill(x):
    os.kill(os.getpid(), signal.SIGKILL)


@kind("crash", "SIGABRT")
def abort(x):
    os.write(2, b"Layout.cpp:12: Layout Layout::of(int) const: Assertion `rank == 2' failed.\n")
    os.abort()


@kind("crash", "SIGSEGV")
def segfault(x):
    ctypes.string_at(0)


@kind("crash", "SIGALRM")
def alarm(x):
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    time.sleep(60)


@kind("crash", "SIGKILL")
def kills_its_group(x):
    os.kill(0, signal.SIGKILL)


@kind("crash", "SIGABRT")
def abort_in_a_thread(x):
    thread = threading.Thread(target=os.abort)
    thread.start()
    thread.join()


@kind("crash", "SIGABRT")
def abort_after_50_mb_of_words(x):
    for _ in range(5):
        os.write(2, b"\x1b[31m<script>\xff" + b"x" * 1_000_000)
    os.abort()


# Leaving


@kind("crash", "exit 0 without a result")
def exit_0(x):
    os._exit(0)


@kind("crash", "exit 3 without a result")
def exit_3(x):
    os._exit(3)


@kind("crash", "exit 3 without a result")
def exit_in_a_thread(x):
    thread = threading.Thread(target=os._exit, args=(3,))
    thread.start()
    thread.join()


@kind("crash", "exit 7 without a result")
def becomes_another_program(x):
    os.execv("/bin/sh", ["/bin/sh", "-c", "exit 7"])


@kind("crash", "exit 70 without a result")
def closes_its_pipes(x):
    os.closerange(3, 256)
    return good(x)


@kind("crash", "exit 0 without a result")
def puts_files_in_place_of_its_pipes(x):
    os.closerange(3, 256)
    for _ in range(256):
        os.open(os.devnull, os.O_RDWR)
    return good(x)


@kind("pass", "")
def breaks_pickle(x):
    pickle.dumps = None
    return good(x)


@kind("crash", "exit 0 without a result")
def leaves_a_shouting_process(x):
    if os.fork() == 0:
        while True:
            os.write(1, b"still here" * 1000)
    os._exit(0)


@kind("crash", "exit 0 without a result")
def leaves_a_shouting_daemon(x):
    if os.fork() == 0:
        os.setsid()
        while True:
            os.write(1, b"still here" * 1000)
    time.sleep(0.01)
    os._exit(0)


@kind("pass")
def leaves_a_quiet_process(x):
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)
    return good(x)


@kind("pass")
def returns_twice(x):
    os.fork()
    return good(x)


@_api("SystemExit")
def sys_exit(x):
    sys.exit(0)


@_api("SystemExit")
def sys_exit_with_an_object(x):
    sys.exit(Own())


# Exceptions


class Own:
    """An object of a class that only this suite knows."""


class SilentlyOwn(str):
    def __str__(self):
        return self


class NoText(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


class InterruptsInText(Exception):
    def __str__(self):
        raise KeyboardInterrupt

    __repr__ = __str__


class NumberAsText(Exception):
    def __str__(self):
        return 7


class OwnText(Exception):
    def __str__(self):
        return SilentlyOwn("text of its own class")


class NoRepr(Exception):
    def __init__(self):
        super().__init__(Own())

    def __repr__(self):
        raise GeneratorExit


class OutsideException(BaseException):
    pass


class _LyingName(type):
    @property
    def __name__(cls):
        raise RuntimeError("no name")


class LyingClass(Exception, metaclass=_LyingName):
    pass


class CompilerCrashed(Exception):
    """Of the name of crosswarp's own, without its fields."""


class LyingOSError(OSError):
    @property
    def errno(self):
        raise RuntimeError("no number")


class RaisingStage(Exception):
    @property
    def crosswarp_stage(self):
        raise KeyboardInterrupt


class RaisingOutput(Exception):
    @property
    def compiler_output(self):
        raise SystemExit(3)


def _raises(make, reason=None, name=None):
    def launch(x):
        raise make()

    launch.__name__ = name or f"raises_{reason}"
    kind("api-error", reason)(launch)


for _class in (
    *(ValueError, KeyboardInterrupt, GeneratorExit, StopIteration, AssertionError, NoText, InterruptsInText),
    *(NumberAsText, OwnText, NoRepr, OutsideException, LyingClass, CompilerCrashed, RaisingStage, RaisingOutput),
):  # fmt: skip
    _raises(_class, type.__dict__["__name__"].__get__(_class))
_raises(lambda: LyingOSError(errno.ENOSPC, "full"), "LyingOSError")
_raises(lambda: ValueError("no text at all: \ud800\0"), "ValueError", "raises_half_characters")
_raises(lambda: ValueError("x" * 3_000_000), "ValueError", "raises_three_megabytes")
_raises(lambda: type("X" * 5000, (Exception,), {})("so long a name"), "XXXX", "raises_a_long_name")
_raises(lambda: KeyError(Own()), "KeyError", "raises_with_an_object")


@kind("not-run", "disk full")
def raises_disk_full(x):
    raise OSError(errno.ENOSPC, "No space left on device")


@kind("crash", "memory")
def raises_MemoryError(x):
    raise MemoryError


@_api("RecursionError")
def recurses(x):
    return recurses(x)


@_api("ValueError")
def raises_from_itself(x):
    error = ValueError("cause of itself")
    raise error from error


@_api("ValueError")
def raises_in_a_ring_of_causes(x):
    one, other = ValueError("one"), TypeError("other")
    one.__cause__, other.__cause__ = other, one
    raise one


@_api("ValueError")
def raises_in_a_ring_of_contexts(x):
    one, other = ValueError("one"), TypeError("other")
    other.__context__ = one
    try:
        raise other
    except TypeError:
        raise one  # noqa: B904


@_api("ValueError")
def raises_from_five_hundred(x):
    error = ValueError("the last")
    first = error
    for number in range(500):
        error.__cause__ = ValueError(str(number))
        error = error.__cause__
    raise first


def _with_stage(name, make):
    def launch(x):
        error = ValueError("at a stage")
        error.crosswarp_stage = make()
        raise error

    launch.__name__ = f"stage_{name}"
    kind("api-error", "ValueError")(launch)


def _endless():
    kept = []
    kept += [kept, kept]
    return kept


_with_stage("of_its_own_class", Own)
_with_stage("with_a_tuple_key", lambda: {(1, 2): {Own(): float("nan")}})
_with_stage("of_its_own_text", lambda: SilentlyOwn("backward"))
_with_stage("that_cannot_be_told", NoText)
_with_stage("that_holds_itself", _endless)
_with_stage("that_nests", lambda: [[[[[[[[[[Own()]]]]]]]]]])
_with_stage("that_is_a_number", lambda: 10**400)
_with_stage("that_is_a_lambda", lambda: lambda: 0)


# What comes back


@_api("TypeError")
def returns_nothing(x):
    return None


@_api("AttributeError")
def returns_text(x):
    return {"y": "no tensor"}


@kind("mismatch", "missing")
def returns_another_output(x):
    return {"z": x}


@kind("mismatch", "wrong")
def returns_wrong_numbers(x):
    return {"y": x}


@kind("mismatch", "nan")
def returns_nan(x):
    return {"y": x * float("nan")}


class _NoShape:
    @property
    def shape(self):
        raise KeyboardInterrupt


@_api("KeyboardInterrupt")
def returns_what_interrupts(x):
    return {"y": _NoShape()}


@kind("pass")
def breaks_its_own_output(x):
    class Broken:
        def flush(self):
            raise KeyboardInterrupt

    sys.stdout = sys.stderr = Broken()
    return good(x)


# Inputs and the reference


@kind("api-error", "KeyboardInterrupt", INPUTS)
def inputs_interrupt(x):
    raise KeyboardInterrupt


@kind("crash", "SIGABRT", INPUTS)
def inputs_abort(x):
    os.abort()


@kind("api-error", "NoText", REFERENCE)
def reference_raises(x):
    raise NoText


@kind("crash", "exit 0 without a result", REFERENCE)
def reference_leaves(x):
    os._exit(0)


# Strays in the pipe


def _pipe():
    """The file descriptor through which the child answers."""
    frame = sys._getframe()
    while "result_fd" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["result_fd"]


@kind("crash", "something else wrote into the pipe of its results")
def writes_into_the_pipe(x):
    os.write(_pipe(), b"a word of debugging\n")
    return good(x)


@kind("crash", "something else wrote into the pipe of its results")
def floods_the_pipe(x):
    for _ in range(50):
        os.write(_pipe(), b"\0" * 50_000)
    return good(x)


@kind("crash", "SIGABRT")
def writes_into_the_pipe_and_dies(x):
    os.write(_pipe(), b"a word of debugging\n")
    os.abort()


def _frame(what, payload):
    mark = b"\x93crosswarp"
    os.write(_pipe(), mark + what + struct.pack("!Q", len(payload)) + payload)


@kind("crash", "its result cannot be read (JSONDecodeError)")
def forges_a_result(x):
    _frame(b"R", b"no pickle")
    return good(x)


@kind("crash", "its result cannot be read (UnicodeDecodeError)")
def forges_a_message_of_its_own_class(x):
    _frame(b"M", b"\x80\x04c__main__\nNoSuchClass\n.")
    return good(x)


@kind("crash", "something else wrote into the pipe of its results")
def promises_more_than_it_sends(x):
    os.write(_pipe(), b"\x93crosswarpR" + struct.pack("!Q", 2**60) + b"and no more")
    os._exit(0)


# Without end


@kind("timeout", "longer than", of=HANGS)
def sleeps(x):
    time.sleep(3600)


@kind("timeout", "longer than", of=HANGS)
def stops_itself(x):
    os.kill(os.getpid(), signal.SIGSTOP)


@kind("timeout", "longer than", of=HANGS)
def waits_for_itself(x):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


@kind("timeout", "longer than", of=HANGS)
def sleeps_without_pipes(x):
    os.closerange(0, 256)
    time.sleep(3600)


@kind("timeout", "longer than", of=HANGS)
def sleeps_deaf(x):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(3600)


@kind("crash", "memory: more than", of=EATS)
def eats(x):
    kept = []
    while True:
        kept.append(b"x" * 10_000_000)
        time.sleep(0.005)


@kind("crash", "worker died", of=KILLERS)
def kills_its_worker(x):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(3600)
