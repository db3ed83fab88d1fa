import time

from _shared import kernel


def launch(x):
    # Asleep: a test need not spin for its whole time limit.
    time.sleep(3600)


KERNEL = kernel("hangs", launch)
