# SPDX-License-Identifier: Apache-2.0
"""Networks over pictures that torchvision has not: segmentation, generators, super-resolution, poses, one-shot detection."""
import torch
import torch.nn.functional as F
from torch import nn

from .common import Architecture, mlp, noise, picture


class UNet(nn.Module):
    """Two levels, transposed convolutions upwards, skips concatenated, GroupNorm inside."""

    def __init__(self):
        super().__init__()
        self.down1, self.down2 = self.block(3, 8), self.block(8, 16)
        self.middle = self.block(16, 32)
        self.up2, self.up1 = nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 3, 2, 1, output_padding=1)
        self.join2, self.join1 = self.block(32, 16), self.block(16, 8)
        self.head = nn.Conv2d(8, 2, 1)

    @staticmethod
    def block(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU(), nn.Conv2d(o, o, 3, padding=1),
                             nn.InstanceNorm2d(o, affine=True), nn.LeakyReLU(0.1))

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.middle(F.max_pool2d(b, 2))
        c = self.join2(torch.cat([self.up2(c), b], 1))
        return self.head(self.join1(torch.cat([self.up1(c), a], 1)))


class Segmenter(nn.Module):
    """Dilated convolutions, pyramid pooling, every upsampling that PyTorch exports."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 2, 1)
        self.wide = nn.Conv2d(16, 16, 3, padding=4, dilation=4, groups=4)
        self.pool = nn.Conv2d(16, 16, 1)
        self.head = nn.Conv2d(48, 5, 1)

    def forward(self, x):
        y = F.hardswish(self.stem(x))
        pooled = F.interpolate(self.pool(F.adaptive_avg_pool2d(y, 1)), size=y.shape[2:], mode="nearest")
        half = F.interpolate(F.avg_pool2d(y, 2, ceil_mode=True, count_include_pad=False), size=y.shape[2:],
                             mode="bilinear", align_corners=True)
        y = self.head(torch.cat([self.wide(y), pooled, half], 1))
        y = F.interpolate(y, size=x.shape[2:], mode="bilinear", align_corners=False)
        return F.interpolate(y, scale_factor=2, mode="bicubic", align_corners=False)


class Generator(nn.Module):
    """DCGAN's."""

    def __init__(self):
        super().__init__()
        layers, sizes = [], [64, 64, 32, 16, 3]
        for k, (i, o) in enumerate(zip(sizes, sizes[1:])):
            layers += [nn.ConvTranspose2d(i, o, 4, 1 if k == 0 else 2, 0 if k == 0 else 1, bias=False)]
            layers += [nn.BatchNorm2d(o), nn.ReLU()] if k < 3 else [nn.Tanh()]
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1, bias=False), nn.LeakyReLU(0.2),
                                    nn.Conv2d(16, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.LeakyReLU(0.2),
                                    nn.Conv2d(32, 1, 8, 1, 0, bias=False), nn.Sigmoid())

    def forward(self, x):
        return self.layers(x).view(-1)


class NasnetCell(nn.Module):
    """The kinds of branch of a NASNet-A cell: separable convolutions, pools, identity, all joined."""

    def __init__(self, c=12):
        super().__init__()
        self.stem = nn.Conv2d(3, c, 3, 2, 1)
        self.separable = nn.ModuleList(
            nn.Sequential(nn.ReLU(), nn.Conv2d(c, c, k, padding=k // 2, groups=c, bias=False), nn.Conv2d(c, c, 1, bias=False),
                          nn.BatchNorm2d(c, eps=1e-3)) for k in (3, 5, 7, 3, 5))
        self.head = nn.Linear(6 * c, 10)

    def forward(self, x):
        h = self.stem(x)
        p = F.pad(h, (0, 1, 0, 1))[:, :, 1:, 1:]
        a, b, c, d, e = (layer(h) for layer in self.separable)
        y = torch.cat([a + h, b + c, F.avg_pool2d(h, 3, 1, 1, count_include_pad=False) + p, d + F.max_pool2d(h, 3, 1, 1),
                       e, p], 1)
        return self.head(F.relu(y).mean((2, 3)))


class Oddments(nn.Module):
    """Operators that architectures use here and there."""

    def forward(self, x):
        n, c, h, w = x.shape
        y = F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2)[:, :, ::2, 1::2]
        y = F.mish(y) + F.celu(y, 0.7) + F.hardsigmoid(y) * F.softsign(y) + F.glu(torch.cat([y, x], 1), 1).sum(1, keepdim=True)
        y = F.local_response_norm(y, 3) + F.instance_norm(x) + F.normalize(x, dim=1)
        y = y + torch.cumsum(x, 2) + torch.tril(x) + x.std(1, keepdim=True) + torch.logsumexp(x, 1, keepdim=True)
        top, where = torch.topk(y.flatten(1), 5, dim=1)
        grid = torch.stack([torch.arange(w).expand(h, w), torch.arange(h).view(h, 1).expand(h, w)]).float()
        masked = y.masked_fill(x > 1.0, -2.0) + grid.sum(0) / (h * w)
        return masked, top, where, y.argmax(1), torch.einsum("nchw,ndhw->ncd", x, y), F.one_hot(y.argmax(1), c)


