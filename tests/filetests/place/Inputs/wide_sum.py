#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a model of N Relus of one input and their sum: wide_sum.py N"""
import sys

count = int(sys.argv[1])
print("model @wide(%x: f32[4]) -> (%y: f32[4]) {")
for i in range(count):
    print(f"  %r{i} = Relu(%x)")
print(f"  %y = Sum({', '.join(f'%r{i}' for i in range(count))})\n}}")
