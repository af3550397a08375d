#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes FOLDER/NAME.onnx: made_onnx.py NAME FOLDER

Models that the model language cannot say: operators that the importer composes, functions, ports with one name.
"""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bad/onnx/Inputs"))
from broken_onnx import INT64, attribute, field, fields, model, node, tensor, value_info  # noqa: E402


def attention(extra=(), **kinds):
    ports = [value_info(name, [1, 16, 64]) for name in "qkv"]
    attributes = [attribute("q_num_heads", "int", 4), attribute("kv_num_heads", "int", 4), *extra]
    return model([node("Attention", ["q", "k", "v"], ["y"], attributes)], ports, [value_info("y", [1, 16, 64])], opset=24)


def function(name, inputs, outputs, nodes):
    return (field(1, name) + fields(4, inputs) + fields(5, outputs) + fields(7, nodes) + field(9, field(2, 13)) +
            field(10, "local"))


TWICE = function("twice", ["x"], ["y"], [node("Add", ["x", "x"], ["y"])])
# Has the name of one of the standard's operators of sequences.
COORDINATES = function("SequenceLength", ["x"], ["y"], [node("NonZero", ["x"], ["y"])])
FOUR_TIMES = function("four_times", ["x"], ["y"], [node("twice", ["x"], ["t"], domain="local"),
                                                   node("twice", ["t"], ["y"], domain="local")])
CASES = {
    "attention": attention(),
    "causal_attention": attention([attribute("is_causal", "int", 1)]),
    "calls": model([node("four_times", ["x"], ["y"], domain="local")]) + fields(25, [TWICE, FOUR_TIMES]),
    "foreign_name": model([node("SequenceLength", ["x"], ["y"], domain="local")],
                          outputs=[value_info("y", [2, "n"], INT64)]) + field(25, COORDINATES),
    "output_twice": model([node("Relu", ["x"], ["y"])], outputs=[value_info("y", [1, 4]), value_info("y", [1, 4])]),
    "default": model([node("Add", ["x", "w"], ["y"])], inputs=[value_info("x", [1, 4]), value_info("w", [4])],
                     tensors=[tensor("w", [4], struct.pack("<4f", 1, 1, 1, 1))]),
    "equals": model([node("Relu", ["in=x"], ["out"]), node("Neg", ["in=x"], ["out=1,2"])], inputs=[value_info("in=x", [1, 4])],
                    outputs=[value_info("out", [1, 4]), value_info("out=1,2", [1, 4])]),
    "same_name": model([node("Relu", ["x"], ["y"])], outputs=[value_info("x", [1, 4]), value_info("y", [1, 4])]),
}


def main():
    name, folder = sys.argv[1:]
    (pathlib.Path(folder) / f"{name}.onnx").write_bytes(CASES[name])


if __name__ == "__main__":
    main()
