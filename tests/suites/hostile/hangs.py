from _shared import kernel


def launch(x):
    while True:
        pass


KERNEL = kernel("hangs", launch)
