# SPDX-License-Identifier: Apache-2.0
"""Recommenders, tables, series, control and neural fields: networks without pictures or text."""
import torch
import torch.nn.functional as F
from torch import nn

from .common import Architecture, attend, heads, joined, mlp, noise


class Dlrm(nn.Module):
    """Bottom layers, embeddings of categories, products of all pairs, top layers."""

    def __init__(self, c=8):
        super().__init__()
        self.tables, self.bottom = nn.ModuleList(nn.Embedding(40, c) for _ in range(5)), mlp(13, 16, c)
        self.top = mlp(c + 15, 16, 1)
        i, j = torch.tril_indices(6, 6, -1)
        self.register_buffer("pairs", i * 6 + j)

    def forward(self, dense, sparse):
        x = F.relu(self.bottom(dense))
        all = torch.stack([x] + [table(sparse[:, k]) for k, table in enumerate(self.tables)], 1)
        products = torch.bmm(all, all.transpose(1, 2)).flatten(1).index_select(1, self.pairs)
        return torch.sigmoid(self.top(torch.cat([x, products], 1)))


class WideDeep(nn.Module):
    """A linear part by one table, a factorisation machine, a deep part over one table with offsets, crosses (DCN)."""

    def __init__(self, fields=6, c=5):
        super().__init__()
        self.register_buffer("offsets", torch.arange(fields) * 10)
        self.linear, self.table = nn.Embedding(60, 1), nn.Embedding(60, c)
        self.deep, self.cross = mlp(fields * c, 16, 8), nn.ModuleList(nn.Linear(fields * c, fields * c) for _ in range(2))
        self.head = nn.Linear(8 + fields * c, 1)

    def forward(self, x):
        x = x + self.offsets
        e = self.table(x)
        pairs = 0.5 * (e.sum(1) ** 2 - (e ** 2).sum(1)).sum(1, keepdim=True)
        h = first = e.flatten(1)
        for layer in self.cross:
            h = first * layer(h) + h
        return torch.sigmoid(0.1 * (self.linear(x).sum(1) + pairs + self.head(torch.cat([self.deep(first), h], 1))))


class Bags(nn.Module):
    """Bags of one length as two-dimensional inputs: sums, means, the greatest; two towers and their product."""

    def __init__(self):
        super().__init__()
        self.sums, self.table = nn.EmbeddingBag(40, 8, mode="sum"), nn.Embedding(40, 8)
        self.user, self.item = mlp(16, 12, 6), mlp(8, 12, 6)

    def forward(self, bags, items):
        e = self.table(bags)
        user = self.user(torch.cat([self.sums(bags), e.max(1)[0]], 1))
        item = self.item(self.table(items))
        return F.normalize(user, dim=1) @ F.normalize(item, dim=1).t()


class Interest(nn.Module):
    """DIN: a history with padding, attention by a network over pairs, a Dice-like gate."""

    def __init__(self, c=8):
        super().__init__()
        self.table, self.score = nn.Embedding(50, c, padding_idx=0), mlp(4 * c, 12, 1, activation=nn.PReLU)
        self.norm, self.head = nn.BatchNorm1d(2 * c), mlp(2 * c, 8, 2)

    def forward(self, history, candidate):
        h, q = self.table(history), self.table(candidate).unsqueeze(1)
        q = q.expand_as(h)
        w = self.score(torch.cat([q, h, q - h, q * h], -1)).squeeze(-1)
        w = torch.where(history == 0, torch.full_like(w, -2.0 ** 20), w)
        x = torch.cat([(torch.softmax(w, 1).unsqueeze(-1) * h).sum(1), q[:, 0]], 1)
        gate = torch.sigmoid(self.norm(x))
        return torch.softmax(self.head(gate * x + (1 - gate) * 0.1 * x), 1)


class FeatureTransformer(nn.Module):
    """A table's numbers and categories as tokens, attention over them, a reading token."""

    def __init__(self, c=16, count=2):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(7, c)), nn.Parameter(torch.randn(7, c))
        self.read = nn.Parameter(torch.randn(1, 1, c))
        self.categories, self.qkv, self.o, self.count = nn.Embedding(20, c), nn.Linear(c, 3 * c), nn.Linear(c, c), count
        self.norm, self.feed, self.head = nn.LayerNorm(c), mlp(c, 32, c, activation=nn.ReLU), nn.Linear(c, 3)

    def forward(self, numbers, categories):
        x = torch.cat([numbers.unsqueeze(-1) * self.weight + self.bias, self.categories(categories)], 1)
        x = torch.cat([self.read.expand(x.shape[0], -1, -1), x], 1)
        x = x + self.o(joined(attend(*(heads(part, self.count) for part in self.qkv(self.norm(x)).chunk(3, -1)))))
        return self.head(F.relu((x + self.feed(x))[:, 0]))


