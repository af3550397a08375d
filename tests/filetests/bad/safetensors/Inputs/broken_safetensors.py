#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes FOLDER/broken.safetensors, with one fault: broken_safetensors.py CASE FOLDER"""
import json
import pathlib
import struct
import sys


def file(header, data=bytes(16)):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype="F32", shape=(4,), offsets=(0, 16)):
    return {"w": {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}}


CASES = {
    "empty": b"",
    "header_length": struct.pack("<Q", 1 << 40) + b"{}",
    "no_json": file(b'{"w": {"dtype": "F32", '),
    "deep_json": file(b"[" * 100000),
    "dtype": file(entry("C64")),
    "offsets_outside": file(entry(offsets=(0, 16)), bytes(12)),
    "shape": file(entry(shape=(5,))),
    "hole": file(entry(offsets=(4, 20)), bytes(20)),
    "overlap": file({**entry(), "v": entry(offsets=(8, 24))["w"]}, bytes(24)),
    "tail": file(entry(), bytes(20)),
    "negative_shape": file(entry(shape=(-4,))),
    "huge_shape": file(entry(shape=(1 << 40, 1 << 40))),
    "no_offsets": file({"w": {"dtype": "F32", "shape": [4]}}),
}


def main():
    case, folder = sys.argv[1:]
    (pathlib.Path(folder) / "broken.safetensors").write_bytes(CASES[case])


if __name__ == "__main__":
    main()
