#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs an ONNX model in ONNX Runtime's Python package: ort_runner.py REQUEST.json. Request and reply are those of
ort_runner.js, without `ort`."""
import json
import os
import sys
import time

import numpy
import onnxruntime

with open(sys.argv[1], encoding="utf-8") as file:
    request = json.load(file)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = request["threads"]
options.inter_op_num_threads = 1
options.log_severity_level = 3
session = onnxruntime.InferenceSession(request["model"], options, providers=["CPUExecutionProvider"])
feeds = {port.name: numpy.fromfile(given["file"], "f4").reshape(given["dims"])
         for port, given in zip(session.get_inputs(), request["inputs"])}
results = session.run(None, feeds)
seconds = []
if request["runs"] > 0:
    for _ in range(3):
        session.run(None, feeds)
    for _ in range(request["runs"]):
        start = time.perf_counter()
        results = session.run(None, feeds)
        seconds.append(time.perf_counter() - start)
outputs = []
for i, (port, result) in enumerate(zip(session.get_outputs(), results)):
    numpy.asarray(result, "f4").tofile(os.path.join(request["outputs"], f"{i}.bin"))
    outputs.append({"name": port.name, "dims": list(result.shape)})
print(json.dumps({"version": onnxruntime.__version__, "runs_s": seconds, "outputs": outputs}))
