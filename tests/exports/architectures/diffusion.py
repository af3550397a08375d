# SPDX-License-Identifier: Apache-2.0
"""Networks of diffusion models: noise predictors over pictures and patches, a decoder of latents, text conditioning, audio."""
import torch
import torch.nn.functional as F
from torch import nn

from .common import Architecture, attend, heads, joined, mlp, tokens


def time_embedding(t, width):
    angle = t.float()[:, None] * torch.exp(-torch.arange(width // 2).float() * (9.21 / (width // 2)))
    return torch.cat([angle.cos(), angle.sin()], 1)


class ResBlock(nn.Module):
    """GroupNorm, SiLU, convolution, twice; the time is added between."""

    def __init__(self, i, o, time=None):
        super().__init__()
        self.n1, self.c1, self.n2 = nn.GroupNorm(4, i), nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o)
        self.c2 = nn.Conv2d(o, o, 3, padding=1)
        self.time = nn.Linear(time, o) if time else None
        self.short = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x, t=None):
        h = self.c1(F.silu(self.n1(x)))
        if t is not None:
            h = h + self.time(F.silu(t))[:, :, None, None]
        return self.short(x) + self.c2(F.silu(self.n2(h)))


class CrossBlock(nn.Module):
    """Self attention over places, cross attention to a text, a gated feed-forward layer."""

    def __init__(self, c, text, count=2):
        super().__init__()
        self.enter, self.n0, self.leave = nn.Conv2d(c, c, 1), nn.GroupNorm(4, c, eps=1e-6), nn.Conv2d(c, c, 1)
        self.count = count
        self.norms = nn.ModuleList(nn.LayerNorm(c) for _ in range(3))
        self.q, self.k, self.v, self.o = (nn.ModuleList(nn.Linear(i, c, bias=False) for i in sizes)
                                          for sizes in ((c, c), (c, text), (c, text), (c, c)))
        self.gate, self.down = nn.Linear(c, 8 * c), nn.Linear(4 * c, c)

    def forward(self, x, text):
        n, c, h, w = x.shape
        y = self.enter(self.n0(x)).permute(0, 2, 3, 1).reshape(n, h * w, c)
        for k in range(2):
            z = self.norms[k](y)
            other = text if k else z
            q, key, value = (heads(layer[k](source), self.count) for layer,
                             source in ((self.q, z), (self.k, other), (self.v, other)))
            y = y + self.o[k](joined(attend(q, key, value)))
        a, b = self.gate(self.norms[2](y)).chunk(2, -1)
        y = y + self.down(a * F.gelu(b))
        return x + self.leave(y.reshape(n, h, w, c).permute(0, 3, 1, 2))


class NoisePredictor(nn.Module):
    """Stable Diffusion's U-Net with two levels."""

    def __init__(self, c=16, text=20):
        super().__init__()
        self.c, t = c, 4 * c
        self.time, self.stem = mlp(c, t, t, activation=nn.SiLU), nn.Conv2d(4, c, 3, padding=1)
        self.a, self.attend_a, self.down = ResBlock(c, c, t), CrossBlock(c, text), nn.Conv2d(c, c, 3, 2, 1)
        self.b, self.attend_b, self.middle = ResBlock(c, 2 * c, t), CrossBlock(2 * c, text), ResBlock(2 * c, 2 * c, t)
        self.up, self.d, self.attend_d = nn.Conv2d(2 * c, 2 * c, 3, padding=1), ResBlock(3 * c, c, t), CrossBlock(c, text)
        self.norm, self.head = nn.GroupNorm(4, c), nn.Conv2d(c, 4, 3, padding=1)

    def forward(self, x, time, text):
        t = self.time(time_embedding(time, self.c))
        a = self.attend_a(self.a(self.stem(x), t), text)
        b = self.middle(self.attend_b(self.b(self.down(a), t), text), t)
        up = self.up(F.interpolate(b, scale_factor=2.0, mode="nearest"))
        return self.head(F.silu(self.norm(self.attend_d(self.d(torch.cat([up, a], 1), t), text))))


