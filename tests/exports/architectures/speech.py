# SPDX-License-Identifier: Apache-2.0
"""Speech and sound: recognisers, encoders, synthesis, separation, features from samples."""
import torch
import torch.nn.functional as F
from torch import nn

from .common import Architecture, attend, heads, joined, mlp, noise


class Wav2Letter(nn.Module):
    def __init__(self, letters=11):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(13, 24, 48, 2, 23), nn.ReLU(), nn.Conv1d(24, 24, 7, padding=3), nn.ReLU(),
                                    nn.Conv1d(24, 32, 32, padding=16), nn.ReLU(), nn.Conv1d(32, letters, 1))

    def forward(self, x):
        return F.log_softmax(self.layers(x), 1)


class QuartzNet(nn.Module):
    """Separable 1-d convolutions of odd widths, repeated, with a residual, squeeze-and-excite over time."""

    def __init__(self, c=16):
        super().__init__()
        self.stem = nn.Conv1d(8, c, 11, 2, 5, bias=False)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Conv1d(c, c, 13, padding=6, groups=c, bias=False),
                                                  nn.Conv1d(c, c, 1, bias=False),
                                                  nn.BatchNorm1d(c, eps=1e-3)) for _ in range(3))
        self.short, self.gate = nn.Sequential(nn.Conv1d(c, c, 1), nn.BatchNorm1d(c)), mlp(c, 4, c)
        self.head = nn.Conv1d(c, 9, 29, padding=28, dilation=2)

    def forward(self, x):
        x = first = F.hardtanh(self.stem(x), 0, 20)
        for k, block in enumerate(self.blocks):
            x = block(x) if k == 2 else F.relu(block(x))
        x = x * torch.sigmoid(self.gate(x.mean(2))).unsqueeze(2)
        return F.log_softmax(self.head(F.relu(x + self.short(first))).transpose(1, 2), -1)


