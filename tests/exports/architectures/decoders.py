# SPDX-License-Identifier: Apache-2.0
"""Decoders that write text step by step: each takes the state of earlier steps and gives the one for the next.

Past keys and values are inputs with an open length, present ones outputs that are longer by what was read.
"""
import torch
import torch.nn.functional as F
from torch import nn

from .common import Architecture, RmsNorm, attend, heads, joined, mlp


def rotate(x, place, base=10000.0):
    """Rotary embedding in halves, [n, heads, t, size]."""
    half = x.shape[-1] // 2
    angle = place[:, None].float() * (1.0 / base ** (torch.arange(half).float() / half))
    cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


class Llama(nn.Module):
    """RMS norms, rotary positions, fewer heads of keys than of queries, SwiGLU; a causal mask behind a past."""

    def __init__(self, width=48, count=6, groups=2, layers=2, vocabulary=70):
        super().__init__()
        self.embed, self.count, self.groups, self.size = nn.Embedding(vocabulary, width), count, groups, width // count
        kv = groups * self.size
        self.layers = nn.ModuleList(nn.ModuleDict({
            "n1": RmsNorm(width), "q": nn.Linear(width, width, False), "k": nn.Linear(width, kv, False),
            "v": nn.Linear(width, kv, False), "o": nn.Linear(width, width, False), "n2": RmsNorm(width),
            "gate": nn.Linear(width, 88, False), "up": nn.Linear(width, 88, False), "down": nn.Linear(88, width, False)})
            for _ in range(layers))
        self.norm, self.head = RmsNorm(width), nn.Linear(width, vocabulary, False)

    def forward(self, tokens, *past):
        x, present = self.embed(tokens), []
        start, t = past[0].shape[2], tokens.shape[1]
        place = torch.arange(t) + start
        bias = torch.where(torch.arange(start + t)[None, :] > place[:, None], torch.tensor(-1e9), torch.tensor(0.0))
        for layer, k0, v0 in zip(self.layers, past[::2], past[1::2]):
            h = layer["n1"](x)
            q = rotate(heads(layer["q"](h), self.count), place)
            k = torch.cat([k0, rotate(heads(layer["k"](h), self.groups), place)], 2)
            v = torch.cat([v0, heads(layer["v"](h), self.groups)], 2)
            present += [k, v]
            wide = [y[:, :, None].expand(-1, -1, self.count // self.groups, -1, -1).reshape(
                y.shape[0], self.count, y.shape[2], self.size) for y in (k, v)]
            x = x + layer["o"](joined(attend(q, *wide, bias)))
            h = layer["n2"](x)
            x = x + layer["down"](F.silu(layer["gate"](h)) * layer["up"](h))
        return (self.head(self.norm(x)), *present)


class Gpt2Step(nn.Module):
    """LayerNorm, one projection for all three, learned positions, keys and values in one tensor for each layer."""

    def __init__(self, width=32, count=4, layers=2):
        super().__init__()
        self.embed, self.place, self.count = nn.Embedding(70, width), nn.Embedding(64, width), count
        self.layers = nn.ModuleList(nn.ModuleDict({
            "n1": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "o": nn.Linear(width, width),
            "n2": nn.LayerNorm(width), "feed": mlp(width, 4 * width, width, activation=nn.GELU)}) for _ in range(layers))

    def forward(self, token, place, *past):
        x, present = self.embed(token) + self.place(place), []
        for layer, both in zip(self.layers, past):
            q, k, v = layer["qkv"](layer["n1"](x)).chunk(3, -1)
            k, v = torch.cat([both[0], heads(k, self.count)], 2), torch.cat([both[1], heads(v, self.count)], 2)
            present.append(torch.stack([k, v]))
            x = x + layer["o"](joined(attend(heads(q, self.count), k, v)))
            x = x + layer["feed"](layer["n2"](x))
        logits = x[:, -1] @ self.embed.weight.t()
        return (logits, logits.argmax(-1), *present)


