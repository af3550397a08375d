#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes models whose shapes only a run knows, with inputs and expected outputs: stages_onnx.py FOLDER

`detector.onnx`: the rows of `boxes` whose score is above a threshold, the best `most` of them first.
`decoder.onnx`:  greedy decoding by a Loop, with a cache of keys and values that grows in each turn.
`recurrent.onnx`: a Scan over four steps, which is no loop any more when the model is read.
`long.onnx`:     the same over two hundred steps, which stays one.
`products.onnx`: a product, then a Loop of products whose number of turns is an input: two stages that are compiled.
`guarded.onnx`:  a Relu of a product, then a Loop whose body replaces the NaNs in it by 7.
"""
import math
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bad/onnx/Inputs"))
from broken_onnx import FLOAT, INT64, attribute, field, fields, model, node, tensor, value_info  # noqa: E402

BOOL = 9
FORMATS = {"<f4": "f", "<i8": "q"}


def npy(path, dtype, shape, values):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))}{',' if shape else ''}), }}"
    header = header.ljust(128 - 11) + "\n"
    data = struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def graph(name, nodes, inputs, outputs):
    return fields(1, nodes) + field(2, name) + fields(11, inputs) + fields(12, outputs)


def ints(name, values):
    return tensor(name, [len(values)], struct.pack(f"<{len(values)}q", *values), INT64)


def detector():
    threshold = tensor("threshold", [], struct.pack("<f", 0.5))
    nodes = [
        node("Greater", ["scores", "threshold"], ["is_good"]),
        node("NonZero", ["is_good"], ["found"]),
        node("Squeeze", ["found", "first"], ["rows"]),
        node("Gather", ["scores", "rows"], ["good_scores"]),
        node("Shape", ["good_scores"], ["count"]),
        node("Min", ["count", "most"], ["k"]),
        node("TopK", ["good_scores", "k"], ["best_scores", "order"]),
        node("Gather", ["rows", "order"], ["best_rows"]),
        node("Gather", ["boxes", "best_rows"], ["best_boxes"]),
    ]
    return model(nodes, opset=17, tensors=[threshold, ints("first", [0]), ints("most", [2])],
                 inputs=[value_info("boxes", ["n", 4]), value_info("scores", ["n"])],
                 outputs=[value_info("best_boxes", ["k", 4]), value_info("best_scores", ["k"])])


SIZE, WORDS, END = 4, 6, 0


def matrix(rows, columns, seed):
    return [[((i * 7 + j * 5 + seed) * 37 % 23 - 11) / 8 for j in range(columns)] for i in range(rows)]


WEIGHTS = {"embedding": matrix(WORDS, SIZE, 1), "query": matrix(SIZE, SIZE, 2), "key": matrix(SIZE, SIZE, 3),
           "value": matrix(SIZE, SIZE, 4), "head": matrix(SIZE, WORDS, 6)}


def decoder():
    """One layer of attention with a cache of keys and values, in a Loop: the caches and the text grow in each turn."""
    turn = graph("turn", [
        node("Gather", ["tokens", "minus_one"], ["last"]),
        node("Gather", ["embedding", "last"], ["x"]),
        node("MatMul", ["x", "query"], ["q"]),
        node("MatMul", ["x", "key"], ["k"]),
        node("MatMul", ["x", "value"], ["v"]),
        node("Concat", ["keys", "k"], ["keys_out"], [attribute("axis", "int", 0)]),
        node("Concat", ["values", "v"], ["values_out"], [attribute("axis", "int", 0)]),
        node("Transpose", ["keys_out"], ["keys_t"]),
        node("MatMul", ["q", "keys_t"], ["scores"]),
        node("Softmax", ["scores"], ["weights"], [attribute("axis", "int", -1)]),
        node("MatMul", ["weights", "values_out"], ["mixed"]),
        node("MatMul", ["mixed", "head"], ["logits"]),
        node("ArgMax", ["logits"], ["next"], [attribute("axis", "int", 1), attribute("keepdims", "int", 0)]),
        node("Concat", ["tokens", "next"], ["tokens_out"], [attribute("axis", "int", 0)]),
        node("Squeeze", ["next"], ["one"]),
        node("Equal", ["one", "end"], ["is_end"]),
        node("Not", ["is_end"], ["go_on"]),
    ], [value_info("i", [], INT64), value_info("go", [], BOOL), value_info("tokens", ["n"], INT64),
        value_info("keys", ["t", SIZE]), value_info("values", ["t", SIZE])],
        [value_info("go_on", [], BOOL), value_info("tokens_out", ["n"], INT64), value_info("keys_out", ["t", SIZE]),
         value_info("values_out", ["t", SIZE])])
    nodes = [node("Loop", ["most", "", "prompt", "no_keys", "no_keys"], ["text", "all_keys", "all_values"],
                  [attribute("body", "graph", turn)])]
    weights = [tensor(name, [len(rows), len(rows[0])], struct.pack(f"<{len(rows) * len(rows[0])}f", *sum(rows, [])))
               for name, rows in WEIGHTS.items()]
    end = tensor("end", [], struct.pack("<q", END), INT64)
    return model(nodes, opset=17, tensors=[ints("minus_one", [-1]), end, tensor("no_keys", [0, SIZE]), *weights],
                 inputs=[value_info("most", [], INT64), value_info("prompt", ["n"], INT64)],
                 outputs=[value_info("text", ["m"], INT64), value_info("all_keys", ["t", SIZE])])


def decode(tokens, most):
    """What the decoder computes, in plain Python."""
    def times(row, name):
        rows = WEIGHTS[name]
        return [sum(x * rows[i][j] for i, x in enumerate(row)) for j in range(len(rows[0]))]

    keys, values = [], []
    for _ in range(most):
        x = WEIGHTS["embedding"][tokens[-1]]
        query = times(x, "query")
        keys.append(times(x, "key"))
        values.append(times(x, "value"))
        weights = [math.exp(sum(q * k for q, k in zip(query, key))) for key in keys]
        mixed = [sum(w * v[j] for w, v in zip(weights, values)) / sum(weights) for j in range(SIZE)]
        logits = times(mixed, "head")
        tokens = tokens + [max(range(WORDS), key=lambda word: logits[word])]
        if tokens[-1] == END:
            break
    return tokens


STEPS = 4


def recurrent(steps):
    """h = tanh(x W + h R), step by step: all h, and the last."""
    step = graph("step", [
        node("MatMul", ["row", "query"], ["p"]),
        node("MatMul", ["h", "key"], ["q"]),
        node("Add", ["p", "q"], ["s"]),
        node("Tanh", ["s"], ["h_out"]),
    ], [value_info("h", [1, SIZE]), value_info("row", [1, SIZE])],
        [value_info("h_out", [1, SIZE]), value_info("h_out", [1, SIZE])])
    nodes = [node("Scan", ["start", "x"], ["last", "all"],
                  [attribute("num_scan_inputs", "int", 1), attribute("body", "graph", step)])]
    weights = [tensor(name, [SIZE, SIZE], struct.pack(f"<{SIZE * SIZE}f", *sum(WEIGHTS[name], [])))
               for name in ("query", "key")]
    start = tensor("start", [1, SIZE], bytes(4 * SIZE))
    return model(nodes, opset=17, tensors=[start, *weights], inputs=[value_info("x", [steps, 1, SIZE])],
                 outputs=[value_info("all", [steps, 1, SIZE]), value_info("last", [1, SIZE])])


def recur(rows):
    """What that computes, in plain Python."""
    state, states = [0.0] * SIZE, []
    for row in rows:
        sums = [sum(row[i] * WEIGHTS["query"][i][j] + state[i] * WEIGHTS["key"][i][j] for i in range(SIZE))
                for j in range(SIZE)]
        state = [math.tanh(x) for x in sums]
        states += state
    return states


def products():
    """Matrices large enough to be compiled."""
    n = 64
    turn = graph("turn", [
        node("MatMul", ["s", "w"], ["product"]),
        node("Tanh", ["product"], ["s_out"]),
        node("Identity", ["go"], ["go_on"]),
    ], [value_info("i", [], INT64), value_info("go", [], BOOL), value_info("s", [n, n])],
        [value_info("go_on", [], BOOL), value_info("s_out", [n, n])])
    nodes = [node("MatMul", ["x", "w"], ["first"]), node("Tanh", ["first"], ["start"]),
             node("Loop", ["trips", "", "start"], ["y"], [attribute("body", "graph", turn)])]
    weights = [((i * 7 + j * 5) * 37 % 23 - 11) / 64 for i in range(n) for j in range(n)]
    return model(nodes, opset=17, tensors=[tensor("w", [n, n], struct.pack(f"<{n * n}f", *weights))],
                 inputs=[value_info("x", [n, n]), value_info("trips", [], INT64)], outputs=[value_info("y", [n, n])])


GUARDED = 64


def guarded():
    n = GUARDED
    turn = graph("turn", [
        node("IsNaN", ["r"], ["is_nan"]),
        node("Where", ["is_nan", "seven", "r"], ["s_out"]),
        node("Identity", ["go"], ["go_on"]),
    ], [value_info("i", [], INT64), value_info("go", [], BOOL), value_info("s", [n, n])],
        [value_info("go_on", [], BOOL), value_info("s_out", [n, n])])
    nodes = [node("MatMul", ["x", "one"], ["product"]), node("Relu", ["product"], ["r"]),
             node("Loop", ["trips", "", "r"], ["y"], [attribute("body", "graph", turn)])]
    one = [float(i == j) for i in range(n) for j in range(n)]
    return model(nodes, opset=17, tensors=[tensor("one", [n, n], struct.pack(f"<{n * n}f", *one)),
                                           tensor("seven", [], struct.pack("<f", 7))],
                 inputs=[value_info("x", [n, n]), value_info("trips", [], INT64)], outputs=[value_info("y", [n, n])])


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "detector.onnx").write_bytes(detector())
    npy(folder / "boxes.npy", "<f4", [4, 4], list(range(16)))
    npy(folder / "scores.npy", "<f4", [4], [0.6, 0.1, 0.9, 0.7])
    npy(folder / "best_boxes.npy", "<f4", [2, 4], [8, 9, 10, 11, 12, 13, 14, 15])
    npy(folder / "one_score.npy", "<f4", [4], [0.1, 0.1, 0.1, 0.7])
    npy(folder / "one_box.npy", "<f4", [1, 4], [12, 13, 14, 15])
    npy(folder / "no_score.npy", "<f4", [4], [0.1, 0.1, 0.1, 0.1])
    npy(folder / "three_scores.npy", "<f4", [3], [0.1, 0.1, 0.1])
    (folder / "decoder.onnx").write_bytes(decoder())
    text = decode([2], 12)
    npy(folder / "most.npy", "<i8", [], [12])
    npy(folder / "prompt.npy", "<i8", [1], [2])
    npy(folder / "text.npy", "<i8", [len(text)], text)
    (folder / "recurrent.onnx").write_bytes(recurrent(STEPS))
    (folder / "long.onnx").write_bytes(recurrent(200))
    rows = [[(i - j) / 4 for j in range(SIZE)] for i in range(STEPS)]
    npy(folder / "x.npy", "<f4", [STEPS, 1, SIZE], sum(rows, []))
    npy(folder / "all.npy", "<f4", [STEPS, 1, SIZE], recur(rows))
    (folder / "products.onnx").write_bytes(products())
    npy(folder / "trips.npy", "<i8", [], [3])
    (folder / "guarded.onnx").write_bytes(guarded())
    x = [[math.nan if i == 1 else float(i - j) for j in range(GUARDED)] for i in range(GUARDED)]
    npy(folder / "masked.npy", "<f4", [GUARDED] * 2, sum(x, []))
    npy(folder / "unmasked.npy", "<f4", [GUARDED] * 2, [7 if math.isnan(v) else max(v, 0) for row in x for v in row])


if __name__ == "__main__":
    main()
