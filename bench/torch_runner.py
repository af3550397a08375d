#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a network in PyTorch: torch_runner.py BUILDER.py NAME eager|opt THREADS RUNS OUTPUT.bin

`build(NAME)` of the builder module gives a module and its input. `opt` traces and freezes it and lets PyTorch optimise it for
inference. Prints {"version": …, "runs_s": [...]} and writes the output as raw f32.
"""
import importlib.util
import json
import os
import sys
import time
import warnings


def main():
    builder_path, name, mode, threads, runs, output = sys.argv[1:]
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = threads  # before torch is loaded
    warnings.filterwarnings("ignore")
    import torch
    torch.set_num_threads(int(threads))
    spec = importlib.util.spec_from_file_location("builder", builder_path)
    builder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(builder)
    module, x = builder.build(name)
    seconds = []
    with torch.no_grad():
        if mode == "opt":
            module = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(module, x)))
        for _ in range(3):
            y = module(x)
        for _ in range(int(runs)):
            start = time.perf_counter()
            y = module(x)
            seconds.append(time.perf_counter() - start)
    y.contiguous().numpy().tofile(output)
    print(json.dumps({"version": torch.__version__, "runs_s": seconds}))


if __name__ == "__main__":
    main()