class Espcn(nn.Module):
    """Super-resolution by sub-pixels, by an odd factor."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.Tanh(), nn.Conv2d(16, 8, 3, padding=1), nn.Tanh(),
                                    nn.Conv2d(8, 9, 3, padding=1), nn.PixelShuffle(3))

    def forward(self, x):
        return self.layers(x)


class Srgan(nn.Module):
    """Residual blocks with PReLU of one weight for each channel, upsampled twice."""

    def __init__(self, c=12):
        super().__init__()
        self.head = nn.Sequential(nn.Conv2d(3, c, 9, padding=4), nn.PReLU())
        self.blocks = nn.ModuleList(nn.Sequential(
            nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c), nn.PReLU(c), nn.Conv2d(c, c, 3, padding=1,
                    bias=False),
            nn.BatchNorm2d(c)) for _ in range(2))
        self.up = nn.Sequential(*[part for _ in range(2) for part in (
            nn.Conv2d(c, 4 * c, 3, padding=1), nn.PixelShuffle(2), nn.PReLU())])
        self.tail = nn.Conv2d(c, 3, 9, padding=4)

    def forward(self, x):
        h = first = self.head(x)
        for block in self.blocks:
            h = h + block(h)
        return torch.tanh(self.tail(self.up(h + first)))


class Hourglass(nn.Module):
    """Recursive down and up, heat maps, and the expected position of each joint."""

    def __init__(self, depth=3, c=16, joints=5):
        super().__init__()
        self.stem = nn.Conv2d(3, c, 7, 2, 3)
        self.skips, self.downs, self.ups = (nn.ModuleList(self.block(c) for _ in range(depth)) for _ in range(3))
        self.middle, self.head = self.block(c), nn.Conv2d(c, joints, 1)

    @staticmethod
    def block(c):
        return nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, c // 2, 1), nn.ReLU(),
                             nn.Conv2d(c // 2, c, 3, padding=1))

    def level(self, x, k):
        if k == len(self.skips):
            return x + self.middle(x)
        inner = self.level(self.downs[k](F.max_pool2d(x, 2)), k + 1)
        return self.skips[k](x) + F.interpolate(self.ups[k](inner), scale_factor=2.0, mode="nearest")

    def forward(self, x):
        maps = 8 * self.head(self.level(self.stem(x), 0))
        weight = torch.softmax(maps.flatten(2), 2).view_as(maps)
        rows = torch.linspace(-1, 1, maps.shape[2])
        columns = torch.linspace(-1, 1, maps.shape[3])
        return maps, torch.stack([(weight.sum(2) * columns).sum(2), (weight.sum(3) * rows).sum(2)], 2)


class Yolo(nn.Module):
    """A stem that gathers pixels, a cross-stage block, pyramid pooling, two scales, boxes decoded on a grid."""

    def __init__(self, c=12, classes=3):
        super().__init__()
        self.stem, self.down1, self.down2 = self.conv(12, c, 3), self.conv(c, 2 * c, 3, 2), self.conv(2 * c, 2 * c, 3, 2)
        self.split, self.bottle = self.conv(2 * c, 2 * c, 1), self.conv(c, c, 3)
        self.join, self.spread = self.conv(3 * c, 2 * c, 1), self.conv(8 * c, 2 * c, 1)
        self.lateral = self.conv(4 * c, 2 * c, 1)
        self.heads = nn.ModuleList(nn.Conv2d(2 * c, 3 * (5 + classes), 1) for _ in range(2))
        self.register_buffer("anchors", torch.tensor([[[3., 4], [6, 5], [8, 9]], [[12., 10], [16, 22], [30, 28]]]))

    @staticmethod
    def conv(i, o, k, s=1):
        return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o, eps=1e-3), nn.SiLU())

    def decode(self, x, anchors, stride):
        n, _, h, w = x.shape
        x = x.view(n, 3, -1, h, w).permute(0, 1, 3, 4, 2).sigmoid()
        y, column = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack([column, y], 2).view(1, 1, h, w, 2).float()
        centre = (x[..., :2] * 2 - 0.5 + grid) * stride
        size = (x[..., 2:4] * 2) ** 2 * anchors.view(1, 3, 1, 1, 2)
        return torch.cat([centre, size, x[..., 4:]], -1).view(n, -1, x.shape[-1])

    def forward(self, x):
        x = torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1)
        x = self.down1(self.stem(x))
        a, b = self.split(x).chunk(2, 1)
        x = self.join(torch.cat([a, b, b + self.bottle(b)], 1))
        deep = self.down2(x)
        pools = [deep]
        for _ in range(3):
            pools.append(F.max_pool2d(pools[-1], 5, 1, 2))
        deep = self.spread(torch.cat(pools, 1))
        x = self.lateral(torch.cat([x, F.interpolate(deep, scale_factor=2, mode="nearest")], 1))
        return torch.cat([self.decode(self.heads[0](x), self.anchors[0], 4),
                          self.decode(self.heads[1](deep), self.anchors[1], 8)], 1)


class Style(nn.Module):
    """Style transfer: reflected borders, instance normalisation, nearest upsampling."""

    def __init__(self, c=8):
        super().__init__()
        self.layers = nn.Sequential(
            nn.ReflectionPad2d(4), nn.Conv2d(3, c, 9), nn.InstanceNorm2d(c, affine=True), nn.ReLU(),
            nn.ReflectionPad2d(1), nn.Conv2d(c, 2 * c, 3, 2), nn.InstanceNorm2d(2 * c, affine=True), nn.ReLU(),
            nn.ReplicationPad2d(1), nn.Conv2d(2 * c, 2 * c, 3), nn.InstanceNorm2d(2 * c), nn.ELU(),
            nn.Upsample(scale_factor=2, mode="nearest"), nn.ReflectionPad2d(1), nn.Conv2d(2 * c, 3, 3))

    def forward(self, x):
        return self.layers(x)


class Unet3d(nn.Module):
    """Volumes: 3-d convolutions, pools, transposed convolutions and trilinear upsampling."""

    def __init__(self, c=6):
        super().__init__()
        self.a, self.b, self.c = self.block(1, c), self.block(c, 2 * c), self.block(5 * c, c)
        self.up, self.deep, self.head = nn.ConvTranspose3d(2 * c, 2 * c, 2, 2), self.block(2 * c, 2 * c), nn.Conv3d(c, 2, 1)

    @staticmethod
    def block(i, o):
        return nn.Sequential(nn.Conv3d(i, o, 3, padding=1), nn.BatchNorm3d(o), nn.ReLU())

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool3d(a, 2))
        deep = F.interpolate(self.deep(F.avg_pool3d(b, 2)), scale_factor=2, mode="trilinear", align_corners=False)
        return self.head(self.c(torch.cat([self.up(b), F.interpolate(deep, size=a.shape[2:], mode="nearest"), a], 1)))


class SpatialTransformer(nn.Module):
    """Predicts an affine map and samples the picture by it."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 7), nn.MaxPool2d(2), nn.ReLU(), nn.AdaptiveAvgPool2d(3))
        self.map, self.classify = mlp(72, 16, 6), nn.Sequential(nn.Conv2d(1, 8, 5), nn.ReLU(), nn.AdaptiveMaxPool2d(1))
        self.head = nn.Linear(8, 10)
        self.register_buffer("identity", torch.tensor([1.0, 0, 0, 0, 1, 0]))

    def forward(self, x):
        n, _, h, w = x.shape
        theta = (0.2 * self.map(self.features(x).flatten(1)) + self.identity).view(n, 2, 3)
        y, column = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
        points = torch.stack([column, y, torch.ones_like(y)], -1).view(1, h * w, 3)
        grid = (points @ theta.transpose(1, 2)).view(n, h, w, 2)
        warped = F.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=True)
        cubic = F.grid_sample(x, grid, mode="bicubic", padding_mode="reflection", align_corners=False)
        return self.head(self.classify(warped).flatten(1)), cubic


