#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Work of the host beside a device that takes real time: how long plans take, held against the prediction.

    overlap.py MODELS... [--threads 1] [--gmacs 1] [--share 0.5] [--rounds 3] [--runs 10]

Places each model with `--objective=makespan` on the host and on the simulated engine of engine.rules, which takes as long as it
says (`realtime=1`), and runs it end to end. The engine is slower than the host, so convolutions are given to it (`--place`), those
with the fewest multiply-adds first, until it has work for --share of the time that the host takes alone. The table shows the
predicted makespan, the measured time, the sum of all steps of the same placement, and what the host takes alone. The engine computes
with the reference kernels, on a processor that host kernels then do not have: give the host fewer threads than the machine has
processors.

Rounds of which the hypervisor took more than --stolen percent of the processor time are repeated, at most --patience seconds.
"""
import argparse
import json
import os
import statistics
import tempfile
import time

import numpy

from common import ROOT, add_common, medians, write_json
from report import print_table
from runners import Collage, measure_each, random_inputs
from stolen_time import StolenTime

CONVOLUTIONS = ("conv", "conv_last", "conv_winograd", "conv_from_plain")
HEADER = ["", "makespan predicted ms", "measured ms", "measured / predicted", "sum of steps ms", "host alone ms", "engine's MACs", ""]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("-r", "--rules", action="append", metavar="PATH", help="beside the engine's; default: rules/host.rules")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--gmacs", type=float, default=1, help="10^9 multiply-adds a second of the engine")
    parser.add_argument("--share", type=float, default=0.5, help="work of the engine, by the host's time alone")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=10, help="timed runs in each round")
    parser.add_argument("--stolen", type=float, default=5, metavar="PERCENT")
    parser.add_argument("--patience", type=float, default=120, metavar="SECONDS")
    add_common(parser, "collagec")
    return parser.parse_args()


def collagec(arguments, scratch, given):
    """`given`: nodes for the engine; none: the host alone."""
    options = [word for path in arguments.rules or [os.path.join(ROOT, "rules/host.rules")] for word in ("-r", path)]
    if given:
        options += ["-r", os.path.join(ROOT, "bench/engine.rules"), "-t", f"engine,realtime=1,gmacs={arguments.gmacs}",
                    "-t", "host", "--objective=makespan", *(f"--place={node}=engine" for node in given)]
    return Collage(os.path.join(arguments.bin, "collagec"), options, arguments.threads, scratch, arguments.timeout)


def placement_of(collage):
    with open(collage.path("placement.json"), encoding="utf-8") as file:
        return json.load(file)


def sum_of_steps(placement):
    return sum(step["cost_s"] for step in placement["partitions"] + placement["conversions"])


def work_for_engine(placement, arguments):
    """The first nodes of the host's partitions that are one convolution and what follows it."""
    seconds = arguments.share * sum_of_steps(placement)
    convolutions = [p for p in placement["partitions"] if p["rules"] and p["rules"][0] in CONVOLUTIONS]
    given = []
    for partition in sorted(convolutions, key=lambda p: p["macs"]):
        seconds -= partition["macs"] / arguments.gmacs / 1e9
        if seconds < 0 and given:
            break
        given.append(partition["nodes"][0])
    return given


def measure(model, arguments):
    with tempfile.TemporaryDirectory() as scratch:
        host = collagec(arguments, scratch, [])
        ports = host.ports(model)
        inputs = random_inputs(ports)
        expected = host.run(model, "optimal", ports, inputs, 0).outputs
        mixed = collagec(arguments, scratch, work_for_engine(placement_of(host), arguments))
        mixed.run(model, "optimal", ports, inputs, 0)
        end, tries = time.monotonic() + arguments.patience, []
        while sum(one["stolen"] <= arguments.stolen / 100 for one in tries) < arguments.rounds:
            if len(tries) >= arguments.rounds and time.monotonic() > end:
                break
            stolen = StolenTime()
            alone = host.run(model, "optimal", ports, inputs, arguments.runs)
            ran = mixed.run(model, "optimal", ports, inputs, arguments.runs)
            placement = placement_of(mixed)
            tries.append({"stolen": stolen.share(), "host_s": statistics.median(alone.seconds),
                          "measured_s": statistics.median(ran.seconds), "predicted_s": placement["objective"]["value"],
                          "sum_s": sum_of_steps(placement), "engine_macs": ran.share.get("engine", 0),
                          "differs": max(float(numpy.abs(a - e).max() / max(1e-30, numpy.abs(e).max()))
                                         for a, e in zip(ran.outputs, expected))})
        kept = sorted(tries, key=lambda one: one["stolen"])[:arguments.rounds]
        return medians(kept)


def main():
    arguments = parse_arguments()
    rows, data = [], measure_each(arguments.models, lambda model: measure(model, arguments))
    for name, one in data.items():
        if "why" in one:
            rows.append([name] + [""] * 6 + [one["why"]])
            continue
        rows.append([name, f"{one['predicted_s'] * 1e3:.3f}", f"{one['measured_s'] * 1e3:.3f}",
                     f"{one['measured_s'] / one['predicted_s']:.3f}", f"{one['sum_s'] * 1e3:.3f}",
                     f"{one['host_s'] * 1e3:.3f}", f"{100 * one['engine_macs']:.0f} %",
                     f"outputs differ by {one['differs']:.0e}, {100 * one['stolen']:.0f} % stolen"])
    print_table(f"host with {arguments.threads} threads, engine of {arguments.gmacs:g} GMAC/s", HEADER, rows)
    if arguments.json:
        write_json(arguments.json, {"threads": arguments.threads, "gmacs": arguments.gmacs, "models": data})


if __name__ == "__main__":
    main()
