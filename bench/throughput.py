#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests a second with several in flight, beside one at a time, and beside ONNX Runtime with the same threads.

    throughput.py MODELS... [--threads 2] [--in-flight 8] [--ort FOLDER]

Collage: the compiled package in `collage-run --requests`. ONNX Runtime: one process that answers one request at a time on all
threads, and as many processes at the same time as there are threads, of one thread each; the better of the two counts. All take
turns, round after round; the table has the medians.
"""
import argparse
import json
import os
import statistics
import tempfile
from concurrent.futures import ThreadPoolExecutor

from common import ROOT, add_common, medians, write_json
from report import print_table
from runners import Collage, OnnxRuntime, measure_each, random_inputs, run_process
from stolen_time import StolenTime


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("-r", "--rules", action="append", metavar="PATH", help="default: rules/host.rules")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--in-flight", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=40, help="requests in each round")
    parser.add_argument("--ort", metavar="FOLDER", help="has node_modules/onnxruntime-node")
    add_common(parser, "collagec and collage-run")
    return parser.parse_args()


def ask_collage(package, arguments):
    """(one at a time, several in flight), in requests a second."""
    report = run_process([os.path.join(arguments.bin, "collage-run"), package, "--threads", str(arguments.threads), "--bench",
                          str(arguments.runs), "--requests", str(arguments.in_flight), "--json"], arguments.timeout,
                         arguments.threads)
    requests = json.loads(report)["requests"]
    return requests["one_at_a_time_per_second"], requests["per_second"]


def ask_onnx_runtime(model, ports, inputs, processes, arguments, scratch):
    """Requests a second of so many processes at the same time, which share the threads."""
    def answer(number):
        folder = os.path.join(scratch, f"process{number}")
        os.makedirs(folder, exist_ok=True)
        runtime = OnnxRuntime(arguments.ort, arguments.threads // processes, folder, arguments.timeout)
        return 1 / statistics.mean(runtime.run(model, ports, inputs, arguments.runs // processes).seconds)
    with ThreadPoolExecutor(processes) as pool:
        return sum(pool.map(answer, range(processes)))


def measure(model, arguments):
    rules = [word for path in arguments.rules or [os.path.join(ROOT, "rules/host.rules")] for word in ("-r", path)]
    with tempfile.TemporaryDirectory() as scratch:
        collage = Collage(os.path.join(arguments.bin, "collagec"), rules, arguments.threads, scratch, arguments.timeout)
        ports = collage.ports(model)
        inputs = random_inputs(ports)
        package = os.path.join(scratch, "model.collage")
        run_process([collage.collagec, model, *rules, "--threads", str(arguments.threads), "-o", package], arguments.timeout,
                    arguments.threads)
        onnx = os.path.abspath(model)
        if arguments.ort and not onnx.endswith(".onnx"):
            onnx = os.path.join(scratch, "model.onnx")
            collage.emit_onnx(model, onnx)
        rounds = []
        for _ in range(arguments.rounds):
            stolen = StolenTime()
            one = {}
            one["alone"], one["in_flight"] = ask_collage(package, arguments)
            if arguments.ort:
                one["ort_alone"] = ask_onnx_runtime(onnx, ports, inputs, 1, arguments, scratch)
                one["ort_processes"] = ask_onnx_runtime(onnx, ports, inputs, arguments.threads, arguments, scratch)
            rounds.append(one | {"stolen": stolen.share()})
    return medians(rounds)


def main():
    arguments = parse_arguments()
    header = ["", "one at a time /s", f"{arguments.in_flight} in flight /s", "ratio", "ONNX Runtime alone /s",
              f"{arguments.threads} processes /s", "of its better", ""]
    rows, data = [], measure_each(arguments.models, lambda model: measure(model, arguments))
    for name, one in data.items():
        if "why" in one:
            rows.append([name] + [""] * 6 + [one["why"]])
            continue
        row = [name, f"{one['alone']:.4g}", f"{one['in_flight']:.4g}", f"{one['in_flight'] / one['alone']:.2f}"]
        if arguments.ort:
            better = max(one["ort_alone"], one["ort_processes"])
            row += [f"{one['ort_alone']:.4g}", f"{one['ort_processes']:.4g}", f"{max(one['in_flight'], one['alone']) / better:.2f}"]
        else:
            row += [""] * 3
        rows.append(row + [f"{100 * one['stolen']:.0f} % stolen"])
    print_table(f"requests a second, {arguments.threads} threads", header, rows)
    if arguments.json:
        write_json(arguments.json, {"threads": arguments.threads, "in_flight": arguments.in_flight, "models": data})


if __name__ == "__main__":
    main()
