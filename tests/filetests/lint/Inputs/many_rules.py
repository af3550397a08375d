#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes COUNT rules of KINDS different kinds."""
import sys

count, kinds = int(sys.argv[1]), int(sys.argv[2])
print("rules 1\nbackend chip {\n  device chip { link host bandwidth 4 GB/s }\n  runtime sim")
for i in range(count):
    group = i % kinds + 1
    print(f"""  rule r{i} {{
    match c = Conv(x, w: const)
    where c.group == {group} else "group"
    cost macs * {group} ps
    lower "conv{group}"(x, w)
    test ok "%c = Conv(%x, %w) {{group = {group}}}" with x: f32[1, {group}, 1, 1], w: f32[{group}, 1, 1, 1] -> {{%c}}
    test no "%c = Conv(%x, %w) {{group = {group + 1}}}" with x: f32[1, {group + 1}, 1, 1], w: f32[{group + 1}, 1, 1, 1]
      because "group"
  }}""")
print("}")
