# SPDX-License-Identifier: Apache-2.0
"""Ways to mix tokens and places other than plain attention or convolution, and detection by queries."""
import torch
import torch.nn.functional as F
from torch import nn

from .common import Architecture, attend, heads, joined, mlp, noise


class MlpMixer(nn.Module):
    def __init__(self, t=16, c=24):
        super().__init__()
        self.patch, self.n1, self.n2, self.last = nn.Conv2d(3, c, 8, 8), nn.LayerNorm(c), nn.LayerNorm(c), nn.LayerNorm(c)
        self.time, self.wide, self.head = mlp(t, 20, t, activation=nn.GELU), mlp(c, 48, c, activation=nn.GELU), nn.Linear(c, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = x + self.time(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return self.head(self.last(x + self.wide(self.n2(x))).mean(1))


class GatedMlp(nn.Module):
    """gMLP: half of the channels, mixed over time, gates the other half; aMLP's small attention beside it."""

    def __init__(self, t=11, c=16):
        super().__init__()
        self.norm, self.gate_norm, self.up = nn.LayerNorm(c), nn.LayerNorm(24), nn.Linear(c, 48)
        self.down, self.time = nn.Linear(24, c), nn.Conv1d(t, t, 1)
        self.qkv, self.o = nn.Linear(c, 24), nn.Linear(8, 24)

    def forward(self, x):
        h = self.norm(x)
        a, b = F.gelu(self.up(h)).chunk(2, -1)
        b = self.time(self.gate_norm(b)) + self.o(attend(*self.qkv(h).chunk(3, -1)))
        return x + self.down(a * b)


class ConvMixer(nn.Module):
    def __init__(self, c=24):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, c, 4, 4), nn.GELU(), nn.BatchNorm2d(c))
        self.depth = nn.ModuleList(nn.Sequential(nn.Conv2d(c, c, 5, padding=2, groups=c), nn.GELU(),
                                                 nn.BatchNorm2d(c)) for _ in range(2))
        self.point = nn.ModuleList(nn.Sequential(nn.Conv2d(c, c, 1), nn.GELU(), nn.BatchNorm2d(c)) for _ in range(2))
        self.head = nn.Linear(c, 10)

    def forward(self, x):
        x = self.stem(x)
        for depth, point in zip(self.depth, self.point):
            x = point(x + depth(x))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class ShiftPool(nn.Module):
    """PoolFormer's pooling less identity, shifts of groups of channels by rolling, a layer scale, involution by unfolding."""

    def __init__(self, c=16, groups=4):
        super().__init__()
        self.stem, self.n1, self.n2, self.groups = nn.Conv2d(3, c, 4, 4), nn.GroupNorm(1, c), nn.GroupNorm(1, c), groups
        self.scale, self.feed, self.kernel = nn.Parameter(torch.rand(c, 1, 1)), nn.Conv2d(c, c, 1), nn.Conv2d(c, 9 * groups, 1)

    def forward(self, x):
        x = self.stem(x)
        h = self.n1(x)
        x = x + self.scale * (F.avg_pool2d(h, 3, 1, 1, count_include_pad=False) - h)
        a, b, c, d = x.chunk(4, 1)
        x = x + self.feed(torch.cat([a.roll(1, 2), b.roll(-1, 2), c.roll(1, 3), d.roll((-1, 2), (3, 2))], 1))
        n, c, h, w = x.shape
        kernel = self.kernel(self.n2(x)).view(n, self.groups, 1, 9, h, w)
        return (kernel * F.unfold(x, 3, padding=1).view(n, self.groups, c // self.groups, 9, h, w)).sum(3).view(n, c, h, w)


class Perceiver(nn.Module):
    """Latents read a long input by cross attention, think, and are read by queries."""

    def __init__(self, c=24, count=3):
        super().__init__()
        self.latents, self.queries, self.count = nn.Parameter(torch.randn(1, 6, c)), nn.Parameter(torch.randn(1, 4, c)), count
        self.kv, self.q, self.o = nn.Linear(10, 2 * c), nn.Linear(c, c), nn.Linear(c, c)
        self.inner = nn.TransformerEncoderLayer(c, 3, 48, batch_first=True, norm_first=True)
        self.out, self.head = nn.MultiheadAttention(c, 2, batch_first=True), nn.Linear(c, 5)

    def forward(self, x):
        k, v = self.kv(x).chunk(2, -1)
        z = self.latents.expand(x.shape[0], -1, -1)
        z = z + self.o(joined(attend(heads(self.q(z), self.count), heads(k, self.count), heads(v, self.count))))
        z = self.inner(z)
        return self.head(self.out(self.queries.expand(x.shape[0], -1, -1), z, z, need_weights=False)[0])


class SetTransformer(nn.Module):
    """Inducing points, pooling by attention; slot attention that competes over slots, with a GRU cell."""

    def __init__(self, c=16):
        super().__init__()
        self.points, self.seed = nn.Parameter(torch.randn(1, 4, c)), nn.Parameter(torch.randn(1, 2, c))
        self.project, self.k, self.v, self.q = nn.Linear(5, c), nn.Linear(c, c), nn.Linear(c, c), nn.Linear(c, c)
        self.cell = nn.GRUCell(c, c)

    def forward(self, x):
        x = self.project(x)
        inner = attend(self.points.expand(x.shape[0], -1, -1), x, x)
        x = x + attend(x, inner, inner)
        slots = self.seed.expand(x.shape[0], -1, -1)
        for _ in range(2):
            w = torch.softmax(self.k(x) @ self.q(slots).transpose(1, 2) / 4, -1) + 1e-8
            update = (w / w.sum(1, keepdim=True)).transpose(1, 2) @ self.v(x)
            slots = self.cell(update.reshape(-1, 16), slots.reshape(-1, 16)).view(slots.shape)
        return slots


class Detr(nn.Module):
    """A small backbone, sines of places from cumulated masks, a transformer, queries; classes and boxes."""

    def __init__(self, c=24):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 12, 5, 4, 2), nn.ReLU(), nn.Conv2d(12, c, 3, 2, 1))
        self.model = nn.Transformer(c, 3, 1, 1, 48)
        self.queries, self.classes, self.boxes = nn.Parameter(torch.rand(5, c)), nn.Linear(c, 4), mlp(c, c, 4)

    def places(self, mask):
        y, x = mask.cumsum(1), mask.cumsum(2)
        y, x = y / (y[:, -1:, :] + 1e-6) * 6.2831853, x / (x[:, :, -1:] + 1e-6) * 6.2831853
        step = 100 ** (2 * torch.div(torch.arange(12).float(), 2, rounding_mode="floor") / 12)
        parts = []
        for axis in (y, x):
            angle = axis[:, :, :, None] / step
            parts.append(torch.stack((angle[..., 0::2].sin(), angle[..., 1::2].cos()), 4).flatten(3))
        return torch.cat(parts, 3).permute(0, 3, 1, 2)

    def forward(self, x, mask):
        h = self.backbone(x)
        small = F.interpolate(mask[:, None], size=h.shape[2:], mode="nearest")[:, 0]
        source = (h + self.places(small)).flatten(2).permute(2, 0, 1)
        y = self.model(source, self.queries.unsqueeze(1).repeat(1, h.shape[0], 1)).transpose(0, 1)
        boxes = self.boxes(y).sigmoid()
        centre, size = boxes.unbind(-1)[:2], boxes.unbind(-1)[2:]
        corners = [centre[0] - size[0] / 2, centre[1] - size[1] / 2, centre[0] + size[0] / 2, centre[1] + size[1] / 2]
        score, label = self.classes(y).softmax(-1)[..., :-1].max(-1)
        return score, label, torch.stack(corners, -1)


