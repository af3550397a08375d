#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Latency of whole networks: every placement strategy, with ONNX Runtime and PyTorch beside them.

    networks.py MODELS... [--threads 2] [--rounds 3] [--ort FOLDER] [--torch BUILDER.py] [--json FILE]

MODELS are .ir and .onnx files, or folders of them. Beside NAME.onnx, NAME.in.bin and NAME.ref.bin may hold the input and the
expected output as raw f32; without them the input is random, and outputs are compared with ONNX Runtime's, or else with those
of the first contender that ran. Models have f32 ports; .ir models reach ONNX Runtime through --emit=onnx.

Contenders run one after the other, each in its own process, round after round, and each round begins with another of them; a
round's figure is the median of its runs. The table shows the median over the rounds, and in `spread` how far the rounds lie apart.
What is missing or fails is shown with its reason. `peak` is the best that the processor's multiply-adds reached in the same rounds
(fma_peak). The last table has a line for each network: how many times as long as `optimal` the best other strategy and the best peer
take. That is the geometric mean of the ratios within the rounds, with its 95 % interval (bootstrap over the rounds). After it, how many
times as long as predicted each strategy takes in each network, which of these are off by more than 10 %, and where `optimal` is more
than 2 % slower than another strategy: by the whole interval, or perhaps.

On a virtual machine whose host is busy, rounds during which more than --stolen percent of the processor time was taken away are
repeated as a whole, for all contenders alike; the report says how many were.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field

import numpy

from common import ROOT, add_common
from report import geometric_mean, print_table, processor, ratio_of_rounds
from stolen_time import StolenTime, wait_until_quiet
from runners import Collage, Failed, OnnxRuntime, Torch, random_inputs, relative_error, run_process

STRATEGIES = "optimal,greedy,eager,tvm,single:host,single:onednn,single:openblas,single:xnnpack"
MOST_ERROR = 0.1    # of predictions
MOST_LOSS = 0.02    # of `optimal` to another strategy


@dataclass
class Contender:
    name: str
    run: object                    # () -> runners.Run
    is_peer: bool = False
    rounds: list = field(default_factory=list)  # seconds: the median of each round
    last: object = None            # the latest Run
    why: str = ""                  # it failed, or is missing

    def seconds(self):
        return statistics.median(self.rounds)

    def spread(self):
        return (max(self.rounds) - min(self.rounds)) / self.seconds()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL", help="a file, or a folder of them")
    parser.add_argument("--only", default="", metavar="NAME,NAME", help="of the models in folders")
    parser.add_argument("--strategies", default=STRATEGIES, help=f"default: {STRATEGIES}")
    parser.add_argument("-r", "--rules", action="append", metavar="PATH", help="default: rules/host.rules and the libraries'")
    parser.add_argument("--option", action="append", default=[], metavar="WORD", help="one more word for every collagec")
    parser.add_argument("--peak", default="widest", choices=("widest", "avx2"),
                        help="vectors of the peak; avx2 beside --option=--cpu=haswell")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=20, help="timed runs in each round")
    parser.add_argument("--stolen", type=float, default=5, metavar="PERCENT",
                        help="repeat rounds of which the hypervisor took more (default: 5; 100 repeats none)")
    parser.add_argument("--patience", type=float, default=300, metavar="SECONDS",
                        help="for a network, to repeat rounds and to wait for a quiet moment (default: 300)")
    parser.add_argument("--ort", metavar="FOLDER", help="has node_modules/onnxruntime-node; else this Python's onnxruntime runs, if it has one")
    parser.add_argument("--torch", metavar="BUILDER.py", help="its build(NAME) gives a module and its input")
    add_common(parser, "collagec and fma_peak")
    arguments = parser.parse_args()
    if arguments.rules is None:
        shipped = [os.path.join(ROOT, "rules", name + ".rules") for name in ("host", "onednn", "openblas", "xnnpack")]
        arguments.rules = [path for path in shipped if os.path.exists(path)]
    if os.path.isdir(arguments.torch or ""):
        parser.error("--torch wants a Python file")
    return arguments


