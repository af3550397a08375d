#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What other systems would place, held against the optimal placement and against the host alone: `collagec compare --policies`.

    policies.py MODELS... [-r RULES] [--costs estimate|measured] [--only here|chips] [--write docs/policies.md]
    policies.py MODELS... --costs measured --runs 20 --rounds 5 --threads 2

MODELS are files, or folders of .ir and .onnx files. There is a table for the backends that run here, and one in which models of chips
take part as well (--simulated), whose times are what their rule files state. Without --runs the figures are predictions, and the same on
every machine where costs are estimates. With --runs every placement on backends that run here is built and timed, in turn; each round is a
process of its own, and ratios have 95 % intervals over the rounds.

A policy's row: the geometric mean over the models of how many times as long as `optimal` it takes, the largest such ratio and its model, how
many of the models take longer than on the host alone, and its partitions outside the host. The second table has ratio and partitions
of each model. --write puts the tables between the marks of a page.
"""
import argparse
import json
import os
import sys

import numpy

from common import ROOT, Failed, add_common, run_process, write_json
from report import RESAMPLES, geometric_mean, log_ratios, ratio_of_rounds

BEGIN, END = "<!-- made by bench/policies.py -->", "<!-- end -->"
SHOWN = ("merge", "tvm")  # of the other strategies: BYOC of Relay, and TVM's Collage
SETS = {
    "here": ("The backends of this machine", []),
    "chips": ("With models of chips", ["--simulated"]),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("-r", "--rules", action="append", metavar="PATH", help="default: rules/")
    parser.add_argument("--costs", choices=("estimate", "measured"), default="estimate")
    parser.add_argument("--cost-db", metavar="FILE", help="of measured costs")
    parser.add_argument("--only", choices=SETS, help="one of the tables")
    parser.add_argument("--runs", type=int, default=0, help="timed runs in each round; 0: predictions alone")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--write", metavar="FILE", help="a page with the marks; the tables are printed in any case")
    add_common(parser, "collagec", timeout=3600)
    return parser.parse_args()


def models_of(paths):
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        yield from sorted(os.path.join(path, name) for name in os.listdir(path) if name.endswith((".ir", ".onnx")))


class Row:
    """What one strategy does with one model."""

    def __init__(self, strategy):
        self.strategy = strategy["strategy"]
        self.is_policy = strategy.get("is_policy", False)
        self.partitions = strategy["partitions_off_host"]
        self.values = []  # by round; seconds of runs, or the one that is predicted

    def add(self, strategy):
        timed = strategy.get("measured")
        self.values.append(timed["median_s"] if timed else next(value for key, value in strategy.items() if key.startswith("predicted_")))


def compared(model, options, arguments):
    """By strategy, the rows of those that found a placement."""
    is_timed = arguments.runs > 0 and "--simulated" not in options
    command = [os.path.join(arguments.bin, "collagec"), "compare", model, "--policies", "--json", f"--costs={arguments.costs}", *options]
    command += [word for path in arguments.rules or [os.path.join(ROOT, "rules")] for word in ("-r", path)]
    command += ["--runs", str(arguments.runs)] if is_timed else []
    command += ["--threads", str(arguments.threads)] if arguments.threads else []
    command += [f"--cost-db={arguments.cost_db}"] if arguments.cost_db else []
    rows = {}
    for _ in range(arguments.rounds if is_timed else 1):
        document = json.loads(run_process(command, arguments.timeout, arguments.threads))
        for strategy in document["compare"]["strategies"]:
            if "failure" not in strategy:
                rows.setdefault(strategy["strategy"], Row(strategy)).add(strategy)
    return rows


def ratio(row, of):
    return ratio_of_rounds(row.values, of.values)["ratio"] if len(row.values) > 1 else row.values[0] / of.values[0]


def is_slower(row, host):
    """By more than the spread of the rounds, where there are several."""
    if len(row.values) > 1:
        return ratio_of_rounds(row.values, host.values)["low"] > 1
    return row.values[0] > host.values[0] * (1 + 1e-9)


def mean_text(name, networks):
    """The geometric mean over the models, with its interval where they were timed."""
    pairs = [(rows[name].values, rows["optimal"].values) for rows in networks.values() if name in rows]
    logs = [log_ratios(values, best) for values, best in pairs]
    mean = geometric_mean([numpy.exp(one.mean()) for one in logs])
    if min(map(len, logs)) < 2:
        return f"{mean:.3f}"
    generator = numpy.random.default_rng(1)
    picks = [one[generator.integers(0, len(one), (RESAMPLES, len(one)))].mean(axis=1) for one in logs]
    low, high = numpy.exp(numpy.percentile(numpy.mean(picks, axis=0), [2.5, 97.5]))
    return f"{mean:.3f} ({low:.3f} to {high:.3f})"


def shown_names(networks):
    """In the order of the first model: policies, then the other strategies that are shown, and the host alone."""
    first = next(iter(networks.values()))
    policies = [name for name, row in first.items() if row.is_policy]
    return policies + [name for name in SHOWN if name in first] + ["host only"]


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "| --- |" + " --: |" * (len(header) - 1)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def tables(title, networks):
    names = shown_names(networks)
    summary = []
    for name in names:
        with_it = {model: rows for model, rows in networks.items() if name in rows}
        worst = max(with_it, key=lambda model: ratio(with_it[model][name], with_it[model]["optimal"]))
        slower = sum(is_slower(rows[name], rows["host only"]) for rows in with_it.values())
        partitions = sum(rows[name].partitions for rows in with_it.values())
        summary.append([f"`{name}`", mean_text(name, networks), f"{ratio(with_it[worst][name], with_it[worst]['optimal']):.2f} ({worst})",
                        "" if name == "host only" else f"{slower} of {len(with_it)}", str(partitions)])
    each = []
    for model, rows in networks.items():
        cells = [f"{ratio(rows[name], rows['optimal']):.2f} ({rows[name].partitions})" if name in rows else "-" for name in names]
        each.append([model, str(rows["optimal"].partitions)] + cells)
    return [f"**{title}**", "",
            *markdown(["policy", "takes / optimal", "at worst", "slower than the host alone", "partitions"], summary), "",
            *markdown(["model", "partitions of optimal"] + [f"`{name}`" for name in names], each), ""]


def put(path, lines):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if BEGIN not in text or END not in text:
        sys.exit(f"{path} lacks the marks {BEGIN} and {END}")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + "\n".join([BEGIN, "", *lines, END]) + after)


def main():
    arguments = parse_arguments()
    lines, everything = [], {}
    for key in [arguments.only] if arguments.only else SETS:
        title, options = SETS[key]
        networks = {}
        for model in models_of(arguments.models):
            name = os.path.splitext(os.path.basename(model))[0]
            try:
                rows = compared(model, options, arguments)
            except Failed as failure:
                print(f"{name}: {failure}", file=sys.stderr)
                continue
            if "host only" not in rows:
                print(f"{name}: the host alone cannot run it", file=sys.stderr)
                continue
            networks[name] = rows
        if not networks:
            continue
        is_timed = arguments.runs > 0 and key == "here"
        kind = "measured" if is_timed else f"predicted, costs {'measured' if arguments.costs == 'measured' else 'estimated'}"
        lines += tables(f"{title}: {kind}, models: {len(networks)}", networks)
        everything[key] = {model: {name: vars(row) for name, row in rows.items()} for model, rows in networks.items()}
    print("\n".join(lines))
    if arguments.json:
        write_json(arguments.json, everything)
    if arguments.write and lines:
        put(arguments.write, lines)
    if not lines:
        sys.exit("no model was compared")


if __name__ == "__main__":
    main()