class Conformer(nn.Module):
    """Half feed-forward, attention with relative positions, gated convolution, half feed-forward."""

    def __init__(self, c=24, count=3, longest=32):
        super().__init__()
        self.first, self.second = mlp(c, 4 * c, c, activation=nn.SiLU), mlp(c, 4 * c, c, activation=nn.SiLU)
        self.norms = nn.ModuleList(nn.LayerNorm(c) for _ in range(5))
        self.qkv, self.o, self.place = nn.Linear(c, 3 * c), nn.Linear(c, c), nn.Linear(c, c, bias=False)
        self.u, self.v = nn.Parameter(torch.randn(count, 1, c // count)), nn.Parameter(torch.randn(count, 1, c // count))
        self.enter, self.depth = nn.Conv1d(c, 2 * c, 1), nn.Conv1d(c, c, 7, padding=3, groups=c)
        self.bn, self.leave = nn.BatchNorm1d(c), nn.Conv1d(c, c, 1)
        self.count, self.longest = count, longest
        self.register_buffer("far", torch.randn(1, 2 * longest - 1, c))

    def forward(self, x):
        x = x + 0.5 * self.first(self.norms[0](x))
        n, t, c = x.shape
        q, k, v = (heads(part, self.count) for part in self.qkv(self.norms[1](x)).chunk(3, -1))
        far = heads(self.place(self.far[:, self.longest - t:self.longest + t - 1]), self.count)
        shifted = F.pad((q + self.v) @ far.transpose(2, 3), (1, 0)).reshape(n, self.count, 2 * t, t)[:, :, 1:]
        shifted = shifted.reshape(n, self.count, t, 2 * t - 1)[..., :t]
        w = torch.softmax(((q + self.u) @ k.transpose(2, 3) + shifted) / q.shape[-1] ** 0.5, -1)
        x = x + self.o(joined(w @ v))
        h = F.glu(self.enter(self.norms[2](x).transpose(1, 2)), 1)
        x = x + self.leave(F.silu(self.bn(self.depth(h)))).transpose(1, 2)
        return self.norms[4](x + 0.5 * self.second(self.norms[3](x)))


class DeepSpeech(nn.Module):
    """Convolutions over time and frequency, stacked LSTMs, letters for CTC."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 4, (11, 5), (2, 2), (5, 2)), nn.BatchNorm2d(4), nn.Hardtanh(0, 20),
                                  nn.Conv2d(4, 4, (7, 5), (2, 1), (3, 2)), nn.BatchNorm2d(4), nn.Hardtanh(0, 20))
        self.cell, self.norm = nn.LSTM(40, 14, 2, batch_first=True, bidirectional=True), nn.LayerNorm(28)
        self.head = nn.Linear(28, 9)

    def forward(self, x):
        x = self.conv(x.unsqueeze(1)).transpose(1, 2).flatten(2)
        x = F.log_softmax(self.head(self.norm(self.cell(x)[0])), -1)
        return x, x.argmax(-1)


class WhisperEncoder(nn.Module):
    """Two convolutions with Gelu, sinusoids, layers with norms first and keys without bias."""

    def __init__(self, c=24, count=3):
        super().__init__()
        self.c1, self.c2, self.count = nn.Conv1d(20, c, 3, padding=1), nn.Conv1d(c, c, 3, 2, 1), count
        self.n1, self.n2, self.last = (nn.LayerNorm(c) for _ in range(3))
        self.q, self.k, self.v, self.o = nn.Linear(c, c), nn.Linear(c, c, bias=False), nn.Linear(c, c), nn.Linear(c, c)
        self.feed = mlp(c, 4 * c, c, activation=nn.GELU)
        angle = torch.arange(64.0)[:, None] * torch.exp(-torch.arange(c // 2) * 0.8)
        self.register_buffer("place", torch.cat([angle.sin(), angle.cos()], 1))

    def forward(self, x):
        x = F.gelu(self.c2(F.gelu(self.c1(x)))).permute(0, 2, 1)
        x = x + self.place[:x.shape[1]]
        h = self.n1(x)
        scale = (h.shape[-1] // self.count) ** -0.25
        q, k = heads(self.q(h), self.count) * scale, heads(self.k(h), self.count) * scale
        x = x + self.o(joined(torch.softmax(q @ k.transpose(2, 3), -1) @ heads(self.v(h), self.count)))
        return self.last(x + self.feed(self.n2(x)))


class WaveNet(nn.Module):
    """Dilated causal convolutions with gates, skips summed, conditioned on a speaker."""

    def __init__(self, c=12):
        super().__init__()
        self.stem, self.speaker = nn.Conv1d(1, c, 2), nn.Embedding(4, 2 * c)
        self.gates = nn.ModuleList(nn.Conv1d(c, 2 * c, 2, dilation=2 ** k) for k in range(4))
        self.residuals, self.skips = (nn.ModuleList(nn.Conv1d(c, c, 1) for _ in range(4)) for _ in range(2))
        self.head = nn.Sequential(nn.ReLU(), nn.Conv1d(c, c, 1), nn.ReLU(), nn.Conv1d(c, 16, 1))

    def forward(self, x, speaker):
        x, total = self.stem(F.pad(x, (1, 0))), 0
        who = self.speaker(speaker).unsqueeze(2)
        for k, (gate, residual, skip) in enumerate(zip(self.gates, self.residuals, self.skips)):
            a, b = (gate(F.pad(x, (2 ** k, 0))) + who).chunk(2, 1)
            h = torch.tanh(a) * torch.sigmoid(b)
            x, total = x + residual(h), total + skip(h)
        return self.head(total)


class Tacotron(nn.Module):
    """Encoder of convolutions and a BiLSTM; three steps of a decoder with location-sensitive attention; a post-net."""

    def __init__(self, c=16, mel=6):
        super().__init__()
        self.embed, self.conv = nn.Embedding(30, c), nn.Sequential(nn.Conv1d(c, c, 5, padding=2), nn.BatchNorm1d(c), nn.ReLU())
        self.encoder, self.pre = nn.LSTM(c, c // 2, batch_first=True, bidirectional=True), mlp(mel, 8, 8)
        self.cell, self.query, self.memory = nn.LSTMCell(8 + c, c), nn.Linear(c, 10, False), nn.Linear(c, 10, False)
        self.place, self.score, self.mel = nn.Conv1d(2, 10, 7, padding=3), nn.Linear(10, 1), nn.Linear(2 * c, mel)
        self.stop = nn.Linear(2 * c, 1)
        self.post = nn.Sequential(nn.Conv1d(mel, 8, 5, padding=2), nn.BatchNorm1d(8), nn.Tanh(),
                                  nn.Conv1d(8, mel, 5, padding=2))

    def forward(self, tokens):
        memory = self.encoder(self.conv(self.embed(tokens).transpose(1, 2)).transpose(1, 2))[0]
        keys = self.memory(memory)
        n, t, c = memory.shape
        frame, context = torch.zeros(n, 6), torch.zeros(n, c)
        h = s = torch.zeros(n, c)
        weight = total = torch.zeros(n, t)
        frames, stops, weights = [], [], []
        for _ in range(3):
            h, s = self.cell(torch.cat([self.pre(frame), context], 1), (h, s))
            place = self.place(torch.stack([weight, total], 1)).transpose(1, 2)
            weight = torch.softmax(self.score(torch.tanh(self.query(h).unsqueeze(1) + keys + place)).squeeze(-1), -1)
            total = total + weight
            context = torch.bmm(weight.unsqueeze(1), memory).squeeze(1)
            both = torch.cat([h, context], 1)
            frame = self.mel(both)
            frames, stops, weights = frames + [frame], stops + [torch.sigmoid(self.stop(both))], weights + [weight]
        frames = torch.stack(frames, 2)
        return frames + self.post(frames), torch.cat(stops, 1), torch.stack(weights, 1)


class WaveFeatures(nn.Module):
    """wav2vec's features from samples: strided convolutions, GroupNorm per channel, grouped positions, weight norm folded."""

    def __init__(self, c=16):
        super().__init__()
        self.c1, self.norm, self.rest = nn.Conv1d(1, c, 10, 5, bias=False), nn.GroupNorm(c, c), nn.ModuleList(
            nn.Conv1d(c, c, k, 2, bias=False) for k in (3, 3, 2))
        self.place, self.last = nn.utils.weight_norm(nn.Conv1d(c, c, 8, padding=4, groups=4), dim=2), nn.LayerNorm(c)

    def forward(self, x):
        x = F.gelu(self.norm(self.c1(x.unsqueeze(1))))
        for layer in self.rest:
            x = F.gelu(layer(x))
        x = x + F.gelu(self.place(x)[:, :, :-1])
        return self.last(x.transpose(1, 2))


class Spectrum(nn.Module):
    """A mel spectrogram by strided convolutions with a Fourier basis, in decibels, normalised over time."""

    def __init__(self, size=32, mel=10):
        super().__init__()
        angle = 2 * torch.pi * torch.outer(torch.arange(size // 2 + 1), torch.arange(size)) / size
        basis = torch.cat([angle.cos(), -angle.sin()]) * torch.hann_window(size)
        self.register_buffer("basis", basis.unsqueeze(1))
        self.register_buffer("mel", torch.rand(mel, size // 2 + 1))

    def forward(self, x):
        x = F.conv1d(F.pad(x.unsqueeze(1), (16, 16), mode="reflect"), self.basis, stride=8)
        real, imaginary = x.chunk(2, 1)
        level = 10 * torch.log10(torch.clamp(self.mel @ (real ** 2 + imaginary ** 2), min=1e-10))
        level = torch.maximum(level, level.amax((1, 2), keepdim=True) - 80)
        return (level - level.mean(2, keepdim=True)) / (level.std(2, keepdim=True, unbiased=False) + 1e-5)


class SpeakerVectors(nn.Module):
    """x-vectors: time-delay layers, statistics over time, attentive pooling."""

    def __init__(self, c=16):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(8, c, 5), nn.LeakyReLU(0.2), nn.BatchNorm1d(c), nn.Conv1d(c, c, 3, dilation=2),
                                    nn.LeakyReLU(0.2), nn.Conv1d(c, c, 3, dilation=3), nn.ReLU())
        self.score, self.head = nn.Conv1d(c, c, 1), nn.Linear(4 * c, 7)

    def forward(self, x):
        x = self.layers(x)
        w = torch.softmax(torch.tanh(self.score(x)), 2)
        mean = (w * x).sum(2)
        spread = torch.sqrt(((w * x * x).sum(2) - mean ** 2).clamp(min=1e-6))
        return F.normalize(self.head(torch.cat([mean, spread, x.mean(2), x.std(2)], 1)), p=2.0, dim=1)


class ConvTasNet(nn.Module):
    """Separation: samples encoded, masks by dilated blocks with global norms, overlap and add by transposed convolution."""

    def __init__(self, c=16):
        super().__init__()
        self.encode, self.decode = nn.Conv1d(1, c, 16, 8, bias=False), nn.ConvTranspose1d(c, 1, 16, 8, bias=False)
        self.norm, self.blocks = nn.GroupNorm(1, c, eps=1e-8), nn.ModuleList(nn.Sequential(
            nn.Conv1d(c, 24, 1), nn.PReLU(), nn.GroupNorm(1, 24), nn.Conv1d(24, 24, 3, padding=2 ** k, dilation=2 ** k,
                    groups=24),
            nn.PReLU(), nn.GroupNorm(1, 24), nn.Conv1d(24, c, 1)) for k in range(3))
        self.mask = nn.Conv1d(c, 2 * c, 1)

    def forward(self, x):
        w = F.relu(self.encode(x.unsqueeze(1)))
        h = self.norm(w)
        for block in self.blocks:
            h = h + block(h)
        n, c, t = w.shape
        masked = torch.sigmoid(self.mask(h)).view(n, 2, c, t) * w.unsqueeze(1)
        return self.decode(masked.view(2 * n, c, t)).view(n, 2, -1)


class HifiGan(nn.Module):
    """A vocoder: transposed convolutions upwards, residual blocks of several widths averaged."""

    def __init__(self, c=16):
        super().__init__()
        self.pre, self.post = nn.Conv1d(10, c, 7, padding=3), nn.Conv1d(c // 4, 1, 7, padding=3)
        self.ups = nn.ModuleList([nn.ConvTranspose1d(c, c // 2, 8, 4, 2), nn.ConvTranspose1d(c // 2, c // 4, 5, 3, 1)])
        self.blocks = nn.ModuleList(nn.ModuleList(nn.Conv1d(c // 2 ** k, c // 2 ** k, w, padding=d * (w // 2), dilation=d)
                                                  for w, d in ((3, 1), (7, 3))) for k in (1, 2))

    def forward(self, x):
        x = self.pre(x)
        for up, blocks in zip(self.ups, self.blocks):
            x = up(F.leaky_relu(x, 0.1))
            x = sum(x + block(F.leaky_relu(x, 0.1)) for block in blocks) / len(blocks)
        return torch.tanh(self.post(F.leaky_relu(x)))


class Transducer(nn.Module):
    """The joint network of an RNN transducer: a GRU over letters, every frame with every letter."""

    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.frame = nn.Embedding(12, 8), nn.GRU(8, 10, batch_first=True), nn.Linear(9, 14)
        self.letter, self.head = nn.Linear(10, 14), nn.Linear(14, 12)

    def forward(self, frames, letters):
        y = self.cell(F.pad(self.embed(letters), (0, 0, 1, 0)))[0]
        return F.log_softmax(self.head(torch.tanh(self.frame(frames).unsqueeze(2) + self.letter(y).unsqueeze(1))), -1)


TIME = ({0: "n", 2: "t"},)
MODELS = {
    "wav2letter": Architecture(Wav2Letter, noise(13, 101), TIME),
    "quartznet": Architecture(QuartzNet, noise(8, 67), TIME),
    "conformer": Architecture(Conformer, noise(15, 24)),
    "deep_speech": Architecture(DeepSpeech, noise(41, 20)),
    "whisper_encoder": Architecture(WhisperEncoder, noise(20, 46)),
    "wavenet": Architecture(WaveNet, lambda batch: (torch.randn(batch, 1, 57), torch.randint(0, 4, (batch,))),
                            ({0: "n", 2: "t"}, {0: "n"})),
    "tacotron": Architecture(Tacotron, lambda batch: (torch.randint(0, 30, (batch, 9)),)),
    "wave_features": Architecture(WaveFeatures, noise(331)),
    "spectrum": Architecture(Spectrum, noise(200), first_opset=11),
    "speaker_vectors": Architecture(SpeakerVectors, noise(8, 40), TIME),
    "conv_tasnet": Architecture(ConvTasNet, noise(203)),
    "hifi_gan": Architecture(HifiGan, noise(10, 13), TIME),
    "transducer": Architecture(Transducer, lambda batch: (torch.randn(batch, 7, 9), torch.randint(0, 12, (batch, 5)))),
}
