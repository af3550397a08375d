#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""counting_npy.py FILE DIM…: writes an .npy of f32: 0, 1/8, 2/8, … below 2, over and over."""
import struct
import sys


def main(file, dims):
    shape = tuple(map(int, dims))
    count = 1
    for dim in shape:
        count *= dim
    head = repr({"descr": "<f4", "fortran_order": False, "shape": shape})
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    elements = [i % 16 / 8 for i in range(count)]
    with open(file, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{count}f", *elements))


main(sys.argv[1], sys.argv[2:])
