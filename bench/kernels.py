#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every distinct convolution and matrix product of some models, alone: generated code beside the libraries.

    kernels.py MODELS... [--threads 1,2] [--rounds 5] [--json FILE]
    kernels.py --read FILE... [--json FILE]        tables of earlier runs, together

The shapes are those of the models after the passes; equal ones are timed once. Of each backend the fastest of its layouts and rules
counts, and no change of layout at the edges: in a network the neighbours have the same layout. Inputs are warm and weights are
cold, as they are there. All contenders take turns in one process, and each round begins with another of them.

`of peak` is the rate of the definition's operations over the peak of the processor's multiply-adds, measured in the same round; an
algorithm that needs fewer of them can exceed 100 %. Ratios say how many times as long the library takes as generated code: the
geometric mean, and its 95 % interval (bootstrap over the rounds). `in networks` weights each shape with how often the models have it.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import numpy

from report import interval_of, log_ratios, print_table, processor, ratio_of_rounds

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OURS = "host"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="a file, or a folder of them")
    parser.add_argument("--read", nargs="+", default=[], metavar="FILE", help="measure nothing: these were written by --json")
    parser.add_argument("-r", "--rules", action="append", metavar="PATH", help="default: rules/host.rules and the libraries'")
    parser.add_argument("--threads", default="1,2", help="default: 1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget", type=float, default=0.03, help="seconds for one turn of one contender")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/release/bin"), help="has kernels_bench")
    parser.add_argument("--json", metavar="FILE", help="everything that was measured")
    arguments = parser.parse_args()
    if bool(arguments.models) == bool(arguments.read):
        parser.error("either models or --read")
    if arguments.rules is None:
        shipped = [os.path.join(ROOT, "rules", name + ".rules") for name in ("host", "onednn", "openblas", "xnnpack")]
        arguments.rules = [path for path in shipped if os.path.exists(path)]
    return arguments


def files_of(paths):
    for path in paths:
        if os.path.isdir(path):
            yield from (os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith((".ir", ".onnx")))
        else:
            yield path


def measure(arguments, threads):
    command = [os.path.join(arguments.bin, "kernels_bench"), *files_of(arguments.models), "-r", *arguments.rules,
               "--threads", str(threads), "--rounds", str(arguments.rounds), "--budget", str(arguments.budget)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ, OMP_NUM_THREADS=str(threads))) as process:
        shapes = []
        for line in process.stdout:
            shapes.append(json.loads(line))
            print(f"\r{threads} threads, {len(shapes)} shapes", end="", file=sys.stderr)
    print(file=sys.stderr)
    if process.returncode != 0:
        sys.exit(f"kernels_bench: exit code {process.returncode}")
    return shapes


def fastest(shape):
    """backend -> its contender with the smallest median over the rounds"""
    found = {}
    for contender in shape["contenders"]:
        if not contender.get("rounds_s"):
            continue
        contender["seconds"] = statistics.median(contender["rounds_s"])
        other = found.get(contender["backend"])
        if other is None or contender["seconds"] < other["seconds"]:
            found[contender["backend"]] = contender
    return found


def of_peak(shape, contender):
    """The median over the rounds."""
    return statistics.median(shape["flops"] / seconds / 1e9 / peak
                             for seconds, peak in zip(contender["rounds_s"], shape["peaks_gflops"]))


def interval_text(ratio):
    return f"{ratio['ratio']:.2f} [{ratio['low']:.2f}, {ratio['high']:.2f}]" if ratio else ""


