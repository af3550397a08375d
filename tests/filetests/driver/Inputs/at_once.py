#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts N equal commands at once, and prints how many failed: at_once.py N COMMAND..."""
import subprocess
import sys

count = int(sys.argv[1])
running = [subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL) for _ in range(count)]
print(f"{sum(one.wait() != 0 for one in running)} of {count} failed")
