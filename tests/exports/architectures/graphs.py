# SPDX-License-Identifier: Apache-2.0
"""Graph networks, by dense adjacency and by lists of edges (index_select, scatter_add), and networks over clouds of points."""
import torch
import torch.nn.functional as F
from torch import nn

from .common import Architecture, mlp, noise


class DenseGcn(nn.Module):
    """The adjacency, normalised by degrees, times features; a graph's vector by mean and greatest."""

    def __init__(self):
        super().__init__()
        self.l1, self.l2, self.head = nn.Linear(7, 12), nn.Linear(12, 12), nn.Linear(24, 3)

    def forward(self, x, adjacency):
        adjacency = adjacency + torch.eye(x.shape[1])
        root = adjacency.sum(-1).clamp(min=1).pow(-0.5)
        adjacency = root.unsqueeze(-1) * adjacency * root.unsqueeze(-2)
        h = F.relu(adjacency @ self.l1(x))
        h = F.relu(adjacency @ self.l2(h)) + h
        return F.log_softmax(self.head(torch.cat([h.mean(1), h.max(1)[0]], 1)), 1), h


class DenseGat(nn.Module):
    """Attention over neighbours, heads side by side, a mask of what is no edge."""

    def __init__(self, count=3, size=5):
        super().__init__()
        self.project, self.left = nn.Linear(7, count * size, False), nn.Parameter(torch.randn(count, size))
        self.right = nn.Parameter(torch.randn(count, size))
        self.count, self.head = count, nn.Linear(count * size, 4)

    def forward(self, x, adjacency):
        n, t, _ = x.shape
        h = self.project(x).view(n, t, self.count, -1)
        scores = F.leaky_relu((h * self.left).sum(-1).unsqueeze(2) + (h * self.right).sum(-1).unsqueeze(1), 0.2)
        scores = scores.masked_fill(adjacency.unsqueeze(-1) == 0, -9e15)
        return self.head(F.elu(torch.einsum("nijc,njcs->nics", torch.softmax(scores, 2), h).flatten(2)))


def summed(rows, index, count, width):
    """Sums the rows of each index. The exporter compares sizes, so the width must be a number and not traced."""
    return torch.zeros(count, width).scatter_add(0, index[:, None].expand(-1, width), rows)


class EdgeGcn(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(7, 12), nn.Linear(12, 3)

    def forward(self, x, edges):
        source, target = edges[0], edges[1]
        degree = torch.ones(x.shape[0]).scatter_add(0, target, torch.ones(edges.shape[1]))
        weight = (degree.index_select(0, source) * degree.index_select(0, target)).rsqrt().unsqueeze(1)
        for layer, width in ((self.l1, 12), (self.l2, 3)):
            h = layer(x)
            x = F.relu(summed(h.index_select(0, source) * weight, target, x.shape[0], width) + h / degree.unsqueeze(1))
        return x


class EdgeGat(nn.Module):
    """Softmax over the edges that end in a node: sums by scattering, the greatest over all edges taken off."""

    def __init__(self):
        super().__init__()
        self.project, self.left, self.right = nn.Linear(7, 10), nn.Linear(10, 1), nn.Linear(10, 1)

    def forward(self, x, edges):
        source, target = edges[0], edges[1]
        h = self.project(x)
        scores = F.leaky_relu(self.left(h).index_select(0, source) + self.right(h).index_select(0, target), 0.2)
        e = torch.exp(scores - scores.max())
        weight = e / (summed(e, target, x.shape[0], 1).index_select(0, target) + 1e-16)
        return F.elu(summed(weight * h.index_select(0, source), target, x.shape[0], 10))


class GraphSage(nn.Module):
    """The mean of sampled neighbours, then a norm; and a score for each pair of nodes."""

    def __init__(self):
        super().__init__()
        self.own, self.near, self.last = nn.Linear(7, 12), nn.Linear(7, 12, False), nn.Linear(24, 8)

    def forward(self, x, neighbours, pairs):
        near = x[neighbours].mean(1)
        h = F.normalize(F.relu(torch.cat([self.own(x), self.near(near)], 1)), dim=1)
        h = self.last(h)
        return h, torch.sigmoid((h[pairs[:, 0]] * h[pairs[:, 1]]).sum(1))


class MessagePassing(nn.Module):
    """Messages from edge features, a GRU cell over nodes, sums over the nodes of each graph."""

    def __init__(self, c=8):
        super().__init__()
        self.embed, self.edge, self.cell = nn.Embedding(6, c), mlp(3, 16, c * c), nn.GRUCell(c, c)
        self.head, self.c = mlp(c, 8, 1), c

    def forward(self, atoms, edges, bonds, graph):
        h = self.embed(atoms)
        matrix = self.edge(bonds).view(-1, self.c, self.c)
        for _ in range(2):
            message = torch.bmm(matrix, h[edges[0]].unsqueeze(2)).squeeze(2)
            h = self.cell(summed(message, edges[1], h.shape[0], self.c), h)
        return self.head(summed(h, graph, 3, self.c)), h


class SchNet(nn.Module):
    """Distances of atoms, Gaussians of them, continuous filters, an energy."""

    def __init__(self, c=10):
        super().__init__()
        self.embed, self.filter, self.mix = nn.Embedding(6, c), mlp(12, c, c, activation=nn.Softplus), nn.Linear(c, c)
        self.head = mlp(c, 6, 1, activation=nn.Softplus)
        self.register_buffer("centres", torch.linspace(0, 5, 12))

    def forward(self, atoms, places):
        far = (places.unsqueeze(2) - places.unsqueeze(1)).pow(2).sum(-1)
        far = torch.sqrt(far + 1e-8)
        smooth = 0.5 * (torch.cos(far * torch.pi / 5) + 1) * (far < 5).float()
        w = self.filter(torch.exp(-10 * (far.unsqueeze(-1) - self.centres) ** 2)) * smooth.unsqueeze(-1)
        h = self.embed(atoms)
        h = h + self.mix((w * h.unsqueeze(1)).sum(2))
        return self.head(h).sum((1, 2))


class PointNet(nn.Module):
    """A learned map of the points, layers shared by them, the greatest of each feature."""

    def __init__(self):
        super().__init__()
        self.turn, self.l1 = mlp(3, 16, 9), nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU())
        self.l2 = nn.Sequential(nn.Conv1d(16, 32, 1), nn.BatchNorm1d(32))
        self.head = nn.Conv1d(48, 4, 1)

    def forward(self, x):
        turn = self.turn(x.max(2)[0]).view(-1, 3, 3) + torch.eye(3)
        x = self.l1(torch.bmm(x.transpose(2, 1), turn).transpose(2, 1))
        whole = self.l2(x).max(2, keepdim=True)[0].repeat(1, 1, x.shape[2])
        return F.log_softmax(self.head(torch.cat([x, whole], 1)).transpose(2, 1), -1)


