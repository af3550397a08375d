#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports architectures from PyTorch with random weights, with an input and the outputs that PyTorch computes.

    export_models.py FOLDER [NAME …] [--opsets 9,11,13,17] [--batches 1,3]

writes FOLDER/NAME.opsetN.batchB/{model.onnx, shapes, input_0.pb, …, output_0.pb, …}. Needs torch, torchvision and onnx; nothing
in the build or the tests does. Pictures are small and sizes odd where the architecture allows it. `run_models.sh` beside
it runs the folders through collagec.
"""
import argparse
import os
import warnings

import numpy
import onnx
import torch
import torch.nn.functional as F
import torchvision
from onnx import numpy_helper
from torch import nn

warnings.filterwarnings("ignore")


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


class Mnist(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 8, 5, padding=2), nn.Conv2d(8, 16, 5, padding=2)
        self.fc = nn.Linear(16 * 7 * 7, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return F.log_softmax(self.fc(torch.flatten(x, 1)), 1)


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


class Transformer(nn.Module):
    def __init__(self, norm_first):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=norm_first, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        return self.encoder(x)


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


def picture(size, channels=3):
    return lambda batch: (torch.randn(batch, channels, size, size + (size % 2)),)


def tokens(length, batch_first=True):
    return lambda batch: (torch.randint(0, 50, (batch, length) if batch_first else (length, batch)),)


def bert_inputs(batch):
    mask = torch.ones(batch, 11, dtype=torch.long)
    mask[:, 8:] = 0
    return torch.randint(0, 60, (batch, 11)), mask, torch.randint(0, 2, (batch, 11))


def vision(name, **options):
    return lambda: getattr(torchvision.models, name)(weights=None, **options)


def headless(name, channels):
    """The features of an architecture whose classifier would be 200 MB of weights."""
    features = getattr(torchvision.models, name)(weights=None).features
    return nn.Sequential(features, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(channels, 10))


MODELS = {
    "mnist": (Mnist, picture(28, 1)),
    "squeezenet1_1": (vision("squeezenet1_1"), picture(65)),
    "alexnet": (lambda: headless("alexnet", 256), picture(67)),
    "vgg11": (lambda: headless("vgg11_bn", 512), picture(33)),
    "resnet18": (vision("resnet18"), picture(65)),
    "resnext50": (vision("resnext50_32x4d"), picture(65)),
    "densenet121": (vision("densenet121"), picture(65)),
    "inception_v3": (vision("inception_v3", init_weights=False), picture(95)),
    "googlenet": (vision("googlenet", init_weights=False), picture(65)),
    "mobilenet_v2": (vision("mobilenet_v2"), picture(65)),
    "mobilenet_v3_small": (vision("mobilenet_v3_small"), picture(65)),
    "efficientnet_b0": (vision("efficientnet_b0"), picture(65)),
    "shufflenet_v2": (vision("shufflenet_v2_x0_5"), picture(65)),
    "mnasnet": (vision("mnasnet0_5"), picture(65)),
    "regnet": (vision("regnet_y_400mf"), picture(65)),
    "convnext_tiny": (vision("convnext_tiny"), picture(65)),
    "vit": (lambda: torchvision.models.VisionTransformer(32, 8, 2, 4, 48, 96, num_classes=10),
            lambda batch: (torch.randn(batch, 3, 32, 32),)),
    "swin": (lambda: torchvision.models.SwinTransformer([4, 4], 24, [2, 2], [2, 4], [4, 4], num_classes=10),
             lambda batch: (torch.randn(batch, 3, 36, 36),)),
    "fcn": (lambda: Logits(torchvision.models.segmentation.fcn_resnet50(weights=None, weights_backbone=None)), picture(49)),
    "lraspp": (lambda: Logits(torchvision.models.segmentation.lraspp_mobilenet_v3_large(
        weights=None, weights_backbone=None)), picture(65)),
    "unet": (UNet, lambda batch: (torch.randn(batch, 3, 28, 36),)),
    "segmenter": (Segmenter, picture(45)),
    "generator": (Generator, lambda batch: (torch.randn(batch, 64, 1, 1),)),
    "discriminator": (Discriminator, lambda batch: (torch.randn(batch, 3, 32, 32),)),
    "r3d_18": (lambda: torchvision.models.video.r3d_18(weights=None), lambda batch: (torch.randn(batch, 3, 5, 24, 25),)),
    "nasnet_cell": (NasnetCell, picture(33)),
    "lstm": (lambda: Recurrent("LSTM"), tokens(9)),
    "gru": (lambda: Recurrent("GRU"), tokens(9)),
    "rnn": (lambda: Recurrent("RNN", 1, False, False), tokens(9, False)),
    "lstm_one_way": (lambda: Recurrent("LSTM", 1, False, False), tokens(9, False)),
    "lstm_packed": (Packed, lambda batch: (torch.randn(8, batch, 6), torch.tensor([8, 5, 2][:batch]))),
    "gpt": (Gpt, tokens(13)),
    "bert": (Bert, bert_inputs),
    "transformer": (lambda: Transformer(False), lambda batch: (torch.randn(batch, 7, 32),)),
    "transformer_norm_first": (lambda: Transformer(True), lambda batch: (torch.randn(batch, 7, 32),)),
    "oddments": (Oddments, lambda batch: (torch.randn(batch, 4, 7, 9),)),
}


class Logits(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)["out"]


def settle(model):
    """Statistics of batch normalisation other than 0 and 1, weights of a size that keeps activations near 1."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
            if module.affine:
                nn.init.uniform_(module.weight, 0.8, 1.2)
                nn.init.normal_(module.bias, 0, 0.1)
    return model.eval()


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in value for tensor in flat(part)]


