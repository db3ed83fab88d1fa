"""Programs with an odd process around them: what runs without compat runs with it, and computes the same.

Each runs twice, without and with compat, in a process of its own, and answers with what can be seen of it.
"""

import asyncio
import contextlib
import functools
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path

import pytest
import small_kernels
import targets
import torch
import triton

from crosswarp import compat
from crosswarp.compat import crash_memory
from crosswarp.matrix.cell.standins import virtual_gpu

pytestmark = pytest.mark.both_ends


def launch(block=128):
    small_kernels.scaled[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=block)
    launched = virtual_gpu.launches[-1]
    return launched.kernel, launched.num_warps, launched.code


def outcome_of(function):
    """What `function` returns, or the type of what it raises."""
    try:
        return function()
    except Exception as error:
        return type(error).__name__


def in_processes(count, function):
    """The answers of ``function(number)`` in so many forks of this process that begin at once."""
    ends = [os.pipe() for _ in range(count)]
    for number, (_, write) in enumerate(ends):
        if os.fork() == 0:
            try:
                os.write(write, repr(outcome_of(functools.partial(function, number))).encode())
            finally:
                os._exit(0)
        os.close(write)
    found = []
    for read, _ in ends:
        with open(read, "rb") as file:
            found.append(file.read().decode())
    return found


@pytest.fixture
def both(in_fork):
    """Runs ``prepare()``, then ``program()``, without compat and with it; the two outcomes, compat's last."""

    def run(program, prepare=lambda: None, guard="always"):
        def with_compat(wanted):
            prepare()
            if wanted:
                compat.install(guard=guard)
            virtual_gpu.activate(targets.SM_90, guarded=False)
            return outcome_of(program)

        return in_fork(lambda: with_compat(False)), in_fork(lambda: with_compat(True))

    return run


def without_a_home():
    for name in ("HOME", "XDG_CACHE_HOME", "CROSSWARP_CACHE_DIR"):
        os.environ.pop(name, None)
    # A container's random user has no entry in the system's table.
    os.getuid = lambda: 54321


def test_a_user_without_a_home(both):
    def program():
        return [launch(block) for block in (64, 128)]

    bare, with_compat = both(program, without_a_home)
    assert with_compat == bare
    assert [kernel.split("_")[0] for kernel, *_ in bare] == ["scaled"] * 2


def test_a_user_without_a_home_remembers_nothing_and_asks_the_doctor(in_fork):
    def run():
        without_a_home()
        from crosswarp.compat import doctor_text, facts

        entry = crash_memory.Entry(None, "a")
        entry.write({"kind": "signal", "reason": "SIGABRT", "stderr": ""})
        doctor_text._home("/x")
        facts.inductor_folder()
        return crash_memory.folder(), entry.read(), facts.crashes(), str(facts.cache_folder())

    folder, read, crashes, cache = in_fork(run)
    assert folder is None and read is None
    assert crashes == {"path": "nowhere: this user has no home", "count": 0, "listed": []}
    assert cache.startswith(os.environ["TRITON_CACHE_DIR"])


def unwritable(*names):
    """The caches of these variables lie where no folder can be made."""

    def prepare():
        for name in names:
            os.environ[name] = "/sys/crosswarp"

    return prepare


@pytest.mark.parametrize("guard", ["auto", "always"])
def test_a_file_system_that_is_read_only(both, guard):
    bare, with_compat = both(launch, unwritable("CROSSWARP_CACHE_DIR"), guard)
    assert with_compat == bare != "OSError"
    bare, with_compat = both(launch, unwritable("TRITON_CACHE_DIR", "CROSSWARP_CACHE_DIR"), guard)
    assert with_compat == bare and isinstance(bare, str)


