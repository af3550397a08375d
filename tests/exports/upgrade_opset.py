#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lifts an ONNX model of opset 13 to 21 to a newer one, up to 22, by what changed incompatibly between them.

    upgrade_opset.py MODEL.onnx RESULT.onnx [--opset 22]

Opset 18: reductions take axes as an input, Split has `num_outputs` where no sizes are given. 20: GridSample calls its modes
linear and cubic, DFT takes its axis as an input. 21: GroupNormalization has a scale and bias for each channel instead of each
group, which is refused. All else that changed took more types or optional inputs. Bodies of control flow are lifted,
too. The installed `onnx` need not know the newer opset: the result is not checked by it.
"""
import argparse

import numpy
import onnx
from onnx import helper, numpy_helper

NEWEST = 22
REDUCTIONS = {f"Reduce{kind}" for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")}
GRID_MODES = {b"bilinear": b"linear", b"bicubic": b"cubic"}
IR_VERSION = {18: 8, 19: 9, 20: 9, 21: 10, 22: 10}


def taken(node, name, default=None):
    """The value of an attribute, which the node loses."""
    for attribute in node.attribute:
        if attribute.name == name:
            value = helper.get_attribute_value(attribute)
            node.attribute.remove(attribute)
            return value
    return default


class Lift:
    def __init__(self, first, last):
        self.first, self.last, self.made = first, last, 0

    def crosses(self, opset):
        return self.first < opset <= self.last

    def constant(self, nodes, values):
        """The name of a new constant of 64-bit integers, made by a node before what comes next."""
        self.made += 1
        name = f"lifted_{self.made}"
        tensor = numpy_helper.from_array(numpy.array(values, dtype=numpy.int64), name)
        nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    def lift(self, node, nodes):
        """Appends the node, changed in place, to `nodes`, after what it then needs."""
        if self.crosses(18) and node.op_type in REDUCTIONS:
            axes = taken(node, "axes")
            if axes is not None:
                node.input.append(self.constant(nodes, axes))
        elif self.crosses(18) and node.op_type == "Split" and len([name for name in node.input if name]) == 1:
            node.attribute.append(helper.make_attribute("num_outputs", len(node.output)))
        elif self.crosses(20) and node.op_type == "GridSample":
            mode = taken(node, "mode", b"bilinear")
            node.attribute.append(helper.make_attribute("mode", GRID_MODES.get(mode, mode)))
        elif self.crosses(20) and node.op_type == "DFT":
            axis = self.constant(nodes, taken(node, "axis", 1))
            node.input.extend([""] * (2 - len(node.input)) + [axis])
        elif self.crosses(21) and node.op_type == "GroupNormalization":
            raise SystemExit(f"`{node.name}`: GroupNormalization has weights for groups, from opset 21 on for channels")
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                self.graph(attribute.g)
        nodes.append(node)

    def graph(self, graph):
        nodes = []
        for node in list(graph.node):
            if node.domain in ("", "ai.onnx"):
                self.lift(node, nodes)
            else:
                nodes.append(node)
        del graph.node[:]
        graph.node.extend(nodes)


def upgrade(model, opset=NEWEST):
    """Lifts the model in place and returns it."""
    imported = next(entry for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    if not 13 <= imported.version <= opset <= NEWEST:
        raise SystemExit(f"from opset {imported.version} to {opset}: only from 13 up and to {NEWEST} at most")
    Lift(imported.version, opset).graph(model.graph)
    imported.version = opset
    model.ir_version = max(model.ir_version, IR_VERSION.get(opset, model.ir_version))
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("result")
    parser.add_argument("--opset", type=int, default=NEWEST)
    options = parser.parse_args()
    with open(options.result, "wb") as file:
        file.write(upgrade(onnx.load(options.model), options.opset).SerializeToString())


if __name__ == "__main__":
    main()
