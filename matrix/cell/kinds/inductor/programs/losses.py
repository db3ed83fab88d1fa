"""Losses, at the vocabularies of today's models."""

import torch
import torch.nn.functional as F

from .registry import integers, numbers, program

VOCABULARY = 128_256


@program(backward=True)
def cross_entropy():
    def call(logits, target):
        return F.cross_entropy(logits.float(), target)

    return call, [numbers(8, 1000, dtype="bfloat16", grad=True), integers(1000, 8)]


@program(backward=True)
def cross_entropy_128k():
    def call(logits, target):
        return F.cross_entropy(logits.float(), target, ignore_index=-100, label_smoothing=0.1)

    logits = numbers(2, VOCABULARY, dtype="bfloat16", grad=True)
    return call, [logits, integers(VOCABULARY, 2)]


@program()
def kl_divergence_128k():
    def call(student, teacher):
        return F.kl_div(
            F.log_softmax(student, -1), F.log_softmax(teacher, -1), reduction="batchmean", log_target=True
        )  # fmt: skip

    return call, [numbers(2, VOCABULARY), numbers(2, VOCABULARY, seed=1)]


@program(backward=True)
def preference_loss():
    """DPO: the log-probabilities of two answers under two models."""

    def call(chosen, rejected, chosen_before, rejected_before):
        margin = (chosen - chosen_before).sum(-1) - (rejected - rejected_before).sum(-1)
        return -F.logsigmoid(0.1 * margin).mean()

    given = [numbers(4, 100, grad=place < 2, seed=place) for place in range(4)]
    return call, given


@program(backward=True)
def huber_and_cosine():
    def call(x, y):
        return (
            F.smooth_l1_loss(x, y)
            + (1 - F.cosine_similarity(x, y, dim=-1)).mean()
            + torch.logsumexp(x, 1).sum()
        )

    return call, [numbers(8, 96, grad=True), numbers(8, 96, seed=1)]