def test_a_disk_that_is_full(both, tmp_path):
    def fill():
        small = tmp_path / "small"
        small.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(small)]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            (small / "full").write_bytes(b"x" * 4096)
            os.environ["TRITON_CACHE_DIR"] = os.environ["CROSSWARP_CACHE_DIR"] = str(small)
        else:
            # No file becomes longer, which to whoever writes one is the same.
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    def program():
        try:
            return outcome_of(launch)
        finally:
            subprocess.run(["umount", str(tmp_path / "small")], capture_output=True, check=False)

    bare, with_compat = both(program, fill)
    assert with_compat == bare and isinstance(bare, str)


def test_a_user_who_may_start_no_process(both):
    def limit():
        folder = tempfile.mkdtemp()
        os.environ["TRITON_CACHE_DIR"] = os.environ["CROSSWARP_CACHE_DIR"] = folder
        with contextlib.suppress(ImportError):
            # A Triton 2.3 that has asked ptxas already comes to LLVM, which ends a process that may start no thread.
            from triton.common import backend

            backend._cached_cuda_version_key = None
        if os.getuid() == 0:
            # The limit does not hold for root.
            os.chmod(folder, 0o777)
            os.setgid(54321)
            os.setuid(54321)

    def program():
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        return outcome_of(launch)

    bare, with_compat = both(program, limit)
    assert with_compat == bare


