#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the networks: generate.py [FOLDER], this folder unless one is named. `--check` compares instead.

A network is a function that appends operators to a `Model`, which writes one line of the model language for each. Values
are named after the layer that makes them. Weights are seeded random numbers: uniform in +-gain * sqrt(3 / fan_in), so
that a layer keeps the variance of its input (times gain^2) and activations stay in a sensible range through all layers.
README.md says where the structures come from.
"""
import math
import os
import sys


def decimal(number):
    """As the model language writes a float: `8.0`, `5.656854`."""
    text = f"{number:.7g}"
    return text if "." in text or "e" in text else text + ".0"


class Model:
    """The text of one model. Values are passed around as they are written: `%stem.conv`."""

    def __init__(self, name, comment, inputs):
        self.name, self.comment, self.inputs = name, comment, inputs
        self.shapes = {}
        self.lines = []
        self.seed = 0
        self.constants = {}

    def text(self, outputs):
        def ports(values):
            return ", ".join(f"%{name}: f32{list(shape)}" for name, shape in values.items())
        head = "".join(f"// {line}\n" for line in self.comment)
        return (f"{head}// Written by generate.py.\nmodel @{self.name}({ports(self.inputs)}) -> ({ports(outputs)}) {{\n"
                + "\n".join(self.lines) + "\n}\n")

    def section(self, title):
        self.lines += ["", f"  // {title}"] if self.lines else [f"  // {title}"]

    def constant(self, name, text):
        self.lines.append(f"  %{name} = const {text}")
        return "%" + name

    def shared(self, name, text):
        """A constant that several layers read, written where it is needed first."""
        if name not in self.constants:
            self.constants[name] = self.constant(name, text)
        return self.constants[name]

    def ints(self, name, values):
        return self.shared(name, f"dense i64[{len(values)}] {list(values)}")

    def random(self, name, shape, low, high):
        self.seed += 1
        return self.constant(name, f"random seed {self.seed} in [{low:.4g}, {high:.4g}] : f32{list(shape)}")

    def weight(self, name, shape, fan_in, gain):
        bound = gain * math.sqrt(3 / fan_in)
        return self.random(name + ".weight", shape, -bound, bound)

    def bias(self, name, count):
        return self.random(name + ".bias", [count], -0.1, 0.1)

    def random_ints(self, name, dtype, shape, low, high):
        self.seed += 1
        return self.constant(name, f"random seed {self.seed} in [{low}, {high}] : {dtype}{list(shape)}")

    def scale(self, name, count):
        """What a normalisation multiplies by, or a variance: around 1."""
        return self.random(name, [count], 0.7, 1.3)

    def op(self, name, kind, *operands, **attrs):
        """One operator; returns its result. A list of names makes as many results."""
        names = [name] if isinstance(name, str) else name
        results = ", ".join("%" + n for n in names)
        written = ", ".join(f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}"
                            for key, value in attrs.items())
        self.lines.append(f"  {results} = {kind}({', '.join(operands)})" + (f" {{{written}}}" if written else ""))
        return "%" + names[0] if isinstance(name, str) else ["%" + n for n in names]


# Layers. Each takes the model, the name of the layer and its input, and returns its output.

def conv(m, name, x, channels, filters, kernel, stride=1, group=1, dims=2, has_bias=False):
    """Keeps the extents where the stride is 1: the kernel is odd and half of it is padded."""
    fan_in = channels // group * kernel ** dims
    operands = [x, m.weight(name, [filters, channels // group] + [kernel] * dims, fan_in, gain=1.2)]
    if has_bias:
        operands.append(m.bias(name, filters))
    attrs = {}
    if group > 1:
        attrs["group"] = group
    if kernel > 1:
        attrs["pads"] = [kernel // 2] * (2 * dims)
    if stride > 1:
        attrs["strides"] = [stride] * dims
    return m.op(name, "Conv", *operands, **attrs)


def batch_norm(m, name, x, channels):
    parameters = [m.scale(name + ".scale", channels), m.bias(name, channels),
                  m.random(name + ".mean", [channels], -0.1, 0.1), m.scale(name + ".variance", channels)]
    return m.op(name, "BatchNormalization", x, *parameters)


def relu(m, name, x):
    return m.op(name, "Relu", x)


def linear(m, name, x, width, out, gain=1.0):
    """x * W + b over the last dimension."""
    product = m.op(name + ".product", "MatMul", x, m.weight(name, [width, out], width, gain))
    return m.op(name, "Add", product, m.bias(name, out))


def layer_norm(m, name, x, width, epsilon):
    return m.op(name, "LayerNormalization", x, m.scale(name + ".scale", width), m.bias(name, width), axis=-1,
                epsilon=epsilon)


def unbiased_norm(m, name, x, width):
    """scale * (x - mean) / (s + 1e-6) + bias, with the unbiased standard deviation s: the sum is divided by width - 1."""
    mean = m.op(name + ".mean", "ReduceMean", x, axes=[-1])
    centred = m.op(name + ".centred", "Sub", x, mean)
    squares = m.op(name + ".squares", "Mul", centred, centred)
    total = m.op(name + ".total", "ReduceSum", squares, m.ints("last_axis", [-1]))
    variance = m.op(name + ".variance", "Div", total, m.shared("degrees_of_freedom", f"{decimal(width - 1)} : f32[]"))
    deviation = m.op(name + ".deviation", "Sqrt", variance)
    divisor = m.op(name + ".divisor", "Add", deviation, m.shared("epsilon", "1e-06 : f32[]"))
    scaled = m.op(name + ".scaled", "Mul", centred, m.scale(name + ".scale", width))
    normal = m.op(name + ".normal", "Div", scaled, divisor)
    return m.op(name, "Add", normal, m.bias(name, width))


def gelu(m, name, x):
    """0.5 x (1 + erf(x / sqrt 2))"""
    erf = m.op(name + ".erf", "Erf", m.op(name + ".scaled", "Div", x, m.shared("sqrt_2", "1.4142135 : f32[]")))
    half = m.op(name + ".half", "Mul", x, m.shared("half", "0.5 : f32[]"))
    return m.op(name, "Mul", half, m.op(name + ".plus_one", "Add", erf, m.shared("one", "1.0 : f32[]")))


def tanh_gelu(m, name, x):
    """0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))"""
    cube = m.op(name + ".cube", "Pow", x, m.shared("three", "3.0 : f32[]"))
    term = m.op(name + ".term", "Mul", cube, m.shared("cubic", "0.044715 : f32[]"))
    inner = m.op(name + ".inner", "Mul", m.op(name + ".sum", "Add", x, term),
                 m.shared("sqrt_2_over_pi", "0.7978846 : f32[]"))
    tanh = m.op(name + ".tanh", "Tanh", inner)
    half = m.op(name + ".half", "Mul", x, m.shared("half", "0.5 : f32[]"))
    return m.op(name, "Mul", half, m.op(name + ".plus_one", "Add", tanh, m.shared("one", "1.0 : f32[]")))


def attend(m, name, query, key, value, tokens, width, heads, mask=None):
    """softmax(Q K' / sqrt(d) + mask) V for every head, and the heads side by side again."""
    size = width // heads
    split = m.ints("split_heads", [1, tokens, heads, size])

    def by_head(what, x, perm):
        return m.op(f"{name}.{what}.heads", "Transpose", m.op(f"{name}.{what}.split", "Reshape", x, split), perm=perm)
    q = by_head("query", query, [0, 2, 1, 3])
    k = by_head("key", key, [0, 2, 3, 1])
    v = by_head("value", value, [0, 2, 1, 3])
    product = m.op(name + ".product", "MatMul", q, k)
    scores = m.op(name + ".scores", "Div", product, m.shared("sqrt_head_size", f"{decimal(math.sqrt(size))} : f32[]"))
    if mask:
        scores = m.op(name + ".masked", "Add", scores, mask)
    weights = m.op(name + ".weights", "Softmax", scores, axis=-1)
    mixed = m.op(name + ".mixed", "MatMul", weights, v)
    together = m.op(name + ".together", "Transpose", mixed, perm=[0, 2, 1, 3])
    return m.op(name + ".joined", "Reshape", together, m.ints("join_heads", [1, tokens, width]))


def attention(m, name, x, tokens, width, heads):
    query, key, value = (linear(m, f"{name}.{part}", x, width, width) for part in ("query", "key", "value"))
    return linear(m, name + ".output", attend(m, name, query, key, value, tokens, width, heads), width, width)


# The networks of the paper: no stem, no batch normalisation and no classifier.

def residual_stages(m, x, dims=2, group=1, width_factor=1, has_norm=False):
    """Bottlenecks [3, 4, 6, 3]: relu(1x1 . relu(3x3 . relu(1x1 . x)) + shortcut(x)); each stage but the first halves the
    extents and all double the channels."""
    def unit(name, x, channels, filters, kernel, **attrs):
        x = conv(m, name, x, channels, filters, kernel, dims=dims, **attrs)
        return batch_norm(m, name + ".norm", x, filters) if has_norm else x
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3), 1):
        width, out = width_factor * (32 << stage), 128 << stage
        for block in range(1, blocks + 1):
            name = f"stage{stage}.block{block}"
            m.section(f"stage {stage}, block {block}: {channels} -> {out} channels")
            stride = 2 if stage > 1 and block == 1 else 1
            y = relu(m, name + ".relu1", unit(name + ".conv1", x, channels, width, 1))
            y = relu(m, name + ".relu2", unit(name + ".conv2", y, width, width, 3, stride=stride, group=group))
            y = unit(name + ".conv3", y, width, out, 1)
            if channels != out:
                x = unit(name + ".shortcut", x, channels, out, 1, stride=stride)
            last = stage == 4 and block == blocks and not has_norm
            x = relu(m, "y" if last else name + ".relu3", m.op(name + ".sum", "Add", y, x))
            channels = out
    return x