class Capsules(nn.Module):
    """Capsules with two rounds of routing by agreement."""

    def __init__(self, primary=8, size=4, classes=5, wide=6):
        super().__init__()
        self.stem, self.primary = nn.Conv2d(1, 16, 5, 2), nn.Conv2d(16, primary * size, 5, 2)
        self.size, self.weight = size, nn.Parameter(0.3 * torch.randn(primary * 9, classes, size, wide))

    @staticmethod
    def squash(x):
        square = (x * x).sum(-1, keepdim=True)
        return square / (1 + square) * x / torch.sqrt(square + 1e-8)

    def forward(self, x):
        x = self.primary(F.relu(self.stem(x)))
        u = self.squash(x.view(x.shape[0], self.size, -1).transpose(1, 2))
        votes = torch.einsum("nis,icsw->nicw", u, self.weight)
        logits = torch.zeros_like(votes[..., 0])
        for k in range(2):
            v = self.squash((torch.softmax(logits, 2).unsqueeze(-1) * votes).sum(1))
            logits = logits + (votes * v.unsqueeze(1)).sum(-1)
        return v.norm(dim=-1), v


class VqVae(nn.Module):
    """Encodes, takes the nearest code of a table, decodes."""

    def __init__(self, c=8, codes=24):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(3, c, 4, 2, 1), nn.ReLU(), nn.Conv2d(c, c, 4, 2, 1))
        self.table = nn.Embedding(codes, c)
        self.decode = nn.Sequential(nn.ConvTranspose2d(c, c, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(c, 3, 4, 2, 1),
                                    nn.Sigmoid())

    def forward(self, x):
        z = self.encode(x).permute(0, 2, 3, 1)
        rows = z.reshape(-1, z.shape[-1])
        distance = rows.pow(2).sum(1, keepdim=True) - 2 * rows @ self.table.weight.t() + self.table.weight.pow(2).sum(1)
        code = distance.argmin(1)
        q = self.table(code).view(z.shape).permute(0, 3, 1, 2)
        return self.decode(q), code.view(z.shape[:3])


class Crnn(nn.Module):
    """Reads text in pictures: convolutions, columns as a sequence, two LSTMs both ways."""

    def __init__(self, c=16, letters=11):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(c, c, 3, padding=1),
                                    nn.BatchNorm2d(c), nn.ReLU(), nn.MaxPool2d((2, 1), (2, 1)), nn.Conv2d(c, c,
                                            (4, 2)), nn.ReLU())
        self.cell, self.head = nn.LSTM(c, 12, 2, bidirectional=True), nn.Linear(24, letters)

    def forward(self, x):
        x = self.layers(x).squeeze(2).permute(2, 0, 1)
        return F.log_softmax(self.head(self.cell(x)[0]), 2)