class FixedCache(nn.Module):
    """A cache of one fixed length into which a step writes at its position; several queries share one key (MQA); ALiBi."""

    def __init__(self, width=32, count=4, length=24):
        super().__init__()
        self.embed, self.count, self.length, size = nn.Embedding(70, width), count, length, width // count
        self.q, self.kv, self.o = nn.Linear(width, width), nn.Linear(width, 2 * size), nn.Linear(width, width)
        self.feed = mlp(width, 64, width, activation=nn.SiLU)
        self.register_buffer("slope", 2.0 ** -torch.arange(1.0, count + 1).view(1, count, 1, 1))

    def forward(self, token, place, keys, values):
        x = self.embed(token)
        k, v = self.kv(x).chunk(2, -1)
        rows = place.view(-1, 1, 1).expand(-1, 1, k.shape[-1])
        keys, values = keys.scatter(1, rows, k), values.scatter(1, rows, v)
        far = (place.view(-1, 1) - torch.arange(self.length)).view(-1, 1, 1, self.length)
        bias = torch.where(far < 0, torch.tensor(float("-inf")), -far.float() * self.slope)
        x = x + self.o(joined(attend(heads(self.q(x), self.count), keys.unsqueeze(1), values.unsqueeze(1), bias)))
        return (x + self.feed(x)) @ self.embed.weight.t(), keys, values


class CrossDecoder(nn.Module):
    """A step of an encoder-decoder: cached self attention, cross attention to a memory with padding."""

    def __init__(self, width=24, count=3):
        super().__init__()
        self.embed, self.count = nn.Embedding(60, width), count
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.cross = nn.MultiheadAttention(width, count, batch_first=True)
        self.norms, self.feed = nn.ModuleList(nn.LayerNorm(width) for _ in range(3)), mlp(width, 48, width)

    def forward(self, token, memory, padding, past_k, past_v):
        x = self.embed(token)
        k = torch.cat([past_k, heads(self.k(x), self.count)], 2)
        v = torch.cat([past_v, heads(self.v(x), self.count)], 2)
        x = self.norms[0](x + self.o(joined(attend(heads(self.q(x), self.count), k, v))))
        y, weight = self.cross(x, memory, memory, key_padding_mask=padding)
        x = self.norms[1](x + y)
        return self.norms[2](x + self.feed(x)) @ self.embed.weight.t(), weight, k, v


class RwkvStep(nn.Module):
    """Time mixing and channel mixing of RWKV, with the running maximum that keeps exponentials in range."""

    def __init__(self, width=24):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.decay = nn.Parameter(torch.rand(5, width)), nn.Parameter(torch.rand(width))
        self.bonus = nn.Parameter(torch.rand(width))
        self.k, self.v, self.r, self.o = (nn.Linear(width, width, False) for _ in range(4))
        self.ck, self.cr, self.cv = nn.Linear(width, 48, False), nn.Linear(width, width, False), nn.Linear(48, width, False)

    def forward(self, x, state):
        last, other, a, b, top = state.unbind(1)
        h = self.n1(x)
        k, v, r = (layer(h * m + last * (1 - m)) for layer, m in zip((self.k, self.v, self.r), self.mix))
        high = torch.maximum(top, self.bonus + k)
        e1, e2 = torch.exp(top - high), torch.exp(self.bonus + k - high)
        x = x + self.o(torch.sigmoid(r) * (e1 * a + e2 * v) / (e1 * b + e2))
        fresh = torch.maximum(top - torch.exp(self.decay), k)
        e1, e2 = torch.exp(top - torch.exp(self.decay) - fresh), torch.exp(k - fresh)
        g = self.n2(x)
        ck, cr = (layer(g * m + other * (1 - m)) for layer, m in zip((self.ck, self.cr), self.mix[3:]))
        x = x + torch.sigmoid(cr) * self.cv(torch.square(torch.relu(ck)))
        return x, torch.stack([h, g, e1 * a + e2 * v, e1 * b + e2, fresh], 1)