def find_models(arguments):
    wanted = [name for name in arguments.only.split(",") if name]
    models = []
    for path in arguments.models:
        if not os.path.isdir(path):
            models.append(path)
            continue
        files = sorted(name for name in os.listdir(path) if name.endswith((".ir", ".onnx")))
        models += [os.path.join(path, name) for name in files if not wanted or os.path.splitext(name)[0] in wanted]
    return models


def given_data(model, ports):
    """The input and the expected output that lie beside a model, or nothing."""
    stem = os.path.splitext(model)[0]
    if len(ports[0]) != 1 or len(ports[1]) != 1 or not os.path.exists(stem + ".in.bin"):
        return None, None
    expected = [numpy.fromfile(stem + ".ref.bin", "f4")] if os.path.exists(stem + ".ref.bin") else None
    return [numpy.fromfile(stem + ".in.bin", "f4").reshape(ports[0][0][1])], expected


def contenders_for(model, name, ports, inputs, arguments, scratch):
    options = [word for rule in arguments.rules for word in ("-r", rule)] + arguments.option
    collage = Collage(os.path.join(arguments.bin, "collagec"), options, arguments.threads, scratch, arguments.timeout)
    contenders = []
    for strategy in arguments.strategies.split(","):
        contenders.append(Contender(strategy, lambda s=strategy: collage.run(model, s, ports, inputs, arguments.runs)))
    if arguments.ort or OnnxRuntime.is_in_python():
        runtime = OnnxRuntime(arguments.ort, arguments.threads, scratch, arguments.timeout)

        def run_ort():
            file = model
            if not file.endswith(".onnx"):
                file = os.path.join(scratch, name + ".onnx")
                if not os.path.exists(file):
                    collage.emit_onnx(model, file)
            return runtime.run(os.path.abspath(file), ports, inputs, arguments.runs)
        contenders.append(Contender("onnxruntime", run_ort, is_peer=True))
    else:
        contenders.append(Contender("onnxruntime", None, is_peer=True, why="skipped: neither --ort is given nor does this Python have onnxruntime"))
    if arguments.torch:
        torch = Torch(arguments.torch, arguments.threads, scratch, arguments.timeout)
        for mode in ("eager", "opt"):
            contenders.append(Contender(f"torch {mode}", lambda m=mode: torch.run(name, m, arguments.runs), is_peer=True))
    else:
        contenders.append(Contender("torch", None, is_peer=True, why="skipped: --torch is not given"))
    return contenders


def fill_costs(contenders):
    """Has costs measured now: a process that did so just before its timed runs would be slower than the others."""
    for contender in contenders:
        if contender.is_peer or contender.why:
            continue
        try:
            contender.run()
        except Failed:
            pass  # the rounds tell


def run_round(name, contenders, first):
    """Runs each contender once, beginning with `first`. Returns the medians by name, and the share of time that was stolen."""
    stolen = StolenTime()
    medians = {}
    for contender in contenders[first:] + contenders[:first]:
        if contender.why:
            continue
        try:
            contender.last = contender.run()
            medians[contender.name] = statistics.median(contender.last.seconds)
        except Failed as failure:
            contender.why = str(failure)
            print(f"{name}, {contender.name}: {failure}", file=sys.stderr)
    return medians, stolen.share()


def run_rounds(name, contenders, arguments):
    """Adds the rounds in which least was stolen to the contenders.

    Returns GFLOP/s of the peak in each round, how many rounds were repeated, and the largest share stolen from those that count.
    """
    def peak():
        return float(run_process([os.path.join(arguments.bin, "fma_peak"), str(arguments.threads), arguments.peak], 60))

    limit = arguments.stolen / 100
    end = time.monotonic() + arguments.patience
    peaks, tries = [], []  # of tries: (stolen, medians)
    while sum(stolen <= limit for stolen, _ in tries) < arguments.rounds:
        if len(tries) >= arguments.rounds and time.monotonic() > end:
            break
        peaks.append(wait_until_quiet(peak, limit, max(0.0, end - time.monotonic())))
        medians, stolen = run_round(name, contenders, len(tries) % len(contenders))
        tries.append((stolen, medians))
    kept = sorted(tries, key=lambda one: one[0])[:arguments.rounds]
    for _, medians in kept:
        for contender in contenders:
            if contender.name in medians:
                contender.rounds.append(medians[contender.name])
    return peaks, len(tries) - len(kept), max((stolen for stolen, _ in kept), default=0.0)