class Attentive(nn.Module):
    """Squeeze-and-excite, attention over channels and places (CBAM), ghost features, selective kernels."""

    def __init__(self, c=12):
        super().__init__()
        self.stem, self.gate, self.place = nn.Conv2d(3, c, 3, 2, 1), mlp(c, 4, c), nn.Conv2d(2, 1, 7, padding=3)
        self.cheap = nn.Conv2d(c, c, 3, padding=1, groups=c)
        self.kernels = nn.ModuleList(nn.Conv2d(2 * c, c, 3, padding=d, dilation=d, groups=4) for d in (1, 2))
        self.choose, self.head = nn.Linear(c, 2 * c), nn.Linear(c, 7)

    def forward(self, x):
        x = self.stem(x)
        gate = torch.sigmoid(self.gate(x.mean((2, 3))) + self.gate(x.amax((2, 3))))
        x = x * gate[:, :, None, None]
        x = x * torch.sigmoid(self.place(torch.cat([x.mean(1, keepdim=True), x.max(1, keepdim=True)[0]], 1)))
        x = torch.cat([x, self.cheap(x)], 1)
        parts = torch.stack([F.relu6(kernel(x)) for kernel in self.kernels], 1)
        weight = torch.softmax(self.choose(parts.sum(1).mean((2, 3))).view(x.shape[0], 2, -1), 1)
        return self.head((parts * weight[..., None, None]).sum(1).mean((2, 3)))


