# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends what takes long, and progress is shown meanwhile."""
import _thread
import io
import os
import subprocess
import sys
import threading

import pytest

import collage
from conftest import ROOT

NETWORK = ROOT / "examples/networks/resnet50.ir"

# Sends itself Ctrl-C where the environment says, and says how long the call went on after that.
INTERRUPTED = """
import os, signal, sys, threading, time
import collage

def interrupt():
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

threading.Timer(float(sys.argv[2]), interrupt).start()
try:
    CALL
except KeyboardInterrupt:
    print("interrupted after", time.monotonic() - sent)
else:
    print("done")
"""


def interrupted(build, call, model, seconds):
    """Seconds from the signal to the exception."""
    environment = dict(os.environ, PYTHONPATH=str(build / "python"))
    said = subprocess.run([sys.executable, "-B", "-c", INTERRUPTED.replace("CALL", call), str(model), str(seconds)], cwd=ROOT,
                          env=environment, check=True, stdout=subprocess.PIPE, text=True, timeout=120).stdout
    assert said.startswith("interrupted after "), said
    return float(said.split()[-1])


@pytest.mark.parametrize("network, costs, seconds", [("resnet50", "measured", 2.0), ("nasnet_a", "estimate", 0.2)])
def test_ctrl_c_ends_compiling(build, network, costs, seconds):
    call = f"collage.compile(sys.argv[1], costs={costs!r}, cost_db='', cache='')"
    assert interrupted(build, call, ROOT / f"examples/networks/{network}.ir", seconds) < 1


def test_ctrl_c_ends_a_dynamic_program(build, tmp_path):
    lines = ["model @m(%h0: f32[n, 64]) -> (%y: f32[n, 124]) {"]
    for i in range(60):  # no two are alike
        lines += [f"  %w{i} = const random seed {i + 1} : f32[{64 + i}, {65 + i}]", f"  %a{i} = MatMul(%h{i}, %w{i})",
                  f"  %h{i + 1} = Sigmoid(%a{i})"]
    (tmp_path / "m.ir").write_text("\n".join([*lines, "  %y = Relu(%h60)", "}", ""]))
    call = "import numpy; collage.dynamic(sys.argv[1], costs='measured', cost_db='', cache='')(numpy.zeros((3, 64), 'float32'))"
    assert interrupted(build, call, tmp_path / "m.ir", 2.0) < 2


def interrupt_soon():
    """As Ctrl-C does."""
    threading.Timer(0.2, _thread.interrupt_main).start()


def test_an_interrupted_question_leaves_the_program_usable(compiled):
    program = compiled(NETWORK)
    with program._lock:  # the question waits for this one
        interrupt_soon()
        with pytest.raises(KeyboardInterrupt):
            program.explain("op:Conv", "host")
    assert len(program.explain("op:Gemm")) == 1


class Recorder:
    """In place of a compiler."""

    def __init__(self):
        self.stops = []
        self.at = ("compiling", 9, 9, "")

    def stop(self, stops=True):
        self.stops.append(stops)

    def progress(self):
        return self.at


def test_work_that_waits_stops_no_other():
    from collage import _work

    compiler, lock, is_at_work, may_end, results = Recorder(), threading.Lock(), threading.Event(), threading.Event(), []

    def first():
        is_at_work.set()
        may_end.wait(60)
        return "first"

    other = threading.Thread(target=lambda: results.append(_work.run(compiler, first, False, lock)))
    other.start()
    assert is_at_work.wait(60)
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        _work.run(compiler, lambda: results.append("second"), False, lock)
    assert compiler.stops == [False]
    may_end.set()
    other.join()
    assert results == ["first"]


def test_progress_is_that_of_the_own_work():
    from collage import _work

    compiler, seen = Recorder(), []
    assert _work.run(compiler, lambda: 7, seen.append) == 7 and seen == []

    def work():
        compiler.at = ("searching", 1, 2, "")

    _work.run(compiler, work, seen.append)
    assert seen == [collage.Progress("searching", 1, 2, "")]


def test_progress_is_passed_on(compiled):
    seen = []
    program = compiled(NETWORK, progress=seen.append)
    assert seen and all(isinstance(one, collage.Progress) for one in seen)
    assert {one.work for one in seen} <= {"searching", "compiling"}
    assert all(before != after for before, after in zip(seen, seen[1:]))
    assert program.inputs
    assert str(collage.Progress("measuring", 3, 9, "host Conv")) == "measuring 3 of 9: host Conv"
    assert str(collage.Progress("searching", 0, 0, "")) == "searching"


def test_exceptions_of_listeners_end_the_call(compiled):
    def failing(progress):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        compiled(NETWORK, progress=failing)
    with pytest.raises(TypeError, match="progress: want True, False or a function"):
        compiled("no/such.ir", progress="yes")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_line_on_a_terminal(compiled, monkeypatch):
    from collage import _work

    monkeypatch.setattr(_work._Line, "_FIRST", 0.0)
    for shown, stream, is_said in ((None, Terminal(), True), (None, io.StringIO(), False), (False, Terminal(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        compiled(NETWORK, progress=shown)
        assert bool(stream.getvalue()) == is_said
        assert not is_said or stream.getvalue().endswith("\r\x1b[K")
    for shown in (None, True):
        monkeypatch.setattr(sys, "stderr", None)  # as under pythonw
        compiled(NETWORK, progress=shown)
    monkeypatch.setattr(_work._Line, "_BETWEEN", 0.0)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    compiled(NETWORK, progress=True)
    assert sys.stderr.getvalue().startswith("collage: ") and " s  " in sys.stderr.getvalue()


def test_no_thread_is_left(compiled, digits_path):
    compiled(digits_path)
    assert not [one for one in threading.enumerate() if one.name == "collage"]
