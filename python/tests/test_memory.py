# SPDX-License-Identifier: Apache-2.0
"""Programs that are dropped give their memory back."""
import ctypes
import gc
import os

import numpy as np


class MallInfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]


LIBC = ctypes.CDLL(None)
LIBC.mallinfo2.restype = MallInfo


def allocated():
    """Bytes that malloc has given out, from the pools of all threads."""
    gc.collect()
    info = LIBC.mallinfo2()
    return info.uordblks + info.hblkhd


def resident():
    gc.collect()
    LIBC.malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_compile_run_drop(compiled, digits_path, images):
    def cycles(count, memory):
        for _ in range(count):
            program = compiled(digits_path)
            program(images[:1])
            program.placement
        del program
        return memory()

    warm = cycles(10, allocated)
    assert cycles(30, allocated) - warm < 1 << 20
    # What is mapped without malloc, such as code. Each compilation has a thread of its own, and malloc keeps pools for
    # threads: at first they grow. A leak always does.
    resident_after = [cycles(30, resident) for _ in range(4)]
    growth = [after - before for before, after in zip(resident_after, resident_after[1:])]
    assert min(growth) < 2 << 20, growth


def test_results(compiled, digits_path, images):
    program = compiled(digits_path)

    def runs(count):
        for _ in range(count):
            program(images[:1])
            program.tensors(images[:1])[0].__dlpack__()
        return resident()

    warm = runs(1000)
    assert runs(10000) - warm < 2 << 20
