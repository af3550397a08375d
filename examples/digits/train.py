#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the network of digits.ir on the handwritten digits of python3-sklearn, in plain numpy.

Writes, beside itself: digits.safetensors (weights), test_images.npy and test_labels.npy (the held-back split, which
training never sees). The same seed gives the same split and start; the weights' last bits depend on the BLAS.
"""

import json
import pathlib
import struct

import numpy as np
from sklearn.datasets import load_digits

SEED = 7
EPOCHS = 60
BATCH = 64
HELD_BACK = 0.2
HERE = pathlib.Path(__file__).resolve().parent


def split_by_class(labels, rng):
    """Indices of the training and the held-back pictures: the same share of every digit."""
    held_back = []
    for digit in range(10):
        of_digit = rng.permutation(np.flatnonzero(labels == digit))
        held_back.extend(of_digit[: round(HELD_BACK * len(of_digit))])
    held_back = np.sort(np.array(held_back))
    return np.setdiff1d(np.arange(len(labels)), held_back), held_back


def patches(x):
    """[N, C, H, W] -> [N * H * W, C * 9]: what a 3x3 convolution with padding 1 sees at each place."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))  # [N, C, H, W, 3, 3]
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * h * w, c * 9)


def conv(x, weight, bias):
    n, _, h, w = x.shape
    seen = patches(x)
    y = seen @ weight.reshape(len(weight), -1).T + bias
    return y.reshape(n, h, w, -1).transpose(0, 3, 1, 2), seen


def conv_backward(grad, seen, weight):
    """Gradients of weight and bias, and of the input: a convolution with the weights turned by half a turn."""
    flat = grad.transpose(0, 2, 3, 1).reshape(-1, len(weight))
    turned = weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
    grad_x, _ = conv(grad, np.ascontiguousarray(turned), np.zeros(len(turned), np.float32))
    return (flat.T @ seen).reshape(weight.shape), flat.sum(0), grad_x


def forward(p, x):
    """The network of digits.ir, and what its gradient needs."""
    z1, seen1 = conv(x, p["conv1.weight"], p["conv1.bias"])
    a1 = np.maximum(z1, 0)
    z2, seen2 = conv(a1, p["conv2.weight"], p["conv2.bias"])
    a2 = np.maximum(z2, 0)
    n, c, h, w = a2.shape
    quads = a2.reshape(n, c, h // 2, 2, w // 2, 2)
    pooled = quads.max(axis=(3, 5))
    flat = pooled.reshape(n, -1)
    z3 = flat @ p["hidden.weight"] + p["hidden.bias"]
    a3 = np.maximum(z3, 0)
    logits = a3 @ p["output.weight"] + p["output.bias"]
    return logits, (seen1, z1, seen2, z2, quads, pooled, flat, z3, a3)


def backward(p, kept, grad_logits, keep_hidden):
    seen1, z1, seen2, z2, quads, pooled, flat, z3, a3 = kept
    g = {}
    g["output.weight"], g["output.bias"] = (a3 * keep_hidden).T @ grad_logits, grad_logits.sum(0)
    grad = (grad_logits @ p["output.weight"].T) * keep_hidden * (z3 > 0)
    g["hidden.weight"], g["hidden.bias"] = flat.T @ grad, grad.sum(0)
    grad = (grad @ p["hidden.weight"].T).reshape(pooled.shape)
    is_max = quads == pooled[:, :, :, None, :, None]
    grad = (grad[:, :, :, None, :, None] * is_max / is_max.sum(axis=(3, 5), keepdims=True)).reshape(z2.shape)
    g["conv2.weight"], g["conv2.bias"], grad = conv_backward(grad * (z2 > 0), seen2, p["conv2.weight"])
    g["conv1.weight"], g["conv1.bias"], _ = conv_backward(grad * (z1 > 0), seen1, p["conv1.weight"])
    return g


def shifted(x, rng):
    """Each picture moved by up to one pixel across and down, with zeros coming in."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    out = np.empty_like(x)
    for i, (dy, dx) in enumerate(rng.choice(3, size=(len(x), 2), p=[0.15, 0.7, 0.15])):
        out[i] = padded[i, :, dy : dy + 8, dx : dx + 8]
    return out


def train(images, labels, rng):
    def start(*shape, fan_in):
        return (rng.standard_normal(shape) * np.sqrt(2 / fan_in)).astype(np.float32)

    p = {
        "conv1.weight": start(16, 1, 3, 3, fan_in=9),
        "conv1.bias": np.zeros(16, np.float32),
        "conv2.weight": start(32, 16, 3, 3, fan_in=144),
        "conv2.bias": np.zeros(32, np.float32),
        "hidden.weight": start(512, 64, fan_in=512),
        "hidden.bias": np.zeros(64, np.float32),
        "output.weight": start(64, 10, fan_in=64),
        "output.bias": np.zeros(10, np.float32),
    }
    mean = {k: np.zeros_like(v) for k, v in p.items()}
    square = {k: np.zeros_like(v) for k, v in p.items()}
    step = 0
    for epoch in range(EPOCHS):
        rate = 0.002 * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
        order = rng.permutation(len(images))
        for at in range(0, len(order), BATCH):
            batch = order[at : at + BATCH]
            x, y = shifted(images[batch], rng), labels[batch]
            _, kept = forward(p, x)
            # Dropout of the hidden layer, while training only.
            keep = (rng.random(kept[-1].shape) < 0.7).astype(np.float32) / np.float32(0.7)
            logits = (kept[-1] * keep) @ p["output.weight"] + p["output.bias"]
            grad = np.exp(logits - logits.max(1, keepdims=True))
            grad /= grad.sum(1, keepdims=True)
            grad[np.arange(len(y)), y] -= 1
            gradients = backward(p, kept, (grad / len(y)).astype(np.float32), keep)
            step += 1
            for k, g in gradients.items():  # Adam (Kingma and Ba, algorithm 1) with decay of the weights
                if k.endswith("weight"):
                    g = g + np.float32(1e-4) * p[k]
                mean[k] = 0.9 * mean[k] + 0.1 * g
                square[k] = 0.999 * square[k] + 0.001 * g * g
                unbiased = (mean[k] / (1 - 0.9**step)) / (np.sqrt(square[k] / (1 - 0.999**step)) + 1e-8)
                p[k] = (p[k] - rate * unbiased).astype(np.float32)
    return p


def write_safetensors(path, tensors):
    """Eight bytes of header length, a JSON header, the elements: the format of huggingface.co/docs/safetensors."""
    header, at = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor, "<f4").tobytes())


def accuracy(p, images, labels):
    return float((forward(p, images)[0].argmax(1) == labels).mean())


def main():
    rng = np.random.default_rng(SEED)
    data = load_digits()
    images = (data.images / 16).astype(np.float32)[:, None]
    labels = data.target.astype(np.int64)
    seen, held_back = split_by_class(labels, rng)
    p = train(images[seen], labels[seen], rng)
    write_safetensors(HERE / "digits.safetensors", p)
    np.save(HERE / "test_images.npy", images[held_back])
    np.save(HERE / "test_labels.npy", labels[held_back])
    print(f"training    {len(seen)} pictures, {100 * accuracy(p, images[seen], labels[seen]):.2f} % right")
    print(f"held back   {len(held_back)} pictures, {100 * accuracy(p, images[held_back], labels[held_back]):.2f} % right")


if __name__ == "__main__":
    main()