class HighResolution(nn.Module):
    """HRNet's exchange between resolutions, and a pixel decoder that joins them."""

    def __init__(self, c=8):
        super().__init__()
        self.stem, self.lower = nn.Conv2d(3, c, 3, 2, 1), nn.Conv2d(c, 2 * c, 3, 2, 1)
        self.high, self.low = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(2 * c, 2 * c, 3, padding=1)
        self.down, self.up = nn.Conv2d(c, 2 * c, 3, 2, 1), nn.Conv2d(2 * c, c, 1)
        self.head = nn.Conv2d(3 * c, 4, 1)

    def forward(self, x):
        high = F.relu(self.stem(x))
        low = F.relu(self.lower(high))
        high, low = F.relu(self.high(high)), F.relu(self.low(low))
        exchanged = high + F.interpolate(self.up(low), size=high.shape[2:], mode="bilinear", align_corners=False)
        low = F.relu(low + self.down(high))
        low = F.interpolate(low, size=high.shape[2:], mode="bilinear", align_corners=False)
        return self.head(torch.cat([exchanged, low], 1)).argmax(1), self.head(torch.cat([exchanged, low], 1))


class Siamese(nn.Module):
    """One encoder for two pictures; the cosine, a correlation over shifts, and a contrast by distance."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 5, 2), nn.SELU(), nn.MaxPool2d(3, 2, ceil_mode=True), nn.Conv2d(8, 16, 3))

    def forward(self, a, b):
        x, y = self.encoder(a), self.encoder(b)
        u, v = x.mean((2, 3)), y.mean((2, 3))
        shifted = F.unfold(y, 3, padding=1).view(y.shape[0], y.shape[1], 9, *y.shape[2:])
        return F.cosine_similarity(u, v), (x.unsqueeze(2) * shifted).mean(1), F.pairwise_distance(u, v)


def two_pictures(batch):
    return torch.randn(batch, 3, 33, 35), torch.randn(batch, 3, 33, 35)


PLACES = ({0: "n", 2: "h", 3: "w"},)
MODELS = {
    "unet": Architecture(UNet, noise(3, 28, 36)),
    "unet3d": Architecture(Unet3d, noise(1, 8, 12, 16), first_opset=11),
    "segmenter": Architecture(Segmenter, picture(45), PLACES),
    "high_resolution": Architecture(HighResolution, picture(45), PLACES, first_opset=11),
    "generator": Architecture(Generator, noise(64, 1, 1)),
    "discriminator": Architecture(Discriminator, noise(3, 32, 32)),
    "espcn": Architecture(Espcn, picture(19, 1), PLACES),
    "srgan": Architecture(Srgan, picture(17), PLACES),
    "style_transfer": Architecture(Style, noise(3, 30, 34)),
    "hourglass": Architecture(Hourglass, noise(3, 64, 48)),
    "yolo": Architecture(Yolo, noise(3, 64, 96)),
    "nasnet_cell": Architecture(NasnetCell, picture(33)),
    "attentive_convolutions": Architecture(Attentive, picture(27)),
    "spatial_transformer": Architecture(SpatialTransformer, noise(1, 30, 30), first_opset=16),
    "capsules": Architecture(Capsules, noise(1, 22, 22), first_opset=12),
    "vq_vae": Architecture(VqVae, noise(3, 20, 28)),
    "crnn": Architecture(Crnn, noise(1, 16, 41)),
    "siamese": Architecture(Siamese, two_pictures),
    "oddments": Architecture(Oddments, noise(4, 7, 9)),
}
