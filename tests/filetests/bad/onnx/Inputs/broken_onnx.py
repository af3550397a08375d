#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes FOLDER/broken.onnx, a model with one fault: broken_onnx.py CASE FOLDER

Protobuf by hand, for no ONNX library would write these. Field numbers: onnx.proto (ONNX 1.12).
"""
import pathlib
import struct
import sys

FLOAT, INT64, STRING = 1, 7, 8


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """An integer as a varint, a float as four bytes, text and messages with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(number, values):
    return b"".join(field(number, value) for value in values)


def value_info(name, dims, element=FLOAT):
    shape = b"".join(field(1, field(2 if isinstance(dim, str) else 1, dim)) for dim in dims)
    tensor = field(1, element) + field(2, shape)
    return field(1, name) + field(2, field(1, tensor))


def tensor(name, dims, data=b"", element=FLOAT, more=b""):
    return fields(1, dims) + field(2, element) + field(8, name) + (field(9, data) if data else b"") + more


def attribute(name, kind, value):
    number, code = {"float": (2, 1), "int": (3, 2), "string": (4, 3), "ints": (8, 7), "graph": (6, 5)}[kind]
    return field(1, name) + fields(number, value if kind == "ints" else [value]) + field(20, code)


def node(op, inputs, outputs, attributes=(), domain=""):
    return (fields(1, inputs) + fields(2, outputs) + field(3, op.lower() + "_0") + field(4, op) +
            fields(5, attributes) + (field(7, domain) if domain else b""))


def model(nodes, inputs=None, outputs=None, tensors=(), opset=13):
    inputs = [value_info("x", [1, 4])] if inputs is None else inputs
    outputs = [value_info("y", [1, 4])] if outputs is None else outputs
    graph = fields(1, nodes) + field(2, "g") + fields(5, tensors) + fields(11, inputs) + fields(12, outputs)
    return field(1, 8) + field(7, graph) + field(8, field(2, opset))


RELU = node("Relu", ["x"], ["y"])
ADD_W = node("Add", ["x", "w"], ["y"])


def with_weights(weights):
    return model([ADD_W], tensors=[weights])


def external(location, length=16):
    entries = [("location", location), ("offset", "0"), ("length", str(length))]
    return fields(13, [field(1, key) + field(2, value) for key, value in entries]) + field(14, 1)


CASES = {
    "empty": b"",
    "truncated": model([RELU])[:-9],
    "wrong_magic": b"\x89PNG\r\n\x1a\n" + bytes(64),
    "no_graph": field(1, 8) + field(8, field(2, 13)),
    "no_output": model([RELU], outputs=[]),
    "undefined_output": model([RELU], outputs=[value_info("z", [1, 4])]),
    "unknown_operator": model([node("Rellu", ["x"], ["y"])]),
    "custom_domain": model([node("ScatterNb", ["x"], ["y"], domain="com.example")]),
    "control_flow": model([node("If", ["x"], ["y"], [attribute("then_branch", "graph", field(2, "t")),
                                                     attribute("else_branch", "graph", field(2, "e"))])]),
    "wrong_arity": model([node("Add", ["x"], ["y"])]),
    "attribute_kind": model([node("Softmax", ["x"], ["y"], [attribute("axis", "string", "last")])]),
    "attribute_value": model([node("Softmax", ["x"], ["y"], [attribute("axis", "int", 7)])]),
    "attribute_name": model([node("LeakyRelu", ["x"], ["y"], [attribute("alhpa", "float", 0.5)])]),
    "cycle": model([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"])]),
    "duplicate_names": model([RELU, node("Sigmoid", ["x"], ["y"])]),
    "missing_initializer": model([node("Add", ["x", "weigth"], ["y"])], tensors=[tensor("weight", [4], bytes(16))]),
    "raw_data_length": with_weights(tensor("w", [4], bytes(15))),
    "too_few_elements": with_weights(tensor("w", [4], more=fields(4, [1.0, 2.0, 3.0]))),
    "negative_dims": with_weights(tensor("w", [2, -2], bytes(16))),
    "huge_dims": with_weights(tensor("w", [1 << 40, 1 << 40], bytes(16))),
    "huge_input": model([RELU], inputs=[value_info("x", [1 << 40, 1 << 40])]),
    "external_outside": with_weights(tensor("w", [4], more=external("../../etc/passwd"))),
    "external_missing": with_weights(tensor("w", [4], more=external("weights.bin"))),
    "external_length": with_weights(tensor("w", [4], more=external("weights.bin", 12))),
    "invalid_utf8": model([node("Relu", ["x"], [b"\xff\xfe"])], outputs=[value_info(b"\xff\xfe", [1, 4])]),
    "type_mismatch": model([node("Add", ["x", "n"], ["y"])],
                           inputs=[value_info("x", [1, 4]), value_info("n", [1, 4], INT64)]),
    "shape_mismatch": with_weights(tensor("w", [3], bytes(12))),
    "open_shape": model([RELU], inputs=[value_info("x", ["batch", "width"])]),
    "string_input": model([RELU], inputs=[value_info("x", [1, 4], STRING)]),
    "control_characters": model([node("No\nSuch\x1b[31m", ["x"], ["y"])]),
    "control_names": model([node("Relu", ["x\nerror: fake\x1b[2J"], ["y"])],
                           inputs=[value_info("x\nerror: fake\x1b[2J", [1, 4])]),
    "unnamed_constant": model([RELU, node("Constant", [], [""], [attribute("value_float", "float", 1.0)])]),
    "keepdims": model([node("ReduceMax", ["x"], ["y"], [attribute("keepdims", "int", 2)])]),
    "doubling": model([node("Concat", [f"k{i}", f"k{i}"], [f"k{i + 1}"], [attribute("axis", "int", 0)])
                       for i in range(34)] + [node("Concat", ["x", "k34"], ["y"], [attribute("axis", "int", 0)])],
                      inputs=[value_info("x", [1])], outputs=[value_info("y", [(1 << 34) + 1])],
                      tensors=[tensor("k0", [1], bytes(4))]),
    "growing": model([one for i in range(34) for one in
                      (node("Neg", [f"k{i}"], [f"n{i}"]),
                       node("Concat", [f"k{i}", f"n{i}"], [f"k{i + 1}"], [attribute("axis", "int", 0)]))] +
                     [node("ReduceMax", ["k34"], ["m"], [attribute("keepdims", "int", 0)]),
                      node("Add", ["x", "m"], ["y"])],
                     tensors=[tensor("k0", [1], struct.pack("<f", 1.5))]),
    "new_opset": model([RELU], opset=99),
}


def main():
    case, folder = sys.argv[1:]
    (pathlib.Path(folder) / "broken.onnx").write_bytes(CASES[case])


if __name__ == "__main__":
    main()
