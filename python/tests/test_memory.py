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

    warm = cycles(10)
    assert cycles(30) - warm < 8 << 20


def test_results(compiled, digits_path, images):
    program = compiled(digits_path)

    def runs(count):
        for _ in range(count):
            program(images[:1])
            program.tensors(images[:1])[0].__dlpack__()
        return resident()

    warm = runs(1000)
    assert runs(10000) - warm < 2 << 20
