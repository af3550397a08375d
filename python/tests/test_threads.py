# SPDX-License-Identifier: Apache-2.0
"""Other threads of Python run while the compiler and programs work, and may use one program."""
import concurrent.futures
import os
import signal
import threading
import time

import numpy as np

from conftest import ROOT


def longest_pause(work):
    """The longest time that this thread stood still while `work` ran in another one, and how long that took."""
    took = []

    def timed():
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)

    thread = threading.Thread(target=timed)
    thread.start()
    longest, before = 0.0, time.perf_counter()
    while thread.is_alive():
        time.sleep(0.001)
        now = time.perf_counter()
        longest, before = max(longest, now - before), now
    thread.join()
    return longest, took[0]


def test_compiling_releases_the_gil(compiled):
    longest, took = longest_pause(lambda: compiled(ROOT / "examples/networks/resnet50.ir"))
    assert longest < took / 2, f"stood still for {longest:.3f} s of {took:.3f} s"


def test_running_releases_the_gil(compiled):
    program = compiled("model @m(%x: f32[1536, 1536]) -> (%y: f32[1536, 1536]) {\n"
                       "  %a = MatMul(%x, %x)\n  %b = MatMul(%a, %x)\n  %y = MatMul(%b, %x)\n}\n")
    x = np.zeros((1536, 1536), "float32")
    program(x)
    longest, took = longest_pause(lambda: program(x))
    assert longest < took / 2, f"stood still for {longest:.3f} s of {took:.3f} s"


def test_one_program_in_several_threads(digits, images):
    expected = [digits(images[i:i + 1]) for i in range(64)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for result, wanted in zip(pool.map(lambda i: digits(images[i % 64:i % 64 + 1]), range(512)), expected * 8):
            np.testing.assert_array_equal(result, wanted)


def exit_code_of_fork(work):
    """What a forked process gets of `work`, or "hangs"."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(work())
        finally:
            os._exit(99)
    for _ in range(600):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"


def test_a_forked_process_runs_the_programs_of_its_parent(compiled):
    model = ("model @m(%x: f32[256, 256]) -> (%y: f32[256, 256]) {\n  %w = const splat 0.5 : f32[256, 256]\n"
             "  %a = MatMul(%x, %w)\n  %y = Relu(%a)\n}\n")
    x = np.ones((256, 256), "float32")
    program = compiled(model, threads=2, rules=[ROOT / "rules/host.rules", ROOT / "rules/onednn.rules"], strategy="single:onednn")
    assert program(x)[0, 0] == 128
    assert exit_code_of_fork(lambda: int(program(x)[255, 255])) == 128
    assert exit_code_of_fork(lambda: int(compiled(model, threads=2)(x)[0, 0])) == 128
    assert program(x)[0, 0] == 128


def test_questions_wait_for_each_other(compiled, digits_path):
    program = compiled(digits_path)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: str(program.explain("conv1", "npu")), range(8)))
    assert len(set(answers)) == 1


def test_compilers_are_independent(compiled, digits_path, images):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda _: compiled(digits_path)(images[:1]), range(6)))
    for result in results:
        np.testing.assert_array_equal(result, results[0])