class Deformable(nn.Module):
    """Deformable attention: each query samples a few places of two levels and weighs them."""

    def __init__(self, c=16, count=2, points=3):
        super().__init__()
        self.count, self.points = count, points
        self.offset, self.weight = nn.Linear(c, count * 2 * points * 2), nn.Linear(c, count * 2 * points)
        self.value, self.o = nn.Linear(c, c), nn.Linear(c, c)
        self.down = nn.Conv2d(c, c, 3, 2, 1)

    def forward(self, query, reference, picture):
        n, q, c = query.shape
        levels = [picture, self.down(picture)]
        offset = self.offset(query).view(n, q, self.count, 2, self.points, 2)
        weight = torch.softmax(self.weight(query).view(n, q, self.count, -1), -1)
        sampled = []
        for k, level in enumerate(levels):
            h, w = level.shape[2:]
            value = self.value(level.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(n * self.count, c // self.count, h, w)
            place = reference[:, :, None, None] + offset[:, :, :, k] / torch.tensor([w, h])
            grid = (2 * place - 1).transpose(1, 2).flatten(0, 1)
            sampled.append(F.grid_sample(value, grid, mode="bilinear", padding_mode="zeros", align_corners=False))
        values = torch.stack(sampled, -2).flatten(-2)
        weight = weight.transpose(1, 2).reshape(n * self.count, 1, q, -1)
        return self.o((values * weight).sum(-1).view(n, c, q).transpose(1, 2))


class StateSpace(nn.Module):
    """S4 in its form as a convolution: a kernel from complex poles, written in real numbers."""

    def __init__(self, c=8, state=4, t=19):
        super().__init__()
        self.decay, self.angle = nn.Parameter(torch.rand(c, state)), nn.Parameter(torch.rand(c, state) * 3)
        self.real, self.imaginary = nn.Parameter(torch.randn(c, state)), nn.Parameter(torch.randn(c, state))
        self.direct = nn.Parameter(torch.randn(c))
        self.register_buffer("time", torch.arange(t).float())
        self.mix, self.t, self.c = nn.Conv1d(c, 2 * c, 1), t, c

    def forward(self, x):
        far = self.time * 0.2
        kernel = (torch.exp(-torch.exp(self.decay)[..., None] * far) * (
            self.real[..., None] * torch.cos(self.angle[..., None] * far) - self.imaginary[...,
                    None] * torch.sin(self.angle[..., None] * far))).sum(1)
        y = F.conv1d(F.pad(x, (self.t - 1, 0)), kernel.flip(-1).unsqueeze(1), groups=self.c) + x * self.direct[:, None]
        return x + F.glu(self.mix(F.gelu(y)), 1)


class Hyena(nn.Module):
    """Long convolutions by an implicit filter of positions, gated twice; a short one before."""

    def __init__(self, c=8, t=16):
        super().__init__()
        self.enter, self.short = nn.Linear(c, 3 * c), nn.Conv1d(3 * c, 3 * c, 3, padding=2, groups=3 * c)
        self.filter, self.out = mlp(5, 12, c, activation=nn.SiLU), nn.Linear(c, c)
        place = torch.linspace(0, 1, t)[:, None]
        self.register_buffer("code", torch.cat([place] + [f(place * k * 6.28) for k in (1, 2) for f in (torch.sin, torch.cos)],
                                               1))
        self.register_buffer("fade", torch.exp(-place * torch.linspace(1, 5, c)))
        shift = torch.arange(t)[:, None] - torch.arange(t)
        self.register_buffer("shift", shift.clamp(min=0))
        self.register_buffer("causal", (shift >= 0).float())

    def forward(self, x):
        t = x.shape[1]
        a, b, v = self.short(self.enter(x).transpose(1, 2))[..., :t].chunk(3, 1)
        kernel = (self.filter(self.code) * self.fade).t()
        toeplitz = kernel[:, self.shift] * self.causal
        return self.out((a * torch.matmul(toeplitz, (b * v).unsqueeze(-1)).squeeze(-1)).transpose(1, 2))


MODELS = {
    "mlp_mixer": Architecture(MlpMixer, noise(3, 32, 32)),
    "gated_mlp": Architecture(GatedMlp, noise(11, 16)),
    "conv_mixer": Architecture(ConvMixer, noise(3, 36, 28)),
    "shift_pool": Architecture(ShiftPool, noise(3, 36, 28)),
    "perceiver": Architecture(Perceiver, noise(41, 10)),
    "set_transformer": Architecture(SetTransformer, noise(13, 5), ({0: "n", 1: "items"},)),
    "detr": Architecture(Detr, lambda batch: (torch.randn(batch, 3, 40, 56), torch.ones(batch, 40, 56))),
    "deformable_attention": Architecture(Deformable, lambda batch: (
        torch.randn(batch, 7, 16), torch.rand(batch, 7, 1, 2).squeeze(2), torch.randn(batch, 16, 9, 13)), first_opset=16),
    "state_space": Architecture(StateSpace, noise(8, 19)),
    "hyena": Architecture(Hyena, noise(16, 8)),
}
