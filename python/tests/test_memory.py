# SPDX-License-Identifier: Apache-2.0
"""Programs that are dropped give their memory back."""
import gc
import os

import numpy as np


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_compile_run_drop(compiled, digits_path, images):
    def cycles(count):
        for _ in range(count):
            program = compiled(digits_path)
            program(images[:1])
            program.placement
        return resident()

    # Each compilation has a thread of its own, and malloc keeps pools for threads: at first they grow. A leak always does.
    resident_after = [cycles(30) for _ in range(4)]
    growth = [after - before for before, after in zip(resident_after, resident_after[1:])]
    assert min(growth) < 4 << 20, growth


def test_results(compiled, digits_path, images):
    program = compiled(digits_path)

    def runs(count):
        for _ in range(count):
            program(images[:1])
            program.tensors(images[:1])[0].__dlpack__()
        return resident()

    warm = runs(1000)
    assert runs(10000) - warm < 2 << 20
