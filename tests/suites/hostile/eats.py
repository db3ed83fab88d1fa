from _shared import kernel


def launch(x):
    kept = []
    while True:
        kept.append(b"x" * 50_000_000)


KERNEL = kernel("eats", launch)
