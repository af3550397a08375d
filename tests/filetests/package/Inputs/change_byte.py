# SPDX-License-Identifier: Apache-2.0
"""change_byte.py FILE OFFSET RESULT copies a file with one byte changed."""
import sys

source, offset, result = sys.argv[1:]
with open(source, "rb") as file:
    data = bytearray(file.read())
data[int(offset)] ^= 0x40
with open(result, "wb") as file:
    file.write(data)