def shape_table(shapes, threads, libraries):
    rows = []
    for shape in shapes:
        found = fastest(shape)
        ours = found.get(OURS)
        if ours is None:
            rows.append([shape["kind"], shape["name"], "", "", "", "", ""] + [""] * len(libraries) + ["not compiled"])
            continue
        shape["of_peak"] = of_peak(shape, ours)
        shape["over_ours"] = {name: ratio_of_rounds(found[name]["rounds_s"], ours["rounds_s"]) for name in libraries if name in found}
        rows.append([shape["kind"], shape["name"], f"{ours['seconds'] * 1e6:.1f}", f"{shape['flops'] / ours['seconds'] / 1e9:.1f}",
                     f"{100 * shape['of_peak']:.0f} %", ours["layout"], ours.get("rules", "")]
                    + [interval_text(shape["over_ours"].get(name)) for name in libraries]
                    + [f"{shape['count']}x {', '.join(shape['networks'])}"])
    header = ["kind", "shape", "us", "GFLOP/s", "of peak", "layout", "rule"] + [f"{name} / ours" for name in libraries] + ["in"]
    print_table(f"{len(shapes)} shapes, {threads} threads", header, rows)


def class_row(title, shapes, libraries):
    """As text and as data."""
    cells, data = [title, str(len(shapes)), f"{100 * numpy.exp(numpy.mean([numpy.log(s['of_peak']) for s in shapes])):.0f} %"], {}
    for name in libraries:
        both = [(fastest(shape), shape) for shape in shapes if name in shape["over_ours"]]
        if not both:
            cells += ["", ""]
            continue
        rounds = min(len(contender["rounds_s"]) for found, _ in both for contender in (found[OURS], found[name]))
        logs = numpy.mean([log_ratios(f[name]["rounds_s"][:rounds], f[OURS]["rounds_s"][:rounds]) for f, _ in both], axis=0)
        total = {n: sum(f[n]["seconds"] * s["count"] for f, s in both) for n in (name, OURS)}
        data[name] = dict(interval_of(logs), in_networks=total[name] / total[OURS], shapes=len(both))
        cells += [interval_text(data[name]), f"{data[name]['in_networks']:.2f}"]
    worst = min((s for s in shapes if libraries[:1] and libraries[0] in s["over_ours"]),
                key=lambda s: s["over_ours"][libraries[0]]["ratio"], default=None)
    cells.append(f"{worst['over_ours'][libraries[0]]['ratio']:.2f}  {worst['name']}" if worst else "")
    return cells, data


def class_table(shapes, threads, libraries):
    rows, classes = [], []
    timed = [shape for shape in shapes if "of_peak" in shape]
    if not timed:
        return classes
    kinds = sorted({shape["kind"] for shape in timed})
    for kind in kinds + ["all"]:
        members = [shape for shape in timed if kind in ("all", shape["kind"])]
        cells, data = class_row(kind, members, libraries)
        rows.append(cells)
        classes.append({"kind": kind, "threads": threads, "shapes": len(members), "over_ours": data})
    header = ["", "shapes", "of peak"]
    for name in libraries:
        header += [f"{name} / ours", "in networks"]
    header.append(f"worst against {libraries[0]}" if libraries else "")
    print_table(f"by class, {threads} threads", header, rows)
    return classes


def merge(files):
    """The shapes of several runs; of one that two runs have, the first."""
    report = None
    for path in files:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        report = report or dict(data, shapes=[])
        known = {(s["kind"], s["name"], s["threads"]) for s in report["shapes"]}
        report["shapes"] += [s for s in data["shapes"] if (s["kind"], s["name"], s["threads"]) not in known]
    return report


def main():
    arguments = parse_arguments()
    if arguments.read:
        report = merge(arguments.read)
    else:
        report = {"processor": processor(), "rounds": arguments.rounds, "load": os.getloadavg()[0], "shapes": []}
        for threads in arguments.threads.split(","):
            report["shapes"] += measure(arguments, int(threads))
    print(f"{report['processor']}, {report['rounds']} rounds, load {report['load']:.1f}")
    names = {contender["backend"] for shape in report["shapes"] for contender in shape["contenders"] if "rounds_s" in contender}
    libraries = sorted(names - {OURS})
    report["classes"] = []
    for threads in sorted({shape["threads"] for shape in report["shapes"]}):
        shapes = sorted((s for s in report["shapes"] if s["threads"] == threads), key=lambda s: (s["kind"], s["name"]))
        shape_table(shapes, threads, libraries)
        report["classes"] += class_table(shapes, threads, libraries)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(report, file, separators=(",", ":"))


if __name__ == "__main__":
    main()
