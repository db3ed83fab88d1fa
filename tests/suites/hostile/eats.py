import time

from _shared import kernel


def launch(x):
    kept = []
    while True:
        kept.append(b"x" * 50_000_000)
        # A parent that is late to look must not let it fill the machine.
        time.sleep(0.02)


KERNEL = kernel("eats", launch)
