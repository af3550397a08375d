# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks and transformers over whole sequences."""
import torch
import torch.nn.functional as F
from torch import nn

from .common import Architecture, RmsNorm, attend, heads, joined, mlp, noise, tokens


class Recurrent(nn.Module):
    """Token classifier: embedding, recurrent layers, the last state of both directions."""

    def __init__(self, kind, layers=2, bidirectional=True, batch_first=True):
        super().__init__()
        self.batch_first = batch_first
        self.embed = nn.Embedding(50, 24)
        self.cell = getattr(nn, kind)(24, 17, layers, batch_first=batch_first, bidirectional=bidirectional)
        self.head = nn.Linear(17 * (2 if bidirectional else 1), 5)

    def forward(self, tokens):
        y, state = self.cell(self.embed(tokens))
        hidden = state[0] if isinstance(state, tuple) else state
        last = y[:, -1] if self.batch_first else y[-1]
        return self.head(last), hidden


class Packed(nn.Module):
    """Sequences of several lengths, padded: the lengths become an operand of the recurrent operator."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(6, 7, bidirectional=True)
        self.head = nn.Linear(14, 3)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=True)
        y, (h, _) = self.cell(packed)
        y, _ = nn.utils.rnn.pad_packed_sequence(y, total_length=x.size(0))
        return self.head(torch.cat([h[0], h[1]], 1)), y


class Gpt(nn.Module):
    """Blocks of GPT-2: a causal mask made of shapes, Gelu by tanh written out, positions by arange."""

    def __init__(self, width=48, heads=4, layers=2):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(100, width), nn.Embedding(32, width)
        self.blocks = nn.ModuleList(
            nn.ModuleDict({
                "n1": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
                "n2": nn.LayerNorm(width), "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width)})
            for _ in range(layers))
        self.norm, self.heads = nn.LayerNorm(width), heads
        self.register_buffer("mask", torch.tril(torch.ones(32, 32)).view(1, 1, 32, 32))

    def attend(self, block, x):
        n, t, c = x.size()
        q, k, v = (p.view(n, t, self.heads, c // self.heads).transpose(1, 2) for p in block["qkv"](x).split(c, 2))
        w = q @ k.transpose(-2, -1) / (k.size(-1) ** 0.5)
        w = torch.where(self.mask[:, :, :t, :t] > 0, w, torch.tensor(-1e4))
        return block["out"]((F.softmax(w, -1) @ v).transpose(1, 2).contiguous().view(n, t, c))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.size(1)).unsqueeze(0))
        for block in self.blocks:
            x = x + self.attend(block, block["n1"](x))
            h = block["up"](block["n2"](x))
            h = 0.5 * h * (1 + torch.tanh(0.7978845608 * (h + 0.044715 * torch.pow(h, 3))))
            x = x + block["down"](h)
        return self.norm(x) @ self.tokens.weight.t()


class Bert(nn.Module):
    """Encoder layers with a padding mask in integers, Gelu by erf, pooler, LayerNorm written out by the exporter."""

    def __init__(self, width=48):
        super().__init__()
        self.tokens, self.segments, self.positions = nn.Embedding(60, width), nn.Embedding(2, width), nn.Embedding(40, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.qkv = nn.ModuleList(nn.Linear(width, width) for _ in range(4))
        self.up, self.down, self.norm2 = nn.Linear(width, 96), nn.Linear(96, width), nn.LayerNorm(width)
        self.pool = nn.Linear(width, width)

    def forward(self, tokens, mask, segments):
        n, t = tokens.shape
        position = torch.arange(t, dtype=torch.long).expand(n, t)
        x = self.norm(self.tokens(tokens) + self.segments(segments) + self.positions(position))
        bias = (1.0 - mask[:, None, None, :].to(torch.float32)) * -10000.0
        q, k, v = (layer(x).view(n, t, 4, -1).permute(0, 2, 1, 3) for layer in self.qkv[:3])
        w = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) / 12**0.5 + bias, -1)
        x = x + self.qkv[3](torch.matmul(w, v).permute(0, 2, 1, 3).reshape(n, t, -1))
        x = self.norm2(x + self.down(F.gelu(self.up(x))))
        return x, torch.tanh(self.pool(x[:, 0]))


class Transformer(nn.Module):
    def __init__(self, norm_first):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=norm_first, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        return self.encoder(x)


class TextCnn(nn.Module):
    """Convolutions of three widths over words, the greatest answer of each."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 12, padding_idx=0)
        self.layers = nn.ModuleList(nn.Conv1d(12, 8, k) for k in (2, 3, 5))
        self.head = nn.Linear(24, 4)

    def forward(self, tokens):
        x = self.embed(tokens).transpose(1, 2)
        return self.head(torch.cat([F.relu(layer(x)).max(2)[0] for layer in self.layers], 1))


