"""Reading and writing by index: embeddings, scatters with atomics, pooling."""

import torch
import torch.nn.functional as F

from .registry import integers, numbers, program


@program(backward=True)
def embedding():
    """Its backward adds to the rows of the table with atomics."""

    def call(table, index, scale):
        return (F.embedding(index, table) * scale).sum(-1)

    return call, [numbers(50, 64, grad=True), integers(50, 4, 16), numbers(64, grad=True)]


@program()
def scatter_add():
    def call(x, index, source):
        return x.scatter_add(0, index, source), torch.index_add(x, 0, index[:, 0], source)

    return call, [numbers(12, 40), integers(12, 20, 40), numbers(20, 40, seed=1)]


@program()
def gather_rows():
    def call(x, index, columns):
        return x[index] * 2, torch.gather(x, 1, columns)

    return call, [numbers(30, 50), integers(30, 17), integers(50, 30, 5)]


@program(backward=True)
def max_pooling():
    def call(x):
        return F.max_pool2d(x, 3, 2, 1)

    return call, [numbers(2, 3, 14, 14, grad=True)]


@program(backward=True)
def average_pooling():
    def call(x):
        return F.avg_pool2d(F.relu(x), 3, 2, 1) + F.adaptive_avg_pool2d(x, (7, 7))

    return call, [numbers(2, 3, 14, 14, grad=True)]


@program()
def upsampling():
    def call(x):
        return F.interpolate(x, scale_factor=2.0, mode="bilinear"), F.interpolate(
            x, scale_factor=2.0
        )

    return call, [numbers(1, 3, 9, 9)]
