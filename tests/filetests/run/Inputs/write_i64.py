#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a .npy of i64[N]: write_i64.py FILE NUMBER..."""
import pathlib
import struct
import sys

numbers = [int(word) for word in sys.argv[2:]]
header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({len(numbers)},), }}\n".encode()
pathlib.Path(sys.argv[1]).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
                                      struct.pack(f"<{len(numbers)}q", *numbers))
