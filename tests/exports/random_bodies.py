# SPDX-License-Identifier: Apache-2.0
"""Makers of random If, Loop and Scan nodes, for random_graphs.py. Bodies are chains of a few operators that read values of the
graph outside, states and elements."""
import numpy as np
from onnx import TensorProto, helper

from random_operators import MAKERS, ONNX_TYPE, Draft, maker

CHAIN = {"f": ["Tanh", "Abs", "Neg", "Sigmoid", "Relu"], "i": ["Abs", "Neg"]}


def typed(name, dtype, shape=None):
    return helper.make_tensor_value_info(name, ONNX_TYPE[str(dtype)], shape)


def chain(g, start, dtype, prefix, operand=None):
    """Nodes from the value `start`, one of which may add the value `operand`; returns them and the last name."""
    nodes, name = [], start
    for i in range(g.within(1, 3)):
        result = f"{prefix}{i}"
        if operand is not None and g.chance(.5):
            nodes.append(helper.make_node(g.some(["Add", "Sub"]), [name, operand], [result]))
        else:
            nodes.append(helper.make_node(g.some(CHAIN[np.dtype(dtype).kind]), [name], [result]))
        name = result
    return nodes, name


@maker(.7, run_time=True)
def branches(g):
    a = g.value(["float32", "int32", "int64"])
    b = g.fit(a.dtype, a.shape)
    graphs = []
    for which, start in (("then", a), ("else", b)):
        nodes, last = chain(g, start.name, a.dtype, f"{g.prefix()}{which}", a.name)
        graphs.append(helper.make_graph(nodes, which, [], [typed(last, a.dtype)]))
    condition = g.fit("bool", [])
    return Draft("If", [condition], {"then_branch": graphs[0], "else_branch": graphs[1]}, 1, [a, b])


@maker(.7, run_time=True)
def loop(g):
    a = g.value(["float32", "int32", "int64"])
    step = g.like(a)
    if np.broadcast(a.a, step.a).shape != a.shape:
        step = g.fit(a.dtype, a.shape)
    p = g.prefix()
    nodes, last = chain(g, f"{p}state", a.dtype, f"{p}b", step.name)
    nodes.append(helper.make_node("Identity", [last], [f"{p}each"]))
    stop = g.within(0, 4) if g.chance(.5) else 99
    nodes.append(helper.make_node("Constant", [], [f"{p}stop"], value=helper.make_tensor("t", TensorProto.INT64, [], [stop])))
    nodes.append(helper.make_node("Less", [f"{p}i", f"{p}stop"], [f"{p}more"]))
    body = helper.make_graph(nodes, "body", [typed(f"{p}i", "int64", []), typed(f"{p}go", "bool", []), typed(f"{p}state", a.dtype)],
                             [typed(f"{p}more", "bool"), typed(last, a.dtype), typed(f"{p}each", a.dtype)])
    trips = g.const(np.array(g.within(0, 5), np.int64)) if g.chance(.7) else g.index(np.array(g.within(0, 5), np.int64))
    return Draft("Loop", [trips, "" if g.chance(.5) else g.const(np.array(True)), a], {"body": body}, 2, [step])


@maker(.7)
def scan(g):
    a = g.value(["float32", "int32"], 2, 4)
    axis, p = g.within(0, a.ndim - 1), g.prefix()
    dims = list(a.shape[:axis] + a.shape[axis + 1:])
    state = g.fit(a.dtype, dims)
    nodes, last = chain(g, f"{p}state", a.dtype, f"{p}b", f"{p}x")
    nodes.append(helper.make_node("Sub", [last, f"{p}x"], [f"{p}each"]))
    body = helper.make_graph(nodes, "body", [typed(f"{p}state", a.dtype, dims), typed(f"{p}x", a.dtype, dims)],
                             [typed(last, a.dtype, dims), typed(f"{p}each", a.dtype, dims)])
    attributes = {"body": body, "num_scan_inputs": 1, "scan_input_axes": [axis]}
    if g.chance(.4):
        attributes["scan_input_directions"] = [g.within(0, 1)]
    if g.chance(.4):
        attributes["scan_output_directions"] = [g.within(0, 1)]
    if g.chance(.4):
        attributes["scan_output_axes"] = [g.within(0, a.ndim - 1)]
    return Draft("Scan", [state, a], attributes, 2)


assert MAKERS