def resnext50():
    m = Model("resnext50", ["ResNeXt-50 32x4d without stem, batch normalisation and classifier, as in the Collage paper."],
              {"x": (1, 64, 56, 56)})
    residual_stages(m, "%x", group=32, width_factor=2)
    return m.text({"y": (1, 2048, 7, 7)})


def resnet50_3d():
    m = Model("resnet50_3d", ["3D-ResNet-50 without stem, batch normalisation and classifier, as in the Collage paper."],
              {"x": (1, 64, 3, 56, 56)})
    residual_stages(m, "%x", dims=3)
    return m.text({"y": (1, 2048, 1, 7, 7)})


def bert_full():
    tokens, width, heads = 64, 256, 8
    m = Model("bert_full", ["Eight pre-norm transformer blocks of width 256, as in the Collage paper."],
              {"x": (1, tokens, width)})
    x, layers = "%x", 8
    for layer in range(layers):
        name = f"layer{layer}"
        m.section(f"layer {layer}: x + attention(norm(x)), then x + feed_forward(norm(x))")
        attended = attention(m, name + ".attention", unbiased_norm(m, name + ".norm1", x, width), tokens, width, heads)
        x = m.op(name + ".residual1", "Add", x, attended)
        hidden = linear(m, name + ".hidden", unbiased_norm(m, name + ".norm2", x, width), width, 4 * width)
        forward = linear(m, name + ".forward", relu(m, name + ".relu", hidden), 4 * width, width)
        x = m.op("y" if layer + 1 == layers else name + ".residual2", "Add", x, forward)
    return m.text({"y": (1, tokens, width)})


