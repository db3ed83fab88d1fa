"""A process that runs cases lives through what they send it, and ends what they leave behind."""

import subprocess
import sys
import textwrap


def run(code):
    words = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_signals_of_a_case_do_not_reach_the_process_that_runs_it():
    told = run(
        """
        import os, signal, time
        from crosswarp.matrix.cell.starting.enduring import endure
        endure()
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGALRM", "SIGTSTP", "SIGPWR"):
            number = getattr(signal, name)
            pid = os.fork()
            if pid == 0:
                os.kill(os.getppid(), number)
                # In the child it means what it says; a stop is its parent's to notice.
                if name != "SIGTSTP":
                    os.kill(os.getpid(), number)
                    time.sleep(60)
                os._exit(0)
            status = os.waitpid(pid, 0)[1]
            print(name, os.WTERMSIG(status) == number if name != "SIGTSTP" else True)
        """
    )
    assert len(told) == 16 and set(told[1::2]) == {"True"}


def test_what_a_case_leaves_in_a_session_of_its_own_is_ended_and_its_own_children_are_not():
    strays, kept = run(
        """
        import os, signal, subprocess, time
        from crosswarp.matrix.cell.starting import enduring
        enduring.endure()
        kept = subprocess.Popen(["sleep", "600"], process_group=0)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            for _ in range(3):
                if os.fork() == 0:
                    os.setsid()
                    if os.fork() == 0:
                        os.setsid()
                    os.write(write, b"x")
                    time.sleep(600)
            # A case may replace what the module has.
            os.kill = os.waitpid = None
            os._exit(0)
        os.waitpid(pid, 0)
        begun = b""
        while len(begun) < 6:
            begun += os.read(read, 6)
        os.kill = None
        enduring.end_strays()
        left = [one for one in enduring._children() if one != kept.pid]
        print(len(left), kept.poll() is None)
        kept.send_signal = None; os.killpg(kept.pid, signal.SIGKILL)
        """
    )
    assert (strays, kept) == ("0", "True")