@dataclass
class Measured:
    contenders: list
    expected: list            # outputs
    whose: str                # expected outputs these are
    peaks: list               # GFLOP/s in each round
    repeated: int             # rounds
    stolen: float             # the largest share of the rounds that are kept


def measure(model, arguments):
    name = os.path.splitext(os.path.basename(model))[0]
    with tempfile.TemporaryDirectory() as scratch:
        ports = Collage(os.path.join(arguments.bin, "collagec"), [], arguments.threads, scratch, arguments.timeout).ports(model)
        inputs, expected = given_data(model, ports)
        contenders = contenders_for(model, name, ports, inputs or random_inputs(ports), arguments, scratch)
        fill_costs(contenders)
        peaks, repeated, stolen = run_rounds(name, contenders, arguments)
    whose = "the file beside the model"
    if expected is None:
        ran = [c for c in contenders if c.last]
        reference = next((c for c in ran if c.name == "onnxruntime"), ran[0] if ran else None)
        expected, whose = (reference.last.outputs, reference.name) if reference else ([], "nothing")
    return Measured(contenders, expected, whose, peaks, repeated, stolen)


def table_rows(contenders, expected, peak):
    """Rows of text, and the same as data. Contenders that failed in a later round are failures."""
    ran = [c for c in contenders if not c.why]
    macs = max((c.last.macs for c in ran), default=0)
    best_peer = min((c.seconds() for c in ran if c.is_peer), default=None)
    rows, data = [], []
    for c in contenders:
        if c.why:
            rows.append([c.name] + [""] * (len(HEADER) - 2) + [c.why])
            data.append({"name": c.name, "is_peer": c.is_peer, "why": c.why})
            continue
        gflops = 2 * macs / c.seconds() / 1e9
        share = "  ".join(f"{backend} {100 * part:.1f} %" for backend, part in sorted(c.last.share.items()) if part > 0)
        error = relative_error(c.last.outputs, expected)
        rows.append([c.name, f"{c.last.predicted * 1e3:.3f}" if c.last.predicted else "", f"{c.seconds() * 1e3:.3f}",
                     f"{c.seconds() / c.last.predicted:.2f}" if c.last.predicted else "",
                     f"{100 * c.spread():.0f} %", f"{gflops:.1f}", f"{100 * gflops / peak:.0f} %", f"{error:.1e}",
                     f"{c.seconds() / best_peer:.2f}" if best_peer else "", share or c.last.version])
        data.append({"name": c.name, "is_peer": c.is_peer, "predicted_s": c.last.predicted or None, "measured_s": c.seconds(),
                     "spread": c.spread(), "rounds_s": c.rounds, "gflops": gflops, "of_peak": gflops / peak,
                     "relative_error": error if numpy.isfinite(error) else None,
                     "of_best_peer": c.seconds() / best_peer if best_peer else None,
                     "macs_share": c.last.share, "version": c.last.version or None})
    return rows, data


HEADER = ["", "predicted ms", "measured ms", "measured / predicted", "spread", "GFLOP/s", "of peak", "rel. error", "of best peer", "MACs on"]
SUMMARY = ["", "optimal ms", "best other ms", "other / optimal", "best peer ms", "peer / optimal", "of peak", "rel. error", ""]


def best(data, is_peer):
    """The fastest peer, or the fastest strategy but `optimal`; nothing where there is none."""
    ran = [row for row in data if "measured_s" in row and row["is_peer"] == is_peer and row["name"] != "optimal"]
    return min(ran, key=lambda row: row["measured_s"], default=None)


