"""A command that starts at once: one process has imported it, and each start is a fork of that, with its own files.

`serve(path)` is the server; `python prefork.py PATH WORDS` is a start, and ends as the command does.
"""

import contextlib
import json
import os
import socket
import sys


def serve(path: str) -> None:
    """Returns in a process of each start, which has the words, folder, variables and files of its caller."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        while True:
            caller, _ = listener.accept()
            if os.fork() == 0:
                break
            caller.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    message, files, _, _ = socket.recv_fds(caller, 1 << 20, 3)
    command = os.fork()
    if command:
        _, status = os.waitpid(command, 0)
        with contextlib.suppress(BrokenPipeError):
            caller.sendall(bytes([os.waitstatus_to_exitcode(status) % 256]))
        os._exit(0)
    caller.close()
    start = json.loads(message)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = (
        open(n, "w" if n else "r", closefd=False) for n in range(3)
    )
    os.chdir(start["folder"])
    os.environ.clear()
    os.environ.update(start["environ"])
    sys.argv[1:] = start["words"]


def _start(path: str, words: list) -> int:
    start = {"words": words, "folder": os.getcwd(), "environ": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        socket.send_fds(server, [json.dumps(start).encode()], (0, 1, 2))
        return server.recv(1)[0]


if __name__ == "__main__":
    sys.exit(_start(sys.argv[1], sys.argv[2:]))