def test_a_host_that_ignores_its_children(both):
    bare, with_compat = both(launch, lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    # Triton 2.3 waits for its C compiler by itself, and fails there without compat.
    assert with_compat == bare or bare == "RuntimeError"
    assert with_compat[1] == 4


def test_forks_of_a_thread_and_a_server_that_forks_before_it_works(both):
    def program():
        # Two kernels: Triton 2.3 reads what another process is writing of the same (`_is_race_for_cache_files`).
        found = [in_processes(2, lambda number: launch(128 << number))]
        thread = threading.Thread(
            target=lambda: found.append(in_processes(1, lambda _: launch(64)))
        )
        thread.start()
        thread.join()
        return found, launch(256)

    bare, with_compat = both(program)
    assert with_compat == bare and "scaled" in bare[0][0][0] and "scaled" in bare[0][1][0]


class Launches:
    """A data set whose items are what came of a launch, in whichever process asks for them."""

    def __len__(self):
        return 2

    def __getitem__(self, at):
        return [str(part) for part in launch(64 << at)]


def test_workers_of_a_data_loader_and_of_torchs_own_processes(both):
    def program():
        loader = torch.utils.data.DataLoader(Launches(), num_workers=1, batch_size=None)
        found = list(loader)
        context = torch.multiprocessing.get_context("fork")
        queue = context.SimpleQueue()
        process = context.Process(target=lambda: queue.put(outcome_of(lambda: launch(256))))
        process.start()
        found.append(queue.get())
        process.join()
        return found, process.exitcode

    bare, with_compat = both(program)
    assert with_compat == bare and bare[1] == 0 and len(bare[0]) == 3


def test_launches_beside_an_event_loop_that_waits_for_processes(both):
    def program():
        async def main():
            process = await asyncio.create_subprocess_exec("sh", "-c", "sleep 0.1; exit 7")
            found = [launch(64)]
            loop = asyncio.get_running_loop()
            found.append(await loop.run_in_executor(None, launch, 128))
            return found, await process.wait()

        return asyncio.run(main())

    bare, with_compat = both(program)
    assert with_compat == bare and bare[1] == 7


def test_a_debugger_that_traces_our_lines(both):
    def program():
        seen = set()

        def trace(frame, event, argument):
            seen.add(event)
            # Each line of Triton's takes a minute.
            return trace if "compat" in frame.f_code.co_filename else None

        sys.settrace(trace)
        try:
            return launch(64), "call" in seen
        finally:
            sys.settrace(None)

    bare, with_compat = both(program)
    assert with_compat == bare and bare[1]


def _is_race_for_cache_files(error):
    """Whether Triton 2.3 read a file that another thread was writing: it reads all of a kernel's cache folder.

    The file is gone by then, or it is a binary, whose temporary name makes Triton read it as text.
    """
    temporary = isinstance(error, FileNotFoundError) and ".tmp.pid_" in str(error)
    as_text = isinstance(error, UnicodeDecodeError) and b"\x7fELF" in error.object
    return triton.__version__.startswith("2.") and (temporary or as_text)


def test_eight_threads_that_install_uninstall_and_launch(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90, guarded=False)
        errors, until, done = [], time.monotonic() + 3, []

        def work(seed):
            turn = random.Random(seed)
            while time.monotonic() < until or len(done) < 20:
                try:
                    what = turn.randrange(4)
                    if what == 0:
                        compat.install(guard="off")
                    elif what == 1:
                        compat.uninstall()
                    elif what == 2:
                        with compat.installed(only=["unknown_options", "single_cta"], guard="off"):
                            launch(64)
                    else:
                        launch(32 << turn.randrange(4))
                    done.append(what)
                except BaseException as error:
                    if not _is_race_for_cache_files(error):
                        errors.append(repr(error)[:400])

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(200)
        compat.uninstall()
        hung = [thread for thread in threads if thread.is_alive()]
        return errors[:3], len(hung), set(done), compat.active()

    assert in_fork(run) == ([], 0, {0, 1, 2, 3}, [])


COMPAT = Path(compat.__file__).parent


def vendored(folder, package, version=None, without=""):
    """A copy of the library inside `package`, as a file system that is a zip file has it, or as files."""
    files = {}
    for path in COMPAT.rglob("*.py"):
        name = path.relative_to(COMPAT).as_posix()
        if name != f"shims/{without}.py":
            files[f"{package}/_compat/{name}"] = path.read_text("utf-8")
    files[f"{package}/__init__.py"] = ""
    if version is not None:
        key = f"{package}/_compat/copies.py"
        files[key] = files[key].replace(f'"{compat.__version__}"', f'"{version}"')
    place = folder / f"{package}.zip"
    with zipfile.ZipFile(place, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return str(place)


def test_a_copy_inside_a_zip_file(in_fork, tmp_path):
    def run():
        sys.path.insert(0, vendored(tmp_path, "zipped"))
        import zipped._compat as copy

        copy.install(guard="always")
        virtual_gpu.activate(targets.SM_90, guarded=False)
        return ".zip" in copy.__file__, launch()[1], copy.left_out(), bool(copy.active())

    assert in_fork(run) == (True, 4, {}, True)


def test_two_copies_of_different_age(in_fork, tmp_path):
    def run():
        sys.path[:0] = [
            vendored(tmp_path, "older", "0.0.9"),
            vendored(tmp_path, "newer", "9.0.0", without="unknown_options"),
        ]
        import newer._compat as newer
        import older._compat as older

        older.install()
        newer.install(guard="off")
        virtual_gpu.activate(targets.SM_90, guarded=False)
        first = launch(64)[1], older.left_out(), newer.left_out()
        names = sorted(shim.name for shim in older.active())
        newer.uninstall()
        second = launch(128)[1], names == sorted(shim.name for shim in older.active())
        older.uninstall()
        return first, second, older.active(), newer.active()

    assert in_fork(run) == ((4, {}, {}), (4, True), [], [])


@pytest.mark.triton(">=3.0")
@pytest.mark.parametrize(("scope", "warps"), [(None, 16), ("small_kernels", 16), ("another", 32)])
def test_a_scope_leaves_the_kernels_of_others_alone(in_fork, scope, warps):
    def run():
        compat.install(scope=scope)
        virtual_gpu.activate(targets.GFX942, guarded=False)
        compile_ = small_kernels.scaled.warmup
        kernel = compile_(torch.float32, torch.float32, 100, BLOCK=64, num_warps=32, grid=(1,))
        return kernel.metadata.num_warps

    assert in_fork(run) == warps