def summary_row(name, data):
    """`optimal` against the others, as text and as data."""
    optimal = next((row for row in data if row["name"] == "optimal" and "measured_s" in row), None)
    if optimal is None:
        return [name] + [""] * 7 + ["`optimal` was not measured"], {}
    cells, ratios = [name, f"{optimal['measured_s'] * 1e3:.3f}"], {}
    remarks = []
    for is_peer, key in ((False, "best_other_over_optimal"), (True, "best_peer_over_optimal")):
        other = best(data, is_peer)
        ratios[key] = ratio = ratio_of_rounds(other["rounds_s"], optimal["rounds_s"]) if other else None
        text = f"{ratio['ratio']:.2f} [{ratio['low']:.2f}, {ratio['high']:.2f}]" if other else ""
        cells += [f"{other['measured_s'] * 1e3:.3f}" if other else "", text]
        remarks += [other["name"]] if other else []
    error = "inf" if optimal["relative_error"] is None else f"{optimal['relative_error']:.1e}"
    cells += [f"{100 * optimal['of_peak']:.0f} %", error, ", ".join(remarks)]
    return cells, ratios


def print_predictions(networks):
    """Measured to predicted time, a line for each network and a column for each strategy."""
    ratios = {}
    for network in networks:
        rows = {row["name"]: row["measured_s"] / row["predicted_s"]
                for row in network.get("contenders", []) if row.get("predicted_s") and "measured_s" in row}
        if rows:
            ratios[network["name"]] = rows
    strategies = list(dict.fromkeys(name for rows in ratios.values() for name in rows))
    if not strategies:
        return
    table = [[name] + [f"{rows[s]:.2f}" if s in rows else "" for s in strategies] for name, rows in ratios.items()]
    print_table("measured / predicted", [""] + strategies, table)
    every = [ratio for rows in ratios.values() for ratio in rows.values()]
    good = sum(abs(ratio - 1) <= MOST_ERROR for ratio in every)
    print(f"\n{good} of {len(every)} predictions within {100 * MOST_ERROR:.0f} %, geometric mean {geometric_mean(every):.3f}")
    lost = {True: [], False: []}  # by whether the whole interval says so
    for network in networks:
        ratio = network.get("best_other_over_optimal")
        if ratio and ratio["ratio"] < 1 - MOST_LOSS:
            text = f"{network['name']} {ratio['ratio']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}]"
            lost[ratio["high"] < 1 - MOST_LOSS].append(text)
    print(f"optimal more than {100 * MOST_LOSS:.0f} % slower than another strategy: {', '.join(lost[True]) or 'nowhere'}; "
          f"perhaps: {', '.join(lost[False]) or 'nowhere'}")


def main():
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    print(f"{processor()}, {arguments.threads} threads, {arguments.rounds} rounds of {arguments.runs} runs, load {load:.1f}")
    report = {"processor": processor(), "threads": arguments.threads, "rounds": arguments.rounds, "runs": arguments.runs,
              "load": load, "networks": []}
    summary = []
    for model in find_models(arguments):
        name = os.path.splitext(os.path.basename(model))[0]
        try:
            measured = measure(model, arguments)
        except Failed as failure:
            summary.append([name] + [""] * 7 + [str(failure)])
            report["networks"].append({"name": name, "why": str(failure)})
            continue
        peak = max(measured.peaks)
        rows, data = table_rows(measured.contenders, measured.expected, peak)
        macs = max((c.last.macs for c in measured.contenders if c.last), default=0)
        print_table(f"{name}: {2 * macs / 1e9:.3g} GFLOP, peak {peak:.0f} GFLOP/s, errors against {measured.whose}, "
                    f"{100 * measured.stolen:.1f} % of the time stolen, {measured.repeated} rounds repeated", HEADER, rows)
        sys.stdout.flush()
        cells, ratios = summary_row(name, data)
        summary.append(cells)
        report["networks"].append({"name": name, "gflop": 2 * macs / 1e9, "peak_gflops": peak, "peaks_gflops": measured.peaks,
                                   "errors_against": measured.whose, "stolen": measured.stolen,
                                   "repeated_rounds": measured.repeated, "contenders": data, **ratios})
    print_table("optimal against the others", SUMMARY, summary)
    print_predictions(report["networks"])
    against = [network["best_peer_over_optimal"] for network in report["networks"] if network.get("best_peer_over_optimal")]
    if len(against) > 1:
        print(f"\ngeometric mean of peer / optimal over {len(against)} networks: {geometric_mean([r['ratio'] for r in against]):.2f}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
