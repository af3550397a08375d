# SPDX-License-Identifier: Apache-2.0
"""What the modules of architectures share: the record of one architecture, makers of inputs, and layers used by several.

An `Architecture` says how to make the module, its inputs for a batch, and which dimensions the exporter leaves open where
open dimensions are asked for: for each input a map from axis to name. Weights are random, widths small, sizes odd.
"""
from typing import Callable, NamedTuple, Optional, Sequence

import torch
from torch import nn


class Architecture(NamedTuple):
    make: Callable
    inputs: Callable                             # batch -> tuple of tensors
    axes: Optional[Sequence[dict]] = ({0: "n"},)  # of each input, the last one for all that follow; None: all sizes fixed
    first_opset: int = 9                         # before it the exporter cannot write it, or PyTorch computes something else


def picture(size, channels=3):
    return lambda batch: (torch.randn(batch, channels, size, size + (size % 2)),)


def noise(*sizes):
    return lambda batch: (torch.randn(batch, *sizes),)


def tokens(length, count=50, batch_first=True):
    return lambda batch: (torch.randint(0, count, (batch, length) if batch_first else (length, batch)),)


def mlp(*widths, activation=nn.ReLU):
    layers = []
    for i, o in zip(widths, widths[1:]):
        layers += [nn.Linear(i, o), activation()]
    return nn.Sequential(*layers[:-1])


def heads(x, count):
    """[n, t, c] as [n, heads, t, c / heads]."""
    n, t, c = x.shape
    return x.view(n, t, count, c // count).transpose(1, 2)


def joined(x):
    n, h, t, c = x.shape
    return x.transpose(1, 2).reshape(n, t, h * c)


def attend(q, k, v, bias=None):
    w = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if bias is not None:
        w = w + bias
    return torch.softmax(w, -1) @ v


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Picked(nn.Module):
    """A model that returns a dictionary, cut down to some of its entries."""

    def __init__(self, model, *keys):
        super().__init__()
        self.model, self.keys = model, keys

    def forward(self, *inputs):
        results = self.model(*inputs)
        return tuple(results[key] for key in self.keys)
