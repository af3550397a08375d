# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime for Python that has none: a process of Node (run_ort.js) that runs models on NumPy arrays.

It is started again after a crash, and where a model takes too long (loops over numbers of the special inputs)."""
import base64
import json
import os
import select
import subprocess

import numpy as np

TYPES = {"float32": "float32", "float64": "float64", "float16": "float16", "int8": "int8", "uint8": "uint8",
         "int16": "int16", "uint16": "uint16", "int32": "int32", "uint32": "uint32", "int64": "int64",
         "uint64": "uint64", "bool": "bool"}


class OrtError(Exception):
    """What ONNX Runtime says of a model that it does not run."""


class Ort:
    def __init__(self, folder, seconds=60):
        self.folder, self.seconds = folder, seconds
        self.process = None

    def _start(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_ort.js")
        self.process = subprocess.Popen(["node", script, self.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)

    def run(self, model, inputs, optimise=False):
        """`model` is a path or the bytes of one; returns arrays by the names of the outputs."""
        if self.process is None:
            self._start()
        request = {"model": model if isinstance(model, str) else {"bytes": base64.b64encode(model).decode()},
                   "optimise": optimise, "inputs": {name: encode(array) for name, array in inputs.items()}}
        try:
            self.process.stdin.write((json.dumps(request) + "\n").encode())
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], self.seconds)[0]:
                self.process.kill()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            code = self.process.wait()
            self.process = None
            raise OrtError(f"crashed with {code}")
        reply = json.loads(line)
        if "error" in reply:
            raise OrtError(reply["error"])
        return {name: decode(tensor) for name, tensor in reply["outputs"].items()}


def encode(array):
    array = np.asarray(array)
    return {"type": TYPES[array.dtype.name], "dims": list(array.shape),
            "data": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()}


def decode(tensor):
    return np.frombuffer(base64.b64decode(tensor["data"]), dtype=tensor["type"]).reshape(tensor["dims"]).copy()