class LatentDecoder(nn.Module):
    """The decoder of a VAE: attention of one head at the bottom, upsampled twice; clipped to a picture of bytes."""

    def __init__(self, c=16):
        super().__init__()
        self.enter, self.stem = nn.Conv2d(4, 4, 1), nn.Conv2d(4, 2 * c, 3, padding=1)
        self.a, self.norm, self.qkv = ResBlock(2 * c, 2 * c), nn.GroupNorm(4, 2 * c), nn.Conv2d(2 * c, 6 * c, 1)
        self.o = nn.Conv2d(2 * c, 2 * c, 1)
        self.b = nn.ModuleList([ResBlock(2 * c, c), ResBlock(c, c)])
        self.up = nn.ModuleList(nn.Conv2d(c, c, 3, padding=1) for _ in range(2))
        self.last, self.head = nn.GroupNorm(4, c), nn.Conv2d(c, 3, 3, padding=1)

    def forward(self, z):
        x = self.a(self.stem(self.enter(z / 0.18215)))
        n, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).flatten(2).transpose(1, 2).chunk(3, -1)
        x = x + self.o(attend(q, k, v).transpose(1, 2).reshape(n, c, h, w))
        for block, up in zip(self.b, self.up):
            x = up(F.interpolate(block(x), scale_factor=2.0, mode="nearest"))
        x = self.head(F.silu(self.last(x)))
        return x, ((x / 2 + 0.5).clamp(0, 1) * 255).round()


class LatentEncoder(nn.Module):
    """The encoder: padded on one side before each stride, mean and clamped logarithm of the variance."""

    def __init__(self, c=8):
        super().__init__()
        self.stem, self.blocks = nn.Conv2d(3, c, 3, padding=1), nn.ModuleList([ResBlock(c, 2 * c), ResBlock(2 * c, 2 * c)])
        self.down, self.head = nn.ModuleList(nn.Conv2d(2 * c, 2 * c, 3, 2) for _ in range(2)), nn.Conv2d(2 * c, 8, 1)

    def forward(self, x, noise):
        x = self.stem(x)
        for block, down in zip(self.blocks, self.down):
            x = down(F.pad(block(x), (0, 1, 0, 1)))
        mean, spread = self.head(x).chunk(2, 1)
        return mean + torch.exp(0.5 * spread.clamp(-30, 20)) * noise