class Forest(nn.Module):
    """Soft decision trees: products of branch probabilities, and TabNet's sparsemax."""

    def __init__(self, depth=3, trees=4):
        super().__init__()
        self.split, self.leaf = nn.Linear(9, trees * depth), nn.Parameter(torch.randn(trees, 2 ** depth, 3))
        self.depth, self.trees = depth, trees

    @staticmethod
    def sparsemax(x):
        ordered = torch.sort(x, dim=-1, descending=True)[0]
        rank = torch.arange(1, x.shape[-1] + 1).float()
        total = ordered.cumsum(-1)
        support = (1 + rank * ordered > total).float()
        size = support.sum(-1, keepdim=True)
        return torch.clamp(x - ((ordered * support).sum(-1, keepdim=True) - 1) / size, min=0)

    def forward(self, x):
        x = x * self.sparsemax(x)
        p = torch.sigmoid(self.split(x)).view(-1, self.trees, self.depth)
        reach = torch.ones(x.shape[0], self.trees, 1)
        for k in range(self.depth):
            reach = torch.cat([reach * p[..., k:k + 1], reach * (1 - p[..., k:k + 1])], -1)
        return torch.einsum("ntl,tlc->nc", reach, self.leaf)


class Temporal(nn.Module):
    """Series: dilated causal convolutions (TCN), a moving mean taken off, blocks that subtract what they explain (N-BEATS)."""

    def __init__(self, t=36, ahead=6):
        super().__init__()
        self.convolutions = nn.ModuleList(nn.utils.weight_norm(nn.Conv1d(3 if k == 0 else 8, 8, 3, padding=2 * 2 ** k,
                dilation=2 ** k)) for k in range(3))
        self.trend, self.season, self.head = nn.Linear(t, ahead), nn.Linear(t, ahead), nn.Linear(8, 3)
        self.back = nn.ModuleList(mlp(t, 16, t) for _ in range(2))
        self.forth = nn.ModuleList(mlp(t, 16, ahead) for _ in range(2))

    def forward(self, x):
        h = x
        for k, layer in enumerate(self.convolutions):
            h = F.relu(layer(h)[:, :, :-2 * 2 ** k])
        mean = F.avg_pool1d(F.pad(x, (4, 4), mode="replicate"), 9, 1)
        y = self.trend(mean) + self.season(x - mean) + self.head(h[:, :, -1]).unsqueeze(2)
        rest = x
        for back, forth in zip(self.back, self.forth):
            y = y + forth(rest)
            rest = rest - back(rest)
        return y


