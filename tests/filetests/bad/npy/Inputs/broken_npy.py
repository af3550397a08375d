#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes FOLDER/broken.npy, with one fault or of another type than f32[2, 3]: broken_npy.py CASE FOLDER"""
import pathlib
import struct
import sys


def file(descr="<f4", shape="(2, 3)", data=bytes(24), version=1):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H", len(header)) + header + data


CASES = {
    "empty": b"",
    "wrong_magic": b"PK\x03\x04" + bytes(60),
    "version": file(version=9),
    "short_header": file()[:40],
    "no_shape": file().replace(b"'shape'", b"'sharp'"),
    "big_endian": file(">f4"),
    "objects": file("|O"),
    "short_data": file(data=bytes(23)),
    "huge_shape": file(shape="(1099511627776, 1099511627776)"),
    "negative_shape": file(shape="(-2, 3)"),
    "fortran_none": file().replace(b"False", b"None "),
    "no_commas": file(shape="(2 3)"),
    "number": file(shape="(6)"),
    "junk": file().replace(b"}\n", b"}x"),
    "key_twice": file().replace(b", }", b", 'shape': (2, 3)}"),
    "other_dtype": file("<f8", data=bytes(48)),
    "other_shape": file(shape="(3, 2)"),
}


def main():
    case, folder = sys.argv[1:]
    (pathlib.Path(folder) / "broken.npy").write_bytes(CASES[case])


if __name__ == "__main__":
    main()