class PatchDiffusion(nn.Module):
    """A transformer over patches (DiT): norms without weights, scaled and shifted by time and class, gates."""

    def __init__(self, c=24, count=3):
        super().__init__()
        self.patch, self.label = nn.Conv2d(4, c, 2, 2), nn.Embedding(11, c)
        self.time, self.count = mlp(16, c, c, activation=nn.SiLU), count
        self.place = nn.Parameter(0.1 * torch.randn(1, 24, c))
        self.register_buffer("ones", torch.ones(c))
        self.change, self.qkv, self.o = nn.Linear(c, 6 * c), nn.Linear(c, 3 * c), nn.Linear(c, c)
        self.feed, self.last, self.head = mlp(c, 4 * c, c, activation=lambda: nn.GELU()), nn.Linear(c, 2 * c), nn.Linear(c, 16)

    def norm(self, x):
        return F.layer_norm(x, (24,), self.ones, None, 1e-6)

    def forward(self, x, time, label):
        n, _, h, w = x.shape
        x = self.patch(x).flatten(2).transpose(1, 2) + self.place
        c = F.silu(self.time(time_embedding(time, 16)) + self.label(label))
        s1, k1, g1, s2, k2, g2 = self.change(c).unsqueeze(1).chunk(6, -1)
        q, k, v = (heads(part, self.count) for part in self.qkv(self.norm(x) * (1 + k1) + s1).chunk(3, -1))
        x = x + g1 * self.o(joined(attend(q, k, v)))
        x = x + g2 * self.feed(self.norm(x) * (1 + k2) + s2)
        shift, scale = self.last(c).unsqueeze(1).chunk(2, -1)
        x = self.head(self.norm(x) * (1 + scale) + shift)
        return torch.einsum("nhwpqc->nchpwq", x.view(n, h // 2, w // 2, 2, 2, 4)).reshape(n, 4, h, w)


class TextEncoder(nn.Module):
    """CLIP's: causal attention, Gelu by a sigmoid, the state at the last token, and similarities to pictures."""

    def __init__(self, width=24, count=3):
        super().__init__()
        self.embed, self.place, self.count = nn.Embedding(50, width), nn.Parameter(torch.randn(16, width)), count
        self.n1, self.n2, self.n3 = (nn.LayerNorm(width) for _ in range(3))
        self.qkv, self.o, self.up = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Linear(width, 64)
        self.down = nn.Linear(64, width)
        self.project, self.scale = nn.Linear(width, 12, bias=False), nn.Parameter(torch.tensor(2.0))

    def forward(self, tokens, pictures):
        t = tokens.shape[1]
        x = self.embed(tokens) + self.place[:t]
        bias = torch.full((t, t), float("-inf")).triu(1)
        x = x + self.o(joined(attend(*(heads(part, self.count) for part in self.qkv(self.n1(x)).chunk(3, -1)), bias)))
        h = self.up(self.n2(x))
        x = self.n3(x + self.down(h * torch.sigmoid(1.702 * h)))
        pooled = self.project(x[torch.arange(x.shape[0]), tokens.argmax(-1)])
        a, b = (y / y.norm(dim=-1, keepdim=True) for y in (pooled, pictures))
        return x, self.scale.exp() * a @ b.t()


class Denoiser1d(nn.Module):
    """Dance Diffusion's shape: 1-d residual blocks, Fourier features of time, strided down, linear up, snake activations."""

    def __init__(self, c=12):
        super().__init__()
        self.register_buffer("frequencies", torch.randn(8))
        self.stem, self.down = nn.Conv1d(18, c, 5, padding=2), nn.Conv1d(c, 2 * c, 4, 2, 1)
        self.up = nn.ConvTranspose1d(2 * c, c, 4, 2, 1)
        self.middle, self.norm = nn.Conv1d(2 * c, 2 * c, 3, padding=2, dilation=2), nn.GroupNorm(1, 2 * c)
        self.alpha, self.head = nn.Parameter(torch.rand(c) + 0.5), nn.Conv1d(2 * c, 2, 3, padding=1)

    def forward(self, x, time):
        angle = 2 * torch.pi * time[:, None] * self.frequencies
        condition = torch.cat([angle.cos(), angle.sin()], 1).unsqueeze(2).expand(-1, -1, x.shape[2])
        a = self.stem(torch.cat([x, condition], 1))
        alpha = self.alpha[:, None]
        a = a + torch.sin(alpha * a) ** 2 / alpha
        b = F.gelu(self.norm(self.middle(self.down(a))))
        b = b + F.interpolate(F.avg_pool1d(b, 2), scale_factor=2, mode="linear", align_corners=False)
        return self.head(torch.cat([self.up(b), a], 1))


MODELS = {
    "noise_predictor": Architecture(NoisePredictor, lambda batch: (
        torch.randn(batch, 4, 12, 16), torch.randint(0, 1000, (batch,)), torch.randn(batch, 7, 20)),
        ({0: "n"}, {0: "n"}, {0: "n", 1: "t"})),
    "latent_decoder": Architecture(LatentDecoder, lambda batch: (0.2 * torch.randn(batch, 4, 7, 9),),
                                   ({0: "n", 2: "h", 3: "w"},)),
    "latent_encoder": Architecture(LatentEncoder, lambda batch: (torch.randn(batch, 3, 24, 28), torch.randn(batch, 4, 6, 7))),
    "patch_diffusion": Architecture(PatchDiffusion, lambda batch: (
        torch.randn(batch, 4, 8, 12), torch.randint(0, 1000, (batch,)), torch.randint(0, 11, (batch,))), first_opset=12),
    "text_encoder": Architecture(TextEncoder, lambda batch: (*tokens(11)(batch), torch.randn(5, 12)),
                                 ({0: "n", 1: "t"}, {0: "m"}), first_opset=14),
    "audio_diffusion": Architecture(Denoiser1d, lambda batch: (torch.randn(batch, 2, 64), torch.rand(batch)), first_opset=11),
}