class Actor(nn.Module):
    """Reinforcement learning: frames of bytes, a dueling head, a squashed Gaussian with its logarithm, quantiles."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(4, 8, 8, 4), nn.ReLU(), nn.Conv2d(8, 12, 4, 2), nn.ReLU(), nn.Flatten(),
                                    nn.Linear(12 * 4 * 4, 24), nn.ReLU())
        self.value, self.advantage, self.mean = nn.Linear(24, 1), nn.Linear(24, 5), nn.Linear(24, 3)
        self.spread = nn.Linear(24, 3)
        self.quantiles = nn.Linear(24, 5 * 7)

    def forward(self, frames, noise):
        x = self.layers(frames.float() / 255)
        advantage = self.advantage(x)
        q = self.value(x) + advantage - advantage.mean(1, keepdim=True)
        mean, spread = self.mean(x), self.spread(x).clamp(-5, 2)
        action = torch.tanh(mean + spread.exp() * noise)
        likely = (-0.5 * noise ** 2 - spread - 0.9189385 - torch.log(1 - action ** 2 + 1e-6)).sum(1)
        return q, q.argmax(1), action, likely, self.quantiles(x).view(-1, 5, 7).sort(-1)[0][..., 3]


class Physics(nn.Module):
    """A neural ODE by four steps of Runge and Kutta, a Fourier operator by products, a Koopman step."""

    def __init__(self, t=16, c=6, modes=5):
        super().__init__()
        self.field, self.matrix = mlp(c, 16, c, activation=nn.Tanh), nn.Parameter(torch.randn(c, c) * 0.3)
        angle = 2 * torch.pi * torch.outer(torch.arange(t), torch.arange(modes)) / t
        self.register_buffer("cosine", angle.cos())
        self.register_buffer("sine", angle.sin())
        self.real, self.imaginary = nn.Parameter(torch.randn(modes, c, c) * 0.2), nn.Parameter(torch.randn(modes, c, c) * 0.2)

    def forward(self, x):
        y, step = x, 0.25
        for _ in range(4):
            k1 = self.field(y)
            k2 = self.field(y + step / 2 * k1)
            k3 = self.field(y + step / 2 * k2)
            y = y + step / 6 * (k1 + 2 * k2 + 2 * k3 + self.field(y + step * k3))
        real, imaginary = torch.einsum("ntc,tm->nmc", y, self.cosine), torch.einsum("ntc,tm->nmc", y, -self.sine)
        a = torch.einsum("nmc,mcd->nmd", real, self.real) - torch.einsum("nmc,mcd->nmd", imaginary, self.imaginary)
        b = torch.einsum("nmc,mcd->nmd", real, self.imaginary) + torch.einsum("nmc,mcd->nmd", imaginary, self.real)
        mixed = torch.einsum("nmd,tm->ntd", a, self.cosine) - torch.einsum("nmd,tm->ntd", b, self.sine)
        return F.gelu(mixed) + y @ self.matrix


class Nerf(nn.Module):
    """Rays: points along each, encoded by sines, density and colour, summed with what light passes."""

    def __init__(self, samples=8, width=24):
        super().__init__()
        self.register_buffer("depth", torch.linspace(2, 6, samples))
        self.register_buffer("bands", 2.0 ** torch.arange(4))
        self.first, self.second = mlp(27, width, width), mlp(27 + width, width, width)
        self.density, self.colour = nn.Linear(width, 1), mlp(width + 3, 12, 3)

    def forward(self, origin, direction):
        points = origin.unsqueeze(1) + direction.unsqueeze(1) * self.depth[:, None]
        angle = (points.unsqueeze(-2) * self.bands[:, None]).flatten(-2)
        code = torch.cat([points, angle.sin(), angle.cos()], -1)
        h = F.relu(self.second(torch.cat([code, F.relu(self.first(code))], -1)))
        view = F.normalize(direction, dim=-1).unsqueeze(1).expand_as(points)
        colour = torch.sigmoid(self.colour(torch.cat([h, view], -1)))
        opaque = 1 - torch.exp(-F.softplus(self.density(h).squeeze(-1)) * 0.57)
        passing = torch.exp(torch.cumsum(torch.log(1 - opaque + 1e-10), -1))
        weight = opaque * torch.cat([torch.ones_like(passing[:, :1]), passing[:, :-1]], -1)
        return (weight.unsqueeze(-1) * colour).sum(1), (weight * self.depth).sum(1)


class Siren(nn.Module):
    """Layers of sines with a modulation from a latent code."""

    def __init__(self, width=24):
        super().__init__()
        self.layers, self.latent = nn.ModuleList([nn.Linear(2, width), nn.Linear(width, width)]), mlp(5, 2 * width)
        self.head = nn.Linear(width, 3)

    def forward(self, places, code):
        scale = self.latent(code).chunk(2, -1)
        x = places
        for layer, shift in zip(self.layers, scale):
            x = torch.sin(30.0 * layer(x) * 0.2 + shift.unsqueeze(1))
        return self.head(x)


class HashGrid(nn.Module):
    """Features of a point from tables addressed by a hash of its corners, and from planes by sampling."""

    def __init__(self, c=4):
        super().__init__()
        self.table, self.planes, self.head = nn.Embedding(64, c), nn.Parameter(torch.randn(3, c, 9, 9)), mlp(2 * c, 12, 4)
        corners = torch.tensor([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
        self.register_buffer("corners", corners)
        self.register_buffer("primes", torch.tensor([1, 19349, 83492]))

    def forward(self, x):
        scaled = x * 7
        low = torch.floor(scaled)
        part = (scaled - low).unsqueeze(1)
        address = ((low.long().unsqueeze(1) + self.corners) * self.primes).sum(-1) % 64
        near = self.corners.float()
        weight = (near * part + (1 - near) * (1 - part)).prod(-1)
        hashed = (self.table(address) * weight.unsqueeze(-1)).sum(1)
        grid = torch.stack([x[:, [0, 1]], x[:, [1, 2]], x[:, [0, 2]]]).unsqueeze(1) * 2 - 1
        sampled = F.grid_sample(self.planes, grid, align_corners=True).sum(0).squeeze(1).t()
        return self.head(torch.cat([hashed, sampled], 1))


MODELS = {
    "dlrm": Architecture(Dlrm, lambda batch: (torch.randn(batch, 13), torch.randint(0, 40, (batch, 5)))),
    "wide_deep": Architecture(WideDeep, lambda batch: (torch.randint(0, 10, (batch, 6)),)),
    "embedding_bags": Architecture(Bags, lambda batch: (torch.randint(0, 40, (batch, 7)), torch.randint(0, 40, (9,))), None),
    "interest": Architecture(Interest, lambda batch: (torch.randint(0, 50, (batch, 9)) * (torch.rand(batch, 9) > 0.3),
                                                      torch.randint(1, 50, (batch,)))),
    "feature_transformer": Architecture(FeatureTransformer, lambda batch: (torch.randn(batch, 7),
            torch.randint(0, 20, (batch, 4)))),
    "soft_forest": Architecture(Forest, noise(9), first_opset=12),
    "series": Architecture(Temporal, noise(3, 36)),
    "actor": Architecture(Actor, lambda batch: (torch.randint(0, 256, (batch, 4, 44, 44), dtype=torch.uint8),
                                                torch.randn(batch, 3))),
    "physics": Architecture(Physics, noise(16, 6), first_opset=12),
    "nerf": Architecture(Nerf, lambda batch: (torch.randn(5 * batch, 3), torch.randn(5 * batch, 3)), ({0: "rays"},)),
    "siren": Architecture(Siren, lambda batch: (torch.rand(batch, 19, 2) * 2 - 1, torch.randn(batch, 5)),
                          ({0: "n", 1: "places"}, {0: "n"})),
    "hash_grid": Architecture(HashGrid, lambda batch: (torch.rand(11 * batch, 3),), ({0: "places"},), first_opset=16),
}