class Seq2Seq(nn.Module):
    """PyTorch's whole Transformer: encoder, decoder with a causal mask, cross attention."""

    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(50, 24), nn.Embedding(50, 24)
        self.model = nn.Transformer(24, 3, 1, 2, 48, batch_first=True)
        self.head = nn.Linear(24, 50)

    def forward(self, source, target):
        t = target.shape[1]
        mask = torch.full((t, t), float("-inf")).triu(1)
        return self.head(self.model(self.source(source), self.target(target), tgt_mask=mask))


class T5(nn.Module):
    """RMS norms, a bias by buckets of relative distance, gated Gelu, no scale of the scores."""

    def __init__(self, width=32, count=4):
        super().__init__()
        self.embed, self.bias, self.count = nn.Embedding(50, width), nn.Embedding(16, count), count
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up, self.down = nn.Linear(width, 48, False), nn.Linear(width, 48, False), nn.Linear(48, width, False)
        self.norms = nn.ModuleList(RmsNorm(width) for _ in range(3))

    def forward(self, tokens):
        x, t = self.embed(tokens), tokens.shape[1]
        place = torch.arange(t)
        distance = place[None, :] - place[:, None]
        side, far = (distance > 0).long() * 8, distance.abs()
        large = 4 + (torch.log(far.float().clamp(min=1) / 4) / 2.0 * 4).long()
        bias = self.bias(side + torch.where(far < 4, far, torch.min(large, torch.full_like(large, 7)))).permute(2, 0, 1)
        h = self.norms[0](x)
        w = torch.softmax(heads(self.q(h), self.count) @ heads(self.k(h), self.count).transpose(2, 3) + bias, -1)
        x = x + self.o(joined(w @ heads(self.v(h), self.count)))
        h = self.norms[1](x)
        return self.norms[2](x + self.down(F.gelu(self.gate(h)) * self.up(h)))


class Longformer(nn.Module):
    """Attention within overlapping windows, made of shifted slices, and one global token."""

    def __init__(self, width=24, window=4):
        super().__init__()
        self.window, self.qkv, self.out = window, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        pad = self.window
        near_k, near_v = (torch.stack([F.pad(y, (0, 0, pad, pad))[:, i:i + t] for i in range(2 * pad + 1)], -1) for y in (k, v))
        scores = torch.einsum("ntc,ntcw->ntw", q, near_k) / c ** 0.5
        place = torch.arange(t)[:, None] + torch.arange(-pad, pad + 1)
        scores = scores.masked_fill((place < 0) | (place >= t), float("-inf"))
        whole = (q * k[:, :1]).sum(-1, keepdim=True)
        w = torch.softmax(torch.cat([whole, scores], -1), -1)
        y = w[..., :1] * v[:, :1] + torch.einsum("ntw,ntcw->ntc", w[..., 1:], near_v)
        return x + self.out(y)


class LinearAttention(nn.Module):
    """Attention without softmax: causal sums of outer products, and a random-feature kernel (Performer)."""

    def __init__(self, width=24, features=16):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(2 * width, width)
        self.register_buffer("random", torch.randn(features, width))

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        a, b = F.elu(q) + 1, F.elu(k) + 1
        state = torch.cumsum(b.unsqueeze(-1) * v.unsqueeze(-2), 1)
        causal = torch.einsum("ntc,ntcd->ntd", a, state) / (a * torch.cumsum(b, 1)).sum(-1, keepdim=True)
        f, g = (torch.exp(0.3 * y @ self.random.t() - 0.05 * y.pow(2).sum(-1, keepdim=True)) for y in (q, k))
        kernel = f @ (g.transpose(1, 2) @ v) / (f @ g.sum(1).unsqueeze(-1))
        return self.out(torch.cat([causal, kernel], -1))


class Mixtral(nn.Module):
    """A mixture of experts: the best two of a router, gathered weights, and the dense form with a mask."""

    def __init__(self, width=16, experts=5, hidden=24):
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(0.3 * torch.randn(experts, width, hidden))
        self.down = nn.Parameter(0.3 * torch.randn(experts, hidden, width))

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        weight, chosen = torch.topk(torch.softmax(self.router(rows), -1), 2, dim=-1)
        weight = weight / weight.sum(-1, keepdim=True)
        h = F.silu(torch.einsum("tc,tkch->tkh", rows, self.up[chosen]))
        gathered = (torch.einsum("tkh,tkhc->tkc", h, self.down[chosen]) * weight.unsqueeze(-1)).sum(1)
        mask = torch.zeros(rows.shape[0], self.up.shape[0]).scatter(1, chosen, weight)
        dense = torch.einsum("teh,ehc->tec", F.silu(torch.einsum("tc,ech->teh", rows, self.up)), self.down)
        return gathered.view_as(x), (dense * mask.unsqueeze(-1)).sum(1).view_as(x), chosen


