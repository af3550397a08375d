# SPDX-License-Identifier: Apache-2.0
"""Writes N rule files into the current folder, each of which includes the next."""
import sys

count = int(sys.argv[1])
for i in range(count):
    with open(f"{i}.rules", "w", encoding="utf-8") as file:
        file.write("rules 1\n" + (f'include "{i + 1}.rules"\n' if i + 1 < count else ""))