def dcgan():
    m = Model("dcgan", ["DCGAN: a generator of a 256 x 256 picture, then the discriminator on it, as in the Collage paper."],
              {"z": (1, 100)})

    def upsample(name, x):
        return m.op(name, "Resize", x, "_", m.shared("twice", "dense f32[4] [1.0, 1.0, 2.0, 2.0]"), mode="nearest",
                    coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    m.section("generator")
    seed = linear(m, "seed", "%z", 100, 128 * 64 * 64)
    x = m.op("seed.picture", "Reshape", seed, m.ints("seed_shape", [1, 128, 64, 64]))
    x = relu(m, "paint1.relu", conv(m, "paint1", upsample("paint1.twice", x), 128, 128, 3, has_bias=True))
    x = relu(m, "paint2.relu", conv(m, "paint2", upsample("paint2.twice", x), 128, 64, 3, has_bias=True))
    x = m.op("picture", "Tanh", conv(m, "paint3", x, 64, 3, 3, has_bias=True))
    m.section("discriminator")
    channels = 3
    for layer, filters in enumerate((16, 32, 64, 128), 1):
        x = conv(m, f"judge{layer}", x, channels, filters, 3, stride=2, has_bias=True)
        x = relu(m, f"judge{layer}.relu", x)
        channels = filters
    x = m.op("judge.features", "Flatten", x)
    m.op("y", "Sigmoid", linear(m, "score", x, 128 * 16 * 16, 1))
    return m.text({"y": (1, 1)})


# A cell of NASNet-A is five additions. An operand is (operator, source); a source is the cell before (`previous`), the one
# before that (`before`), or the number of an earlier addition.
NORMAL_CELL = [
    (("separable3", "previous"), ("as_it_is", "previous")),
    (("separable3", "before"), ("separable3", "previous")),
    (("average3", "previous"), ("as_it_is", "before")),
    (("average3", "before"), ("average3", "before")),
    (("separable3", "before"), ("separable3", "before")),
]
REDUCTION_CELL = [
    (("separable7/2", "before"), ("separable5/2", "previous")),
    (("max3/2", "previous"), ("separable7/2", "before")),
    (("average3/2", "previous"), ("separable5/2", "before")),
    (("max3/2", "previous"), ("separable3", 0)),
    (("average3", 0), ("as_it_is", 1)),
]


def nasnet_operator(m, name, operator, x, channels):
    kind, stride = operator.split("/")[0], int(operator.split("/")[1]) if "/" in operator else 1
    if kind == "as_it_is":
        return x
    kernel = int(kind[-1])
    if kind.startswith("separable"):
        x = conv(m, name + ".depthwise", x, channels, channels, kernel, stride=stride, group=channels)
        return conv(m, name + ".pointwise", x, channels, channels, 1)
    attrs = dict(kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4)
    if stride > 1:
        attrs["strides"] = [stride] * 2
    return m.op(name + "." + kind, "AveragePool" if kind == "average3" else "MaxPool", x, **attrs)


def nasnet_cell(m, name, table, before, previous, channels, result):
    def enter(what, source):
        x, count = source
        return relu(m, f"{name}.{what}.relu", conv(m, f"{name}.{what}", x, count, channels, 1, has_bias=True))
    sources = {"before": enter("before", before), "previous": enter("previous", previous)}
    for i, pair in enumerate(table):
        left, right = (nasnet_operator(m, f"{name}.{side}{i}", operator, sources[source], channels)
                       for side, (operator, source) in zip(("left", "right"), pair))
        sources[i] = m.op(f"{name}.sum{i}", "Add", left, right)
    return m.op(result, "Concat", *(sources[i] for i in range(len(table))), axis=1), len(table) * channels


def nasnet_a():
    m = Model("nasnet_a", ["NASNet-A of 17 cells without stem, batch normalisation and classifier, as in the Collage paper."],
              {"x": (1, 64, 56, 56)})
    before = previous = ("%x", 64)
    cell = 0
    for stage in range(3):
        channels = 64 << stage
        for step in range(6 if stage else 5):
            is_reduction = stage > 0 and step == 0
            name = f"cell{cell}"
            m.section(f"cell {cell}: {'reduction' if is_reduction else 'normal'}, {channels} channels")
            table = REDUCTION_CELL if is_reduction else NORMAL_CELL
            out = nasnet_cell(m, name, table, before, previous, channels, "y" if cell == 16 else name)
            # The cell before a reduction has other extents, so a reduction stands for both.
            before, previous = (out if is_reduction else previous), out
            cell += 1
    return m.text({"y": (1, 1280, 14, 14)})


# Whole networks.

def resnet50():
    m = Model("resnet50", ["ResNet-50 with batch normalisation (torchvision's: the 3x3 convolution has the stride)."],
              {"image": (1, 3, 224, 224)})
    m.section("stem")
    x = batch_norm(m, "stem.norm", conv(m, "stem", "%image", 3, 64, 7, stride=2), 64)
    x = m.op("stem.pool", "MaxPool", relu(m, "stem.relu", x), kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    x = residual_stages(m, x, has_norm=True)
    m.section("classifier")
    x = m.op("features", "Flatten", m.op("pool", "GlobalAveragePool", x))
    m.op("logits", "Gemm", x, m.weight("classifier", [2048, 1000], 2048, gain=1.0), m.bias("classifier", 1000))
    return m.text({"logits": (1, 1000)})


def bert_base():
    tokens, width, heads, layers = 128, 768, 12, 12
    m = Model("bert_base", ["BERT-base behind its embeddings: 12 post-norm blocks of width 768."], {"x": (1, tokens, width)})
    x = "%x"
    for layer in range(layers):
        name = f"layer{layer}"
        m.section(f"layer {layer}: norm(x + attention(x)), then norm(x + feed_forward(x))")
        attended = attention(m, name + ".attention", x, tokens, width, heads)
        x = layer_norm(m, name + ".norm1", m.op(name + ".residual1", "Add", x, attended), width, 1e-12)
        hidden = gelu(m, name + ".gelu", linear(m, name + ".hidden", x, width, 4 * width))
        forward = linear(m, name + ".forward", hidden, 4 * width, width)
        residual = m.op(name + ".residual2", "Add", x, forward)
        x = layer_norm(m, "y" if layer + 1 == layers else name + ".norm2", residual, width, 1e-12)
    return m.text({"y": (1, tokens, width)})


def causal_mask(m, tokens):
    """0 where a token may look, -10000 at those behind it; computed from the positions when the model is compiled."""
    m.section("causal mask")
    columns = m.op("mask.column", "Range", m.constant("mask.first", "0 : i64[]"), m.constant("mask.end", f"{tokens} : i64[]"),
                   m.constant("mask.step", "1 : i64[]"))
    rows = m.op("mask.row", "Unsqueeze", columns, m.ints("last_axis", [-1]))
    behind = m.op("mask.behind", "Greater", columns, rows)
    return m.op("mask", "Where", behind, m.constant("mask.never", "-10000.0 : f32[]"), m.constant("mask.always", "0.0 : f32[]"))


def gpt2_small():
    tokens, width, heads, layers = 128, 768, 12, 12
    m = Model("gpt2_small", ["GPT-2 small behind its embeddings: 12 pre-norm blocks of width 768 with a causal mask."],
              {"x": (1, tokens, width)})
    mask = causal_mask(m, tokens)
    x = "%x"
    for layer in range(layers):
        name = f"layer{layer}"
        m.section(f"layer {layer}: x + attention(norm(x)), then x + feed_forward(norm(x))")
        normal = layer_norm(m, name + ".norm1", x, width, 1e-5)
        qkv = linear(m, name + ".attention.qkv", normal, width, 3 * width)
        parts = [f"{name}.attention.{part}" for part in ("query", "key", "value")]
        query, key, value = m.op(parts, "Split", qkv, m.ints("split_qkv", [width] * 3), axis=-1)
        joined = attend(m, name + ".attention", query, key, value, tokens, width, heads, mask)
        x = m.op(name + ".residual1", "Add", x, linear(m, name + ".attention.output", joined, width, width))
        hidden = linear(m, name + ".hidden", layer_norm(m, name + ".norm2", x, width, 1e-5), width, 4 * width)
        forward = linear(m, name + ".forward", tanh_gelu(m, name + ".gelu", hidden), 4 * width, width)
        x = m.op(name + ".residual2", "Add", x, forward)
    m.section("final normalisation")
    layer_norm(m, "y", x, width, 1e-5)
    return m.text({"y": (1, tokens, width)})


# Quantised networks. A quantised value is a triple (i8 tensor, scale, zero point) of names.

# What i8 stands for: 0 … 4 after a ReLU (which the clamp at the zero point -128 is), -4 … 4 otherwise.
RECTIFIED, SIGNED = (4 / 255, -128), (8 / 255, -3)


def quantization(m, kind, name):
    scale, zero = kind
    return m.shared(name + "_scale", f"{decimal(scale)} : f32[]"), m.shared(name + "_zero", f"{zero} : i8[]")


def rectified(m):
    return quantization(m, RECTIFIED, "rectified")


def signed(m):
    return quantization(m, SIGNED, "signed")


def quantize(m, name, x, numbers):
    return m.op(name, "QuantizeLinear", x, *numbers), *numbers


def dequantize(m, name, x):
    return m.op(name, "DequantizeLinear", *x)


def quantized_weights(m, name, shape, fan_in, count):
    """i8 weights with one scale for each of `count` channels, and the greatest bias: 0.1 in units of the i32 sums."""
    scale = math.sqrt(2 / fan_in) / (127 / math.sqrt(3))
    weights = m.random_ints(name + ".weight", "i8", shape, -127, 127)
    scales = m.random(name + ".weight_scale", [count], 0.7 * scale, 1.3 * scale)
    return (weights, scales, m.shared(f"zeros_{count}", f"splat 0 : i8[{count}]")), round(0.1 / (scale * 4 / 255))


def qlinear_conv(m, name, x, channels, filters, kernel, result, stride=1, group=1):
    fan_in = channels // group * kernel ** 2
    weights, bias = quantized_weights(m, name, [filters, channels // group, kernel, kernel], fan_in, filters)
    attrs = {}
    if group > 1:
        attrs["group"] = group
    if kernel > 1:
        attrs["pads"] = [kernel // 2] * 4
    if stride > 1:
        attrs["strides"] = [stride] * 2
    y = m.op(name, "QLinearConv", *x, *weights, *result, m.random_ints(name + ".bias", "i32", [filters], -bias, bias),
             **attrs)
    return y, *result


def inverted_residual(m, name, x, channels, filters, stride):
    """project(depthwise(expand(x))), and x added where the shapes allow it: in f32, as exporters write it."""
    m.section(f"{name}: {channels} -> {filters} channels")
    width = 6 * channels
    y = qlinear_conv(m, name + ".expand", x, channels, width, 1, rectified(m))
    y = qlinear_conv(m, name + ".depthwise", y, width, width, 3, rectified(m), stride=stride, group=width)
    y = qlinear_conv(m, name + ".project", y, width, filters, 1, signed(m))
    if stride > 1 or channels != filters:
        return y
    total = m.op(name + ".sum", "Add", dequantize(m, name + ".x", x), dequantize(m, name + ".y", y))
    return quantize(m, name + ".quantized", total, signed(m))


def quantized_conv():
    m = Model("quantized_conv", ["A small MobileNetV2 in i8: weights per channel, activations per tensor, f32 at both ends."],
              {"image": (1, 3, 96, 96)})
    m.section("stem")
    x = quantize(m, "image.quantized", "%image", signed(m))
    x = qlinear_conv(m, "stem", x, 3, 16, 3, rectified(m), stride=2)
    x = m.op("stem.pool", "MaxPool", x[0], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]), *x[1:]
    channels = 16
    for block, (filters, stride) in enumerate([(24, 1), (24, 1), (32, 2), (32, 1), (32, 1)], 1):
        x = inverted_residual(m, f"block{block}", x, channels, filters, stride)
        channels = filters
    m.section("classifier")
    x = qlinear_conv(m, "head", x, channels, 128, 1, rectified(m))
    x = m.op("pool", "GlobalAveragePool", dequantize(m, "head.f32", x))
    x = quantize(m, "features", m.op("pool.flat", "Flatten", x), rectified(m))
    weights, _ = quantized_weights(m, "classifier", [128, 10], 128, 10)
    logits = m.op("logits.quantized", "QLinearMatMul", *x, *weights, *signed(m)), *signed(m)
    m.op("y", "Softmax", dequantize(m, "logits", logits), axis=-1)
    return m.text({"y": (1, 10)})


NETWORKS = [bert_base, bert_full, dcgan, gpt2_small, nasnet_a, quantized_conv, resnet50, resnet50_3d, resnext50]


def differing(folder, texts):
    """Files that are not what would be written, or that nothing writes."""
    found = {}
    for name in os.listdir(folder):
        if name.endswith(".ir"):
            with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
                found[name] = file.read()
    return sorted(name for name in texts.keys() | found.keys() if texts.get(name) != found.get(name))


def main():
    arguments = sys.argv[1:]
    folder = os.path.dirname(os.path.abspath(__file__))
    texts = {network.__name__ + ".ir": network() for network in NETWORKS}
    if arguments == ["--check"]:
        names = differing(folder, texts)
        sys.exit(f"not what generate.py writes: {', '.join(names)}" if names else 0)
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        sys.exit(__doc__)
    for name, text in texts.items():
        with open(os.path.join(arguments[0] if arguments else folder, name), "w", encoding="utf-8", newline="") as file:
            file.write(text)


if __name__ == "__main__":
    main()