class Fourier(nn.Module):
    """FNet: mixing by the real part of a Fourier transform, as products with its matrices."""

    def __init__(self, t=12, width=20):
        super().__init__()
        for name, size in (("time", t), ("wide", width)):
            angle = 2 * torch.pi * torch.outer(torch.arange(size), torch.arange(size)) / size
            self.register_buffer(name + "_cos", torch.cos(angle))
            self.register_buffer(name + "_sin", torch.sin(angle))
        self.norm, self.feed = nn.LayerNorm(width), mlp(width, 40, width, activation=nn.GELU)

    def forward(self, x):
        real = self.time_cos @ (x @ self.wide_cos) - self.time_sin @ (x @ self.wide_sin)
        x = self.norm(x + real)
        return x + self.feed(x)


class Tagger(nn.Module):
    """BiLSTM with a conditional random field: the score of the best path, its tags, and all paths' logarithm."""

    def __init__(self, tags=5):
        super().__init__()
        self.embed, self.cell = nn.Embedding(50, 8), nn.LSTM(8, 7, bidirectional=True, batch_first=True)
        self.head = nn.Linear(14, tags)
        self.change = nn.Parameter(torch.randn(tags, tags))

    def forward(self, tokens):
        scores = self.head(self.cell(self.embed(tokens))[0])
        best = total = scores[:, 0]
        back = []
        for t in range(1, 6):
            value, where = (best.unsqueeze(2) + self.change).max(1)
            best, back = value + scores[:, t], back + [where]
            total = torch.logsumexp(total.unsqueeze(2) + self.change, 1) + scores[:, t]
        path = [best.argmax(1, keepdim=True)]
        for where in reversed(back):
            path.append(where.gather(1, path[-1]))
        return best.max(1)[0], torch.cat(path[::-1], 1), torch.logsumexp(total, 1)


class Elman(nn.Module):
    """Cells written by hand, step by step, with attention over all earlier states (a pointer network's glimpse)."""

    def __init__(self):
        super().__init__()
        self.gru, self.lstm, self.score = nn.GRUCell(6, 9), nn.LSTMCell(9, 9), nn.Linear(9, 9)

    def forward(self, x):
        h = torch.zeros(x.shape[0], 9)
        a, b = h, h
        seen = []
        for t in range(5):
            h = self.gru(x[:, t], h)
            a, b = self.lstm(h, (a, b))
            seen.append(a)
        memory = torch.stack(seen, 1)
        return attend(self.score(a).unsqueeze(1), memory, memory).squeeze(1), memory


class Steps(nn.Module):
    """A loop over time and a branch on a value, scripted: the exporter writes Loop and If."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(5, 5), nn.Linear(6, 5)

    def forward(self, x):
        h = torch.zeros(x.size(0), 5)
        for t in range(x.size(1)):
            h = torch.tanh(self.inner(h) + self.outer(x[:, t]))
            if float(h.sum()) > 0.5:
                h = h * 0.5
        return h


def bert_inputs(batch):
    mask = torch.ones(batch, 11, dtype=torch.long)
    mask[:, 8:] = 0
    return torch.randint(0, 60, (batch, 11)), mask, torch.randint(0, 2, (batch, 11))


def two_sequences(batch):
    return torch.randint(0, 50, (batch, 9)), torch.randint(0, 50, (batch, 6))


SEQUENCE = ({0: "n", 1: "t"},)
TIME_FIRST = ({1: "n"},)
MODELS = {
    "lstm": Architecture(lambda: Recurrent("LSTM"), tokens(9)),
    "gru": Architecture(lambda: Recurrent("GRU"), tokens(9)),
    "rnn": Architecture(lambda: Recurrent("RNN", 1, False, False), tokens(9, batch_first=False), TIME_FIRST),
    "lstm_one_way": Architecture(lambda: Recurrent("LSTM", 1, False, False), tokens(9, batch_first=False), TIME_FIRST),
    "lstm_packed": Architecture(Packed, lambda batch: (torch.randn(8, batch, 6), torch.tensor([8, 5, 2][:batch])), None),
    "cells": Architecture(Elman, noise(5, 6)),
    "scripted_loop": Architecture(lambda: torch.jit.script(Steps()), noise(7, 6), SEQUENCE),
    "tagger": Architecture(Tagger, tokens(6)),
    "text_cnn": Architecture(TextCnn, tokens(13), SEQUENCE),
    "gpt": Architecture(Gpt, tokens(13), SEQUENCE),
    "bert": Architecture(Bert, bert_inputs, SEQUENCE),
    "t5": Architecture(T5, tokens(11), SEQUENCE),
    "transformer": Architecture(lambda: Transformer(False), noise(7, 32)),
    "transformer_norm_first": Architecture(lambda: Transformer(True), noise(7, 32)),
    "sequence_to_sequence": Architecture(Seq2Seq, two_sequences, first_opset=14),
    "longformer": Architecture(Longformer, noise(13, 24), SEQUENCE, first_opset=12),
    "linear_attention": Architecture(LinearAttention, noise(9, 24), SEQUENCE, first_opset=12),
    "mixture_of_experts": Architecture(Mixtral, noise(7, 16), SEQUENCE, first_opset=12),
    "fnet": Architecture(Fourier, noise(12, 20)),
}
