import os
import sys

from _shared import kernel


def launch(x):
    frame = sys._getframe()
    while "result_fd" not in frame.f_locals:
        frame = frame.f_back
    os.write(frame.f_locals["result_fd"], b"a word of debugging, in the wrong pipe\n")
    return {"y": x * 2}


KERNEL = kernel("strays", launch)
