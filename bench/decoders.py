#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes decoders as models, and machines of many devices as rule files, for `collagec simulate`.

    decoders.py model --layers 96 --hidden 12288 --heads 96 --sequence 2048 --dtype f16 -o decoder.ir
    decoders.py machine --kind tree --devices 64 -o tree64.rules
    decoders.py places --layers 96 --devices 64

A decoder reads the numbers of its tokens and makes logits: embeddings of tokens and positions, blocks of attention with a causal mask
and of two matrix products with a Gelu between them, each after a normalization and beside the value itself, and a last normalization
and product. Weights are random constants with the scale of their rows, so that a text of a few thousand lines stands for any number
of parameters.

A machine is examples/clusters/accel.rules with many devices, each with its link to the host, and links between them (grammar/rules.md):

    tree   8 devices on a switch, 8 of those on the next, and so on up to one
    ring   each device at a switch of its own, each switch joined to the next
    torus  the same on a grid whose rows and columns are rings, as square as the number of devices allows

Places are options of collagec, one a line, that put the layers of such a decoder onto the devices in their order, as evenly as they
go: a pipeline without a search. `mapfile -t PLACES < <(decoders.py places …)` reads them for `collagec … "${PLACES[@]}"`.
"""
import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RULES = os.path.join(ROOT, "examples/clusters/accel.rules")
FANOUT = 8  # of a tree
LINK = "bandwidth 100 GB/s latency 1 us duplex"  # between devices


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    model = commands.add_parser("model", help="a decoder")
    model.add_argument("--layers", type=int, default=96)
    model.add_argument("--hidden", type=int, default=12288)
    model.add_argument("--heads", type=int, default=96)
    model.add_argument("--sequence", type=int, default=2048)
    model.add_argument("--vocabulary", type=int, default=50257)
    model.add_argument("--dtype", default="f16", choices=("f16", "bf16", "f32"))
    model.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    cluster = commands.add_parser("machine", help="a rule file")
    cluster.add_argument("--kind", default="tree", choices=("tree", "ring", "torus"))
    cluster.add_argument("--devices", type=int, default=64)
    cluster.add_argument("--memory", default="80 GiB", help="of a device")
    cluster.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    pipeline = commands.add_parser("places", help="options that place a decoder as a pipeline")
    pipeline.add_argument("--layers", type=int, default=96)
    pipeline.add_argument("--devices", type=int, default=64)
    arguments = parser.parse_args()
    if arguments.command == "model":
        if arguments.hidden % arguments.heads:
            parser.error("--hidden has to be a multiple of --heads")
        if min(arguments.layers, arguments.heads, arguments.sequence, arguments.vocabulary) < 1:
            parser.error("all numbers are 1 at least")
    elif min(arguments.devices, getattr(arguments, "layers", 2)) < 2:
        parser.error("there are 2 devices and layers at least")
    return arguments


class Decoder:
    def __init__(self, arguments):
        self.layers, self.hidden, self.heads = arguments.layers, arguments.hidden, arguments.heads
        self.sequence, self.vocabulary, self.dtype = arguments.sequence, arguments.vocabulary, arguments.dtype
        self.constants, self.nodes, self.seed = [], [], 0

    def typed(self, *shape):
        return f"{self.dtype}[{', '.join(map(str, shape))}]"

    def weight(self, name, *shape):
        """Random with the deviation that keeps sums over the first axis near 1."""
        self.seed += 1
        bound = (3 / shape[0]) ** 0.5
        self.constants.append(f"  %{name} = const random seed {self.seed} in [-{bound:.6f}, {bound:.6f}] : {self.typed(*shape)}")
        return f"%{name}"

    def splat(self, name, value, *shape):
        self.constants.append(f"  %{name} = const splat {value} : {self.typed(*shape)}")
        return f"%{name}"

    def add(self, name, call):
        self.nodes.append(f"  %{name} = {call}")
        return f"%{name}"

    def product(self, name, x, rows, columns):
        """x * w + b"""
        m = self.add(f"{name}.m", f"MatMul({x}, {self.weight(f'{name}.w', rows, columns)})")
        return self.add(name, f"Add({m}, {self.splat(f'{name}.b', 0.0, columns)})")

    def normalization(self, name, x):
        scale, shift = self.splat(f"{name}.g", 1.0, self.hidden), self.splat(f"{name}.b", 0.0, self.hidden)
        return self.add(name, f"LayerNormalization({x}, {scale}, {shift}) {{axis = -1}}")

    def heads_of(self, name, x, order):
        split = self.add(f"{name}.split", f"Reshape({x}, %to_heads)")
        return self.add(f"{name}.heads", f"Transpose({split}) {{perm = [{order}]}}")

    def block(self, layer, x):
        of = f"l{layer}."
        normal = self.normalization(f"{of}norm1", x)
        parts = [self.product(f"{of}{part}", normal, self.hidden, self.hidden) for part in ("q", "k", "v")]
        q = self.heads_of(f"{of}q", parts[0], "0, 2, 1, 3")
        k = self.heads_of(f"{of}k", parts[1], "0, 2, 3, 1")
        v = self.heads_of(f"{of}v", parts[2], "0, 2, 1, 3")
        scores = self.add(f"{of}scores", f"MatMul({q}, {k})")
        scaled = self.add(f"{of}scaled", f"Mul({scores}, %root)")
        masked = self.add(f"{of}masked", f"Add({scaled}, %mask)")
        shares = self.add(f"{of}shares", f"Softmax({masked}) {{axis = -1}}")
        mixed = self.add(f"{of}mixed", f"MatMul({shares}, {v})")
        turned = self.add(f"{of}turned", f"Transpose({mixed}) {{perm = [0, 2, 1, 3]}}")
        joined = self.add(f"{of}joined", f"Reshape({turned}, %to_rows)")
        attended = self.add(f"{of}attended", f"Add({self.product(f'{of}out', joined, self.hidden, self.hidden)}, {x})")
        normal = self.normalization(f"{of}norm2", attended)
        wide = self.product(f"{of}up", normal, self.hidden, 4 * self.hidden)
        active = self.add(f"{of}act", f"Gelu({wide})")
        return self.add(f"{of}y", f"Add({self.product(f'{of}down', active, 4 * self.hidden, self.hidden)}, {attended})")

    def text(self):
        size = self.hidden // self.heads
        self.constants += [
            f"  %to_heads = const dense i64[4] [1, {self.sequence}, {self.heads}, {size}]",
            f"  %to_rows = const dense i64[3] [1, {self.sequence}, {self.hidden}]",
            f"  %root = const {size ** -0.5:.8f} : {self.dtype}[]",
            f"  %off = const splat -30000.0 : {self.typed(self.sequence, self.sequence)}",
            "  %next = const 1 : i64[]",
        ]
        tokens = self.add("embedded", f"Gather({self.weight('embedding', self.vocabulary, self.hidden)}, %tokens) {{axis = 0}}")
        x = self.add("x", f"Add({tokens}, {self.weight('positions', self.sequence, self.hidden)})")
        self.add("mask", "Trilu(%off, %next) {upper = 1}")
        for layer in range(self.layers):
            x = self.block(layer, x)
        last = self.normalization("last", x)
        self.add("logits", f"MatMul({last}, {self.weight('head', self.hidden, self.vocabulary)})")
        return "\n".join([
            f"model @decoder{self.layers}(%tokens: i64[1, {self.sequence}]) -> "
            f"(%logits: {self.typed(1, self.sequence, self.vocabulary)}) {{",
            *self.constants, *self.nodes, "}", ""])


def machine(arguments):
    """accel.rules with so many devices, and links between them."""
    count = arguments.devices
    rows = max(n for n in range(1, int(count ** 0.5) + 1) if count % n == 0)
    kind = {"tree": f"tree({FANOUT})", "ring": "ring", "torus": f"torus({rows}, {count // rows})"}[arguments.kind]
    with open(RULES, encoding="utf-8") as file:
        rules = file.read()
    rules = rules.replace("  device accel {\n", f"  device accel count {count} {{\n    link {kind} {LINK}\n", 1)
    return re.sub(r"memory \d+ GiB", f"memory {arguments.memory}", rules, count=1)


def places(arguments):
    """What is before the first layer stands with it, and what follows the last with that."""
    count = min(arguments.layers, arguments.devices)
    of_layer = [f"accel[{layer * count // arguments.layers}]" for layer in range(arguments.layers)]
    nodes = [("embedded", of_layer[0]), ("x", of_layer[0])]
    nodes += [(f"l{layer}.*", instance) for layer, instance in enumerate(of_layer)]
    nodes += [("last", of_layer[-1]), ("logits", of_layer[-1])]
    return "".join(f"--place={node}={instance}\n" for node, instance in nodes)


def main():
    arguments = parse_arguments()
    text = {"model": lambda: Decoder(arguments).text(), "machine": lambda: machine(arguments),
            "places": lambda: places(arguments)}[arguments.command]()
    if getattr(arguments, "output", None):
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
