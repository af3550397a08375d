#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ONNX models that Collage writes, run in ONNX Runtime: the same numbers as in Collage.

    check_onnx.py MODEL... --ort FOLDER [-r RULES]... [--strategy S]

Prints max |difference| / max |output| for each model, and the magnitude of the outputs; exits with 1 where a model fails or
differs by more than --tolerance. With python3-onnx installed, ONNX's own checker looks at each file too.
"""
import argparse
import os
import sys
import tempfile

import numpy

from runners import Collage, Failed, OnnxRuntime, random_inputs, relative_error

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def checked(path):
    try:
        import onnx
    except ImportError:
        return "not checked: python3-onnx is missing"
    onnx.checker.check_model(path, full_check=True)
    return "checked"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--ort", required=True, metavar="FOLDER", help="has node_modules/onnxruntime-node")
    parser.add_argument("--collagec", default=os.path.join(ROOT, "build/release/bin/collagec"))
    parser.add_argument("-r", "--rules", action="append", metavar="PATH", help="default: rules/host.rules")
    parser.add_argument("--strategy", default="single:host")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--timeout", type=float, default=600)
    arguments = parser.parse_args()
    options = [word for rule in arguments.rules or [os.path.join(ROOT, "rules/host.rules")] for word in ("-r", rule)]
    good = True
    for model in arguments.models:
        name = os.path.splitext(os.path.basename(model))[0]
        with tempfile.TemporaryDirectory() as scratch:
            collage = Collage(arguments.collagec, options, arguments.threads, scratch, arguments.timeout)
            runtime = OnnxRuntime(arguments.ort, arguments.threads, scratch, arguments.timeout)
            try:
                ports = collage.ports(model)
                inputs = random_inputs(ports)
                ours = collage.run(model, arguments.strategy, ports, inputs, 0)
                onnx_file = os.path.join(scratch, name + ".onnx")
                collage.emit_onnx(model, onnx_file)
                state = checked(onnx_file)
                theirs = runtime.run(onnx_file, ports, inputs, 0)
            except Failed as failure:
                print(f"{name:<16} failed: {failure}", flush=True)
                good = False
                continue
        error = relative_error(ours.outputs, theirs.outputs)
        magnitude = max(float(numpy.abs(output).max()) for output in theirs.outputs)
        verdict = "" if error <= arguments.tolerance else "   DIFFERS"
        good = good and not verdict
        print(f"{name:<16} max|diff| / max|y| = {error:.2e}   max|y| = {magnitude:.4g}   {state}{verdict}", flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