def write_tensor(path, tensor):
    with open(path, "wb") as file:
        file.write(numpy_helper.from_array(numpy.ascontiguousarray(tensor.detach().numpy())).SerializeToString())


# Bilinear interpolation of PyTorch and Upsample of opset 9 differ, as PyTorch warns.
NEEDS_OPSET_11 = {"fcn", "lraspp"}


def open_axes(name, inputs):
    """Open dimensions make the exporter write shape arithmetic, which must fold away."""
    if name in ("gpt", "bert"):
        return {i: {0: "n", 1: "t"} for i in inputs}
    if name == "segmenter":
        return {i: {0: "n", 2: "h", 3: "w"} for i in inputs}
    return {i: {1: "n"} if name in ("lstm_one_way", "lstm_packed", "rnn") else {0: "n"} for i in inputs}


def export(name, opset, batch, folder):
    torch.manual_seed(7)
    make, inputs_of = MODELS[name]
    with torch.no_grad():
        model, inputs = settle(make()), inputs_of(batch)
        outputs = flat(model(*inputs))
    names = [f"in{i}" for i in range(len(inputs))]
    os.makedirs(folder, exist_ok=True)
    # Outside no_grad: there attention would take a fused way that the exporter does not know.
    torch.onnx.export(model, inputs, f"{folder}/model.onnx", opset_version=opset, input_names=names,
                      output_names=[f"out{i}" for i in range(len(outputs))],
                      dynamic_axes=open_axes(name, names) if opset == 17 and name != "lstm_packed" else {},
                      do_constant_folding=opset % 2 == 1)
    with open(f"{folder}/shapes", "w") as file:
        file.write(" ".join(f"--shape {n}={'x'.join(map(str, t.shape))}" for n, t in zip(names, inputs)))
    for i, tensor in enumerate(inputs):
        write_tensor(f"{folder}/input_{i}.pb", tensor)
    for i, tensor in enumerate(outputs):
        write_tensor(f"{folder}/output_{i}.pb", tensor)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", default=list(MODELS))
    parser.add_argument("--opsets", default="9,11,13,17")
    parser.add_argument("--batches", default="1,3")
    options = parser.parse_args()
    for name in options.names or MODELS:
        for opset in map(int, options.opsets.split(",")):
            if name in NEEDS_OPSET_11 and opset < 11:
                continue
            for batch in map(int, options.batches.split(",")):
                folder = f"{options.folder}/{name}.opset{opset}.batch{batch}"
                try:
                    export(name, opset, batch, folder)
                except Exception as fault:  # the exporter does not know every operator in every opset
                    words = str(fault).strip().split("\n")[0]
                    print(f"{name} opset {opset} batch {batch}: no export: {words[:150]}")


if __name__ == "__main__":
    main()
