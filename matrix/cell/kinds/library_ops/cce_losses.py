"""cut-cross-entropy: the cross entropy of a projection to the vocabulary, whose logits are never in memory."""

from _library import kernel, labels, tensor

ROWS, CLASSES, WIDTH = 8, 1000, 64


def linear_cross_entropy():
    from cut_cross_entropy import linear_cross_entropy as op

    return op(tensor(ROWS, WIDTH), tensor(CLASSES, WIDTH), labels(ROWS, CLASSES), impl="cce")


def softcapped():
    from cut_cross_entropy import linear_cross_entropy as op

    hidden, classes = tensor(ROWS, WIDTH), tensor(CLASSES, WIDTH)
    return op(hidden, classes, labels(ROWS, CLASSES), softcap=30.0, filter_eps=None, impl="cce")


KERNEL = kernel("cce_losses", "cut-cross-entropy", (linear_cross_entropy, softcapped))
