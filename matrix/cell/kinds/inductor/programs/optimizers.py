"""Steps of optimizers, over lists of tensors: one kernel for many parameters."""

import torch

from .registry import each, numbers, program

SHAPES = ((33, 65), (100,), (8, 3, 3, 3))


@program()
def adam_foreach():
    def call(parameters, gradients, first, second):
        torch._foreach_lerp_(first, gradients, 0.1)
        torch._foreach_mul_(second, 0.999)
        torch._foreach_addcmul_(second, gradients, gradients, 0.001)
        root = torch._foreach_sqrt(second)
        torch._foreach_add_(root, 1e-8)
        torch._foreach_addcdiv_(parameters, first, root, -1e-3)
        return parameters

    squares = [tensor.square() for tensor in each(SHAPES, seed=3)]
    return call, [each(SHAPES), each(SHAPES, seed=1), each(SHAPES, seed=2), squares]


@program()
def sgd_momentum_foreach():
    def call(parameters, gradients, momentum):
        torch._foreach_mul_(momentum, 0.9)
        torch._foreach_add_(momentum, gradients)
        torch._foreach_add_(parameters, momentum, alpha=-0.01)
        return parameters

    return call, [each(SHAPES), each(SHAPES, seed=1), each(SHAPES, seed=2)]


@program()
def muon():
    """Orthogonalised momentum by five Newton-Schulz steps; its matmuls are cuBLAS's, the rest is fused around them."""

    def call(parameter, gradient, momentum):
        momentum.lerp_(gradient, 0.05)
        update = gradient.lerp(momentum, 0.95)
        update = update / (update.norm() + 1e-7)
        for _ in range(5):
            square = update @ update.T
            update = 3.4445 * update + (-4.7750 * square + 2.0315 * square @ square) @ update
        return parameter * 0.999 - 0.02 * max(1, 32 / 64) ** 0.5 * update

    return call, [numbers(32, 64), numbers(32, 64, seed=1), numbers(32, 64, seed=2)]


@program()
def clip_gradients():
    def call(gradients):
        norm = torch.stack([torch.linalg.vector_norm(tensor) for tensor in gradients]).norm()
        scale = torch.clamp(1.0 / (norm + 1e-6), max=1.0)
        return [tensor * scale for tensor in gradients], norm

    return call, [each(SHAPES)]
