#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes random ONNX models of 5 to 40 nodes with two sets of inputs, for compare_with_ort.py.

    random_graphs.py FOLDER --ort NPM_FOLDER [--graphs 200] [--seed 1] [--nodes NODES_FOLDER]

A graph grows node by node: ONNX Runtime runs each new node on the values so far, which gives the shapes of its results and drops
what it does not run. The first set of inputs is ordinary numbers; no value of the graph is infinite or NaN on it, and no result
jumps where inputs change in their last digits. The second (`_special`) has NaN, infinities, zeros of both signs, denormals, ties and
the limits of integers. A graph with `_staged` in its name has shapes that only a run knows. --nodes also writes every node as a model
of its own, on the values that it met in both sets.

Folders are as those of ONNX's tests: `model.onnx`, `test_data_set_0/input_N.pb`, `output_N.pb`. Needs Python's onnx and node."""
import argparse
import collections
import os

import numpy as np
import onnx
from onnx import helper, numpy_helper

import random_bodies  # noqa: F401 (adds its makers)
from ort_process import Ort, OrtError
from random_operators import ALL, MAKERS, ONNX_TYPE, Draft

OPSETS = [13, 14, 15, 16, 17, 17, 17, 18, 18, 19, 20, 21, 21, 22, 23, 23, 24, 26]
#: Operators whose float results are the same bits however they are computed.
EXACT = set("Abs Neg Sign Relu Not Identity Floor Ceil Round Max Min Where Clip Cast Transpose Reshape Flatten Squeeze Unsqueeze "
            "Expand Tile Slice Pad Concat Split DepthToSpace SpaceToDepth Gather GatherElements GatherND Trilu OneHot EyeLike "
            "ReverseSequence MaxPool GlobalMaxPool TopK ReduceMax ReduceMin Shape Size ConstantOfShape Compress Unique "
            "NonZero CenterCropPad ScatterND ScatterElements Hardmax".split())
SPECIAL = [np.nan, np.inf, -np.inf, 0., -0., 1e-40, -1e-45, .5, 1.5, 2.5, -.5, -1.5, -2.5, 127.5, 128.5, -128.5, 255.5, 1e30, -1e30,
           3e9, -3e9, 1., -1.]


class Value:
    """`a` is what it is in the ordinary run, `s` in the special one."""

    def __init__(self, name, a, s, is_exact, is_constant=False):
        self.name, self.a, self.s, self.is_exact, self.is_constant = name, a, s, is_exact, is_constant
        self.readers = 0
        self.dtype, self.shape, self.ndim, self.size = a.dtype, a.shape, a.ndim, a.size


class Graph:
    def __init__(self, seed, opset, run_time):
        self.random = np.random.RandomState(seed)
        self.opset, self.run_time = opset, run_time
        self.values, self.inputs, self.constants, self.nodes = [], [], [], []
        self.count = 0

    def within(self, low, high):
        return int(self.random.randint(low, high + 1)) if high > low else int(low)

    def chance(self, p):
        return self.random.uniform() < p

    def some(self, options):
        return options[self.random.randint(len(options))]

    def prefix(self):
        self.count += 1
        return f"b{self.count}_"

    def axis(self, rank):
        return self.within(-rank, rank - 1)

    def axes(self, rank, some=True):
        chosen = [i for i in range(rank) if self.chance(.5)] if some else []
        if some and rank and not chosen:
            chosen = [self.within(0, rank - 1)]
        return [i - rank if self.chance(.3) else i for i in chosen]

    def loosen(self, shape):
        """A shape that broadcasts to this one."""
        dims = [1 if self.chance(.25) else n for n in shape]
        return dims[self.within(0, len(dims)):] if self.chance(.25) else dims

    def numbers(self, dtype, dims):
        dtype = np.dtype(dtype)
        if dtype.kind == "b":
            return self.random.uniform(size=dims) < .5
        if dtype.kind in "iu":
            return np.asarray(self.random.randint(0 if dtype.kind == "u" else -8, 9, dims)).astype(dtype)
        a = np.asarray(self.random.uniform(-3, 3, dims))
        return (np.round(a * 4) / 4 if self.chance(.3) else a).astype(dtype)

    def special(self, a):
        """The same array with special numbers in it."""
        if a.dtype.kind == "b":
            return self.random.uniform(size=a.shape) < .5
        if a.dtype.kind in "iu":
            info = np.iinfo(a.dtype)
            extremes = np.array([info.min, info.max, 0, 1, info.max - 1], a.dtype)
        else:
            with np.errstate(over="ignore"):
                extremes = np.array(SPECIAL).astype(a.dtype)
        picked = extremes[self.random.randint(0, len(extremes), a.shape)]
        return np.where(self.random.uniform(size=a.shape) < .4, picked, a).astype(a.dtype)

    def indices(self, size, dims, unique_axis=None):
        index = self.random.randint(0, max(size, 1), dims)
        if unique_axis is not None and np.size(index):
            order = np.argsort(self.random.uniform(size=list(dims[:unique_axis]) + [size] + list(dims[unique_axis + 1:])), unique_axis)
            index = np.take(order, range(dims[unique_axis]), unique_axis)
        return np.asarray(index - size * (self.random.uniform(size=dims) < .2))

    def add(self, value, where):
        where.append(value)
        if where is not self.constants:
            self.values.append(value)
        return value

    def input(self, dtype, dims):
        a = np.asarray(self.numbers(dtype, dims))
        return self.add(Value(f"x{len(self.inputs)}", a, np.asarray(self.special(a)), True), self.inputs)

    def const(self, a):
        a = np.asarray(a)
        return self.add(Value(f"c{len(self.constants)}", a, a, True, True), self.constants)

    def index(self, a):
        """Indices: a constant, or an input that is the same in both sets."""
        if self.chance(.6):
            return self.const(a)
        return self.add(Value(f"x{len(self.inputs)}", np.asarray(a), np.asarray(a), True), self.inputs)

    def tensor(self, a):
        return numpy_helper.from_array(a)

    def divisor(self, like):
        a = np.abs(self.numbers(like.dtype, self.loosen(like.shape)))
        a = np.maximum(a, np.array(1, a.dtype)) if a.dtype.kind != "f" else a + np.array(.5, a.dtype)
        if a.dtype.kind != "u" and self.chance(.3):
            a = -a if a.dtype.kind == "f" else np.minimum(-a, np.array(-2, a.dtype))
        return self.const(np.asarray(a, like.dtype))

    def value(self, dtypes, low=0, high=5, make=None, most=3000, channels=None):
        fitting = [v for v in self.values if str(v.dtype) in dtypes and low <= v.ndim <= high and v.size <= most]
        if fitting and self.chance(.85):
            unread = [v for v in fitting if v.readers == 0]
            return self.some(unread if unread and self.chance(.7) else fitting)
        if make is None:
            make = [self.within(1, 6) for _ in range(self.within(max(low, self.within(0, 3)), min(high, 4)))]
            if make and self.chance(.02):
                make[self.within(0, len(make) - 1)] = 0
        return self.input(self.some(dtypes), make)

    def like(self, value):
        """Something to broadcast with it."""
        fitting = [v for v in self.values if v.dtype == value.dtype and v is not value and broadcasts(v.shape, value.shape)]
        if fitting and self.chance(.6):
            return self.some(fitting)
        return self.fit(value.dtype, self.loosen(value.shape))

    def fit(self, dtype, dims):
        dtype, dims = np.dtype(dtype), tuple(int(n) for n in dims)
        fitting = [v for v in self.values if v.dtype == dtype and v.shape == dims]
        if fitting and self.chance(.6):
            return self.some(fitting)
        return self.const(self.numbers(dtype, dims)) if self.chance(.5) else self.input(dtype, dims)


def broadcasts(a, b):
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b)))


def typed(name, array, shape=True):
    return helper.make_tensor_value_info(name, ONNX_TYPE[str(array.dtype)], list(array.shape) if shape else None)


def make_model(nodes, inputs, outputs, constants, opset):
    graph = helper.make_graph(nodes, "random", inputs, outputs, [numpy_helper.from_array(c.a, c.name) for c in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8 if opset < 19 else 10 if opset < 23 else 11)


def one_node(node, operands, results, opset):
    """The node as a model; results without arrays yet have no types."""
    read = list(dict.fromkeys(operands))
    outputs = [typed(n, a, False) if a is not None else onnx.ValueInfoProto(name=n) for n, a in results]
    return make_model([node], [typed(v.name, v.a, v.a.shape == v.s.shape) for v in read if not v.is_constant], outputs,
                      [v for v in read if v.is_constant], opset)


def nudged(random, value):
    step = {2: 1e-3, 4: 2e-6, 8: 1e-13}[value.a.dtype.itemsize]
    return (value.a * (1 + step * random.uniform(-1, 1, value.a.shape))).astype(value.a.dtype)


def is_sane(arrays):
    for a in arrays:
        if a.size > 4000 or a.ndim > 6:
            return False
        if a.dtype.kind == "f" and a.size and not (np.isfinite(a).all() and np.abs(a).max() < (200 if a.itemsize == 2 else 1e5)):
            return False
    return True


def is_stable(before, after):
    for a, b in zip(before, after):
        if a.shape != b.shape:
            return False
        if a.dtype.kind != "f" and not np.array_equal(a, b):
            return False
        if a.dtype.kind == "f" and a.size and np.abs(a.astype(float) - b).max() > .01 * max(np.abs(a).max(), .01) * (8 if a.itemsize == 2 else .01):
            return False
    return True


class Grower:
    def __init__(self, ort):
        self.ort, self.refusals, self.nodes = ort, collections.Counter(), collections.Counter()

    def try_node(self, g, draft):
        operands = [v for v in draft.inputs if v != ""]
        names = [f"v{len(g.nodes)}_{i}" for i in range(draft.outputs)]
        node = helper.make_node(draft.op, [v.name if v != "" else "" for v in draft.inputs], names, **draft.attributes)
        operands = operands + draft.captures
        model = one_node(node, operands, [(n, None) for n in names], g.opset).SerializeToString()
        fed = [v for v in dict.fromkeys(operands) if not v.is_constant]
        run = lambda of: list(map(self.ort.run(model, {v.name: of(v) for v in fed}).__getitem__, names))
        ordinary = run(lambda v: v.a)
        if not is_sane(ordinary):
            return False
        inexact = [v for v in fed if not v.is_exact and v.a.dtype.kind == "f"]
        if inexact and not is_stable(ordinary, run(lambda v: nudged(g.random, v) if v in inexact else v.a)):
            return False
        special = run(lambda v: v.s)
        if any(s.size > 4000 for s in special):
            return False
        for v in operands:
            v.readers += 1
        for name, a, s in zip(names, ordinary, special):
            is_exact = a.dtype.kind != "f" or (all(v.is_exact for v in operands) and draft.op in EXACT)
            g.values.append(Value(name, a, s, is_exact))
        g.nodes.append((node, list(dict.fromkeys(operands)), names))
        return True

    def grow(self, seed, most, run_time):
        random = np.random.RandomState(seed)
        g = Graph(seed, OPSETS[random.randint(len(OPSETS))], run_time)
        makers = [m for m in MAKERS if m.since <= g.opset and (run_time or not m.run_time)]
        weights = np.array([m.weight * (4 if m.run_time else 1) for m in makers])
        target = random.randint(5, most + 1)
        for _ in range(6 * target):
            if len(g.nodes) >= target:
                break
            before = len(g.values), len(g.inputs), len(g.constants)
            draft = Draft("?", [])
            try:
                draft = makers[g.random.choice(len(makers), p=weights / weights.sum())](g)
                if self.try_node(g, draft):
                    self.nodes[draft.op] += 1
                    continue
            except OrtError as error:
                dtype = next((str(v.dtype) for v in draft.inputs if v != ""), "")
                self.refusals[f"{draft.op} {dtype}: {str(error)[:160]}"] += 1
            except (IndexError, ValueError, KeyError, ZeroDivisionError):
                pass  # a maker met shapes that it cannot use
            g.values[before[0]:], g.inputs[before[1]:], g.constants[before[2]:] = [], [], []
        return g


def write(folder, model, inputs, outputs):
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    for kind, arrays in (("input", inputs), ("output", outputs)):
        for i, (name, array) in enumerate(arrays):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as file:
                file.write(numpy_helper.from_array(array, name).SerializeToString())


def write_graph(g, ort, folder, name):
    read = {v.name for _, operands, _ in g.nodes for v in operands}
    used = lambda values: [v for v in values if v.name in read]
    produced = {n for _, _, names in g.nodes for n in names}
    outputs = [v for v in g.values if v.name in produced and (v.name not in read or g.chance(.15))]
    inputs = used(g.inputs)
    model = make_model([node for node, _, _ in g.nodes], [typed(v.name, v.a) for v in inputs],
                       [typed(v.name, v.a, False) for v in outputs], used(g.constants), g.opset)
    for suffix, of in (("", lambda v: v.a), ("_special", lambda v: v.s)):
        feeds = [(v.name, of(v)) for v in inputs]
        try:
            results = ort.run(model.SerializeToString(), dict(feeds))
        except OrtError as error:
            print(f"{name}{suffix}: {error}")
            continue
        write(os.path.join(folder, name + suffix), model, feeds, [(v.name, results[v.name]) for v in outputs])


def write_nodes(g, folder, name):
    by_name = {v.name: v for v in g.values}
    for i, (node, operands, names) in enumerate(g.nodes):
        results = [by_name[n] for n in names]
        model = one_node(node, operands, [(v.name, v.a) for v in results], g.opset)
        fed = [v for v in operands if not v.is_constant]
        for suffix, of in (("", lambda v: v.a), ("_special", lambda v: v.s)):
            # The model declares the shapes of the ordinary run.
            if all(v.a.shape == v.s.shape for v in fed):
                write(os.path.join(folder, f"{node.op_type}_{name}_{i}{suffix}"), model, [(v.name, of(v)) for v in fed],
                      [(v.name, of(v)) for v in results])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--ort", required=True, help="an npm installation with onnxruntime-node")
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--most", type=int, default=40, help="nodes of a graph")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", help="where to write every node as a model of its own")
    parser.add_argument("--refusals", action="store_true", help="print what ONNX Runtime refused")
    arguments = parser.parse_args()
    grower = Grower(Ort(arguments.ort, seconds=10))
    for seed in range(arguments.seed, arguments.seed + arguments.graphs):
        run_time = seed % 6 == 0
        g = grower.grow(seed, arguments.most, run_time)
        name = f"g{seed:05}" + ("_staged" if run_time else "")
        write_graph(g, grower.ort, arguments.folder, name)
        if arguments.nodes:
            write_nodes(g, arguments.nodes, name)
    counts = grower.nodes.most_common()
    print(f"{arguments.graphs} graphs, {sum(n for _, n in counts)} nodes of {len(counts)} operators")
    print(", ".join(f"{op} {n}" for op, n in counts))
    if arguments.refusals:
        for text, n in grower.refusals.most_common():
            print(n, text)


if __name__ == "__main__":
    main()