class MambaStep(nn.Module):
    """A selective state space, one step: a short convolution over kept inputs, a state that decays by the input."""

    def __init__(self, width=16, inner=24, state=4, taps=3):
        super().__init__()
        self.enter, self.out, self.norm = nn.Linear(width, 2 * inner, False), nn.Linear(inner, width, False), RmsNorm(width)
        self.taps, self.bias = nn.Parameter(torch.randn(inner, taps)), nn.Parameter(torch.randn(inner))
        self.select, self.rate = nn.Linear(inner, 2 * state + 2, False), nn.Linear(2, inner)
        self.a, self.d, self.state = nn.Parameter(torch.rand(inner, state)), nn.Parameter(torch.rand(inner)), state

    def forward(self, x, kept, state):
        h, gate = self.enter(self.norm(x)).chunk(2, -1)
        kept = torch.cat([kept[:, :, 1:], h.unsqueeze(-1)], -1)
        h = F.silu((kept * self.taps).sum(-1) + self.bias)
        rate, b, c = torch.split(self.select(h), [2, self.state, self.state], -1)
        rate = F.softplus(self.rate(rate))
        state = state * torch.exp(-rate.unsqueeze(-1) * self.a) + (rate * h).unsqueeze(-1) * b.unsqueeze(1)
        y = (state * c.unsqueeze(1)).sum(-1) + self.d * h
        return x + self.out(y * F.silu(gate)), kept, state


class GreedyLoop(nn.Module):
    """Greedy decoding, scripted: the exporter writes a Loop whose state is the text so far."""

    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.head = nn.Embedding(20, 8), nn.Linear(16, 8), nn.Linear(8, 20)

    def forward(self, state):
        token = torch.zeros(state.size(0), dtype=torch.long)
        text = token.unsqueeze(1)
        for step in range(6):
            state = torch.tanh(self.cell(torch.cat([self.embed(token), state], 1)))
            token = self.head(state).argmax(1)
            text = torch.cat([text, token.unsqueeze(1)], 1)
        return text, state


def llama_inputs(length, past):
    return lambda batch: (torch.randint(0, 70, (batch, length)), *(torch.randn(batch, 2, past, 8) for _ in range(4)))


def gpt2_inputs(batch):
    return (torch.randint(0, 70, (batch, 1)), torch.full((batch, 1), 9), *(torch.randn(2, batch, 4, 9, 8) for _ in range(2)))


def fixed_inputs(batch):
    place = torch.tensor([5, 9, 0])[torch.arange(batch) % 3]
    return torch.randint(0, 70, (batch, 1)), place, torch.randn(batch, 24, 8), torch.randn(batch, 24, 8)


def cross_inputs(batch):
    padding = torch.zeros(batch, 7, dtype=torch.bool)
    padding[:, 5:] = True
    past = (torch.randn(batch, 3, 4, 8) for _ in range(2))
    return (torch.randint(0, 60, (batch, 1)), torch.randn(batch, 7, 24), padding, *past)


KEYS = {0: "n", 2: "past"}
MODELS = {
    "llama_step": Architecture(Llama, llama_inputs(1, 9), ({0: "n"}, KEYS)),
    "llama_prompt": Architecture(Llama, llama_inputs(7, 4), ({0: "n", 1: "t"}, KEYS)),
    "gpt2_step": Architecture(Gpt2Step, gpt2_inputs, ({0: "n"}, {0: "n"}, {1: "n", 3: "past"})),
    "fixed_cache": Architecture(FixedCache, fixed_inputs),
    "cross_decoder_step": Architecture(CrossDecoder, cross_inputs, ({0: "n"}, {0: "n", 1: "s"}, {0: "n", 1: "s"}, KEYS)),
    "rwkv_step": Architecture(RwkvStep, lambda batch: (torch.randn(batch, 24), torch.randn(batch, 5, 24).exp())),
    "mamba_step": Architecture(MambaStep, lambda batch: (torch.randn(batch, 16), torch.randn(batch, 24, 3),
                                                         torch.randn(batch, 24, 4))),
    "greedy_loop": Architecture(lambda: torch.jit.script(GreedyLoop()), lambda batch: (torch.randn(batch, 8),)),
}