class EdgeConv(nn.Module):
    """DGCNN: the nearest points by distances, edge features, the greatest over neighbours."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Sequential(nn.Conv2d(6, 16, 1, bias=False), nn.BatchNorm2d(16), nn.LeakyReLU(0.2))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        n, c, p = x.shape
        square = (x * x).sum(1, keepdim=True)
        near = (2 * x.transpose(1, 2) @ x - square - square.transpose(1, 2)).topk(5, dim=-1)[1]
        rows = x.transpose(1, 2)
        there = rows.gather(1, near.view(n, p * 5, 1).expand(-1, -1, c)).view(n, p, 5, c)
        here = rows.unsqueeze(2).expand(-1, -1, 5, -1)
        return self.head(self.layer(torch.cat([there - here, here], 3).permute(0, 3, 1, 2)).max(-1)[0].mean(2))


class PointSets(nn.Module):
    """PointNet++: farthest points one by one, the points nearest to them, three-point interpolation back."""

    def __init__(self):
        super().__init__()
        self.local, self.head = mlp(3, 12, 12), mlp(15, 8, 4)

    def forward(self, x):
        n, p, _ = x.shape
        far, chosen = torch.full((n, p), 1e10), [torch.zeros(n, 1, dtype=torch.long)]
        for _ in range(5):
            centre = x.gather(1, chosen[-1].unsqueeze(-1).expand(-1, -1, 3))
            far = torch.minimum(far, ((x - centre) ** 2).sum(-1))
            chosen.append(far.argmax(1, keepdim=True))
        centres = x.gather(1, torch.cat(chosen, 1).unsqueeze(-1).expand(-1, -1, 3))
        distance = ((x.unsqueeze(1) - centres.unsqueeze(2)) ** 2).sum(-1)
        near = distance.topk(4, dim=2, largest=False)[1]
        group = x.unsqueeze(1).expand(-1, 6, -1, -1).gather(2, near.unsqueeze(-1).expand(-1, -1, -1, 3)) - centres.unsqueeze(2)
        feature = self.local(group).max(2)[0]
        value, where = distance.transpose(1, 2).topk(3, dim=2, largest=False)
        weight = 1 / (value + 1e-2)
        weight = weight / weight.sum(2, keepdim=True)
        back = feature.unsqueeze(1).expand(-1, p, -1, -1).gather(2, where.unsqueeze(-1).expand(-1, -1, -1, 12))
        return self.head(torch.cat([x, (back * weight.unsqueeze(-1)).sum(2)], 2))


def dense_graph(batch):
    upper = (torch.rand(batch, 11, 11) > 0.6).float().triu(1)
    return torch.randn(batch, 11, 7), upper + upper.transpose(1, 2)


def edge_graph(batch):
    return torch.randn(13 * batch, 7), torch.randint(0, 13 * batch, (2, 40 * batch))


EDGES = ({0: "nodes"}, {1: "edges"}, {0: "edges"}, {0: "nodes"})
MODELS = {
    "gcn_dense": Architecture(DenseGcn, dense_graph, ({0: "n", 1: "nodes"}, {0: "n", 1: "nodes", 2: "nodes"})),
    "gat_dense": Architecture(DenseGat, dense_graph, first_opset=12),
    "gcn_edges": Architecture(EdgeGcn, edge_graph, EDGES, first_opset=16),
    "gat_edges": Architecture(EdgeGat, edge_graph, None, first_opset=16),
    "graph_sage": Architecture(GraphSage, lambda batch: (
        torch.randn(13, 7), torch.randint(0, 13, (13, 4)), torch.randint(0, 13, (6 * batch, 2))), ({0: "nodes"}, {0: "nodes"},
                {0: "pairs"})),
    "message_passing": Architecture(MessagePassing, lambda batch: (
        torch.randint(0, 6, (12,)), torch.randint(0, 12, (2, 20 * batch)), torch.randn(20 * batch, 3),
        torch.tensor([0] * 5 + [1] * 3 + [2] * 4)), None, first_opset=16),
    "schnet": Architecture(SchNet, lambda batch: (torch.randint(0, 6, (batch, 8)), torch.randn(batch, 8, 3) * 2)),
    "point_net": Architecture(PointNet, noise(3, 37), ({0: "n", 2: "points"},)),
    "edge_convolution": Architecture(EdgeConv, noise(3, 31)),
    "point_sets": Architecture(PointSets, noise(23, 3)),
}
