"""Sequences of draws from one stream, ours and PyTorch's."""

from __future__ import annotations

import math

import numpy as np

from treadle.runtime import random as ours


def mixed_ours(g) -> list[np.ndarray]:
    f32, f64 = np.float32, np.float64
    return [
        ours.randn((3,), f32, g),  # leaves half a pair
        ours.rand((5,), f32, g),
        ours.randint((3, 7), np.int64, g, 0, 10),
        ours.randn((2,), f32, g),  # starts with the half
        ours.uniform((4,), f64, g, -1.0, 1.0),
        ours.randn((17,), f32, g),  # grouped: the half stays
        ours.randn((), f32, g),
        ours.randperm(20, np.int64, g),
        ours.bernoulli((9,), f32, g, 0.25),
        ours.randint((4,), np.int64, g, 0, 2**40),
        ours.log_normal((3,), f32, g, 0.0, 0.25),
        ours.exponential((3,), f32, g),
        ours.randn((0,), f32, g),
        ours.multinomial(np.full(6, 0.5, f32), 4, True, g),
        ours.multinomial(np.full(6, 0.5, f32), 4, False, g),
        ours.randn((15,), np.float16, g),
        ours.random((6,), np.uint8, g),
        ours.rand((1000,), f32, g),
    ]


def mixed_theirs(torch, g) -> list:
    half = torch.full((6,), 0.5)
    return [
        torch.randn(3, generator=g),
        torch.rand(5, generator=g),
        torch.randint(0, 10, (3, 7), generator=g),
        torch.randn(2, generator=g),
        torch.empty(4, dtype=torch.float64).uniform_(-1.0, 1.0, generator=g),
        torch.randn(17, generator=g),
        torch.randn((), generator=g),
        torch.randperm(20, generator=g),
        torch.empty(9).bernoulli_(0.25, generator=g),
        torch.randint(0, 2**40, (4,), generator=g),
        torch.empty(3).log_normal_(0.0, 0.25, generator=g),
        torch.empty(3).exponential_(generator=g),
        torch.randn(0, generator=g),
        torch.multinomial(half, 4, True, generator=g),
        torch.multinomial(half, 4, False, generator=g),
        torch.empty(15, dtype=torch.float16).normal_(generator=g),
        torch.empty(6, dtype=torch.uint8).random_(generator=g),
        torch.rand(1000, generator=g),
    ]


def init_ours(g) -> list[np.ndarray]:
    """nn.Linear(784, 512) and its bias, an Embedding, a Conv2d with kaiming_normal_."""
    bound = math.sqrt(3.0) * (math.sqrt(2.0 / 6.0) / math.sqrt(784))  # kaiming_uniform_, a=sqrt(5)
    small = 1 / math.sqrt(784)
    return [
        ours.uniform((512, 784), np.float32, g, -bound, bound),
        ours.uniform((512,), np.float32, g, -small, small),
        ours.normal((100, 33), np.float32, g),
        ours.normal((8, 3, 3, 3), np.float32, g, 0.0, math.sqrt(2.0) / math.sqrt(27)),
    ]


def init_theirs(torch, g) -> list:
    small = 1 / math.sqrt(784)
    init, empty = torch.nn.init, torch.empty
    return [
        init.kaiming_uniform_(empty(512, 784), a=math.sqrt(5), generator=g),
        init.uniform_(empty(512), -small, small, generator=g),
        init.normal_(empty(100, 33), generator=g),
        init.kaiming_normal_(empty(8, 3, 3, 3), nonlinearity="relu", generator=g),
    ]


SEQUENCES = {"mixed": (mixed_ours, mixed_theirs), "init": (init_ours, init_theirs)}
