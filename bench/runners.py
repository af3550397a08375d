# SPDX-License-Identifier: Apache-2.0
"""Runs one model once in Collage, ONNX Runtime or PyTorch, each in a process of its own; used by the scripts beside it.

Every runner returns a `Run` or raises `Failed` with one line of why. All take f32 models; inputs are numpy arrays in the order
of the model's inputs.
"""
import importlib.util
import json
import os
import re
import sys
from dataclasses import dataclass, field

import numpy

from common import Failed, run_process

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass
class Run:
    seconds: list          # of each timed run
    outputs: list          # f32 arrays, flat
    predicted: float = 0   # seconds; 0: says nothing
    macs: float = 0        # of the whole model
    share: dict = field(default_factory=dict)  # backend -> its part of the MACs
    version: str = ""


class Collage:
    """`options` go to every collagec: rules, targets, costs."""

    def __init__(self, collagec, options, threads, folder, timeout):
        self.collagec, self.options, self.threads = collagec, options, threads
        self.folder, self.timeout = folder, timeout

    def path(self, name):
        return os.path.join(self.folder, name)

    def ports(self, model):
        """([(name, dims)] of the inputs, the same of the outputs) after the passes."""
        text = self.path("ports.ir")
        run_process([self.collagec, model, "--emit=ir", "-o", text], self.timeout)
        with open(text, encoding="utf-8") as file:
            head = next(line for line in file if line.startswith("model "))
        for name in ("ports.ir", "ports.safetensors", "ports.1.safetensors"):
            if os.path.exists(self.path(name)):
                os.remove(self.path(name))
        sides = []
        for side in head.rsplit(") -> (", 1):
            ports = re.findall(r'%("(?:[^"\\]|\\.)*"|[^\s:,()]+): (\w+)\[([^\]]*)\]', side)
            if any(dtype != "f32" for _, dtype, _ in ports):
                raise Failed("only models of f32 inputs and outputs are compared")
            sides.append([(name.strip('"'), [int(dim) for dim in dims.split(",") if dim.strip()]) for name, _, dims in ports])
        return sides

    def emit_onnx(self, model, path):
        run_process([self.collagec, model, "--emit=onnx", "-o", path], self.timeout)

    def run(self, model, strategy, ports, inputs, runs):
        """`runs` timed runs; 0: runs once."""
        shared = [model, *self.options, f"--strategy={strategy}", "--threads", str(self.threads)]
        for i, ((name, dims), array) in enumerate(zip(ports[0], inputs)):
            numpy.save(self.path(f"in{i}.npy"), array.astype("f4").reshape(dims))
            shared += ["--input", f"{name}={self.path(f'in{i}.npy')}"]
        command = [self.collagec, "run", *shared, f"--json={self.path('run.json')}"]
        for i, (name, _) in enumerate(ports[1]):
            command += ["--save", f"{name}={self.path(f'out{i}.npy')}"]
        run_process(command, self.timeout, self.threads)
        with open(self.path("run.json"), encoding="utf-8") as file:
            placement = json.load(file)["placement"]
        seconds = []
        if runs > 0:
            command = [self.collagec, "bench", *shared, "--runs", str(runs), f"--json={self.path('bench.json')}"]
            run_process(command, self.timeout, self.threads)
            with open(self.path("bench.json"), encoding="utf-8") as file:
                seconds = json.load(file)["bench"]["runs_s"]
        share = {}
        macs = placement["work"]["macs"]
        for partition in placement["partitions"]:
            part = partition["macs"] / macs if macs else 0
            share[partition["backend"]] = share.get(partition["backend"], 0) + part
        outputs = [numpy.load(self.path(f"out{i}.npy")).ravel() for i in range(len(ports[1]))]
        return Run(seconds, outputs, placement["cost"]["predicted_s"], macs, share)


class OnnxRuntime:
    """`folder` has node_modules/onnxruntime-node; None: Python's package `onnxruntime` runs the model."""

    @staticmethod
    def is_in_python():
        return importlib.util.find_spec("onnxruntime") is not None

    def __init__(self, folder, threads, scratch, timeout):
        self.folder, self.threads, self.scratch, self.timeout = folder, threads, scratch, timeout

    def run(self, model, ports, inputs, runs):
        request = {"model": model, "threads": self.threads, "runs": runs, "inputs": [], "outputs": self.scratch}
        runner = [sys.executable, os.path.join(HERE, "ort_runner.py")]
        if self.folder:
            request["ort"] = os.path.abspath(self.folder)
            runner = ["node", os.path.join(HERE, "ort_runner.js")]
        for i, ((_, dims), array) in enumerate(zip(ports[0], inputs)):
            file = os.path.join(self.scratch, f"ort_in{i}.bin")
            array.astype("f4").tofile(file)
            request["inputs"].append({"file": file, "dims": dims})
        request_file = os.path.join(self.scratch, "request.json")
        with open(request_file, "w", encoding="utf-8") as file:
            json.dump(request, file)
        reply = json.loads(run_process([*runner, request_file], self.timeout))
        outputs = [numpy.fromfile(os.path.join(self.scratch, f"{i}.bin"), "f4") for i in range(len(reply["outputs"]))]
        return Run(reply["runs_s"], outputs, version=reply["version"])


class Torch:
    """`builder` is a Python file whose `build(NAME)` gives a module and its input."""

    def __init__(self, builder, threads, scratch, timeout):
        self.builder, self.threads, self.scratch, self.timeout = builder, threads, scratch, timeout

    def run(self, name, mode, runs):
        output = os.path.join(self.scratch, "torch_out.bin")
        reply = json.loads(run_process([sys.executable, os.path.join(HERE, "torch_runner.py"), self.builder, name, mode,
                                        str(self.threads), str(runs), output], self.timeout))
        return Run(reply["runs_s"], [numpy.fromfile(output, "f4")], version=reply["version"])


def measure_each(models, measure):
    """{name: what `measure(model)` returns}; {"why": …} for a model that failed."""
    data = {}
    for model in models:
        name = os.path.splitext(os.path.basename(model))[0]
        try:
            data[name] = measure(model)
        except Failed as failure:
            data[name] = {"why": str(failure)}
    return data


def relative_error(outputs, expected):
    """max |difference| / max |expected| over all outputs; infinite where their number, sizes or finiteness
    differ."""
    if len(outputs) != len(expected):
        return float("inf")
    worst = 0.0
    for actual, wanted in zip(outputs, expected):
        if actual.size != wanted.size or not numpy.array_equal(numpy.isfinite(actual), numpy.isfinite(wanted)):
            return float("inf")
        finite = numpy.isfinite(wanted)
        if not finite.any():
            continue
        difference = numpy.abs(actual[finite].astype("f8") - wanted[finite].astype("f8")).max()
        magnitude = numpy.abs(wanted[finite]).max()
        if difference > 0:
            worst = max(worst, float(difference / magnitude) if magnitude > 0 else float("inf"))
    return worst


def random_inputs(ports):
    """Normally distributed, the same in every run."""
    generator = numpy.random.default_rng(1)
    return [generator.standard_normal(dims).astype("f4") for _, dims in ports[0]]
