from _shared import kernel


def launch(x):
    raise ValueError("no text at all: \ud800")


KERNEL = kernel("surrogate", launch)
