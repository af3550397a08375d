#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of what networks.py and kernels.py measured, as SVG files.

    plots.py --networks NETWORKS.json... --kernels KERNELS.json... --output FOLDER

networks.svg: for each network, how many times as long as `optimal` the best peer and the best other strategy take; kernels.svg: how
many times as long the libraries take as generated code, by class; both with 95 % intervals. roofline.svg: the rate of each kernel of
generated code over its operations per byte, under the peak of the multiply-adds and the rate at which memory is read. The
clock rate varies: a kernel stands where its share of the peak in its own rounds puts it.

Needs matplotlib (package python3-matplotlib).
"""
import argparse
import json
import os
import statistics

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "collage", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False,
                            "axes.spines.right": False, "legend.frameon": False})
from matplotlib import pyplot, ticker  # noqa: E402  (after the choice of the back end)

COLORS = ["#3b6ea8", "#d08c3c", "#5c9e62", "#a05a8c"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=[], metavar="FILE", help="written by networks.py --json")
    parser.add_argument("--kernels", nargs="+", default=[], metavar="FILE", help="written by kernels.py --json")
    parser.add_argument("--output", default=".", metavar="FOLDER")
    arguments = parser.parse_args()
    if not arguments.networks and not arguments.kernels:
        parser.error("nothing to draw: --networks or --kernels")
    return arguments


def read(paths):
    reports = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            reports.append(json.load(file))
    return reports


def save(figure, arguments, name):
    path = os.path.join(arguments.output, name)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
    print(path)


def bars(axes, labels, series):
    """`series`: name -> for each label a ratio with its interval, or nothing. One is where both are equally fast."""
    width = 0.8 / max(1, len(series))
    for index, (name, ratios) in enumerate(series.items()):
        there = [(i, ratio) for i, ratio in enumerate(ratios) if ratio]
        middles = [i + (index - (len(series) - 1) / 2) * width for i, _ in there]
        heights = [ratio["ratio"] for _, ratio in there]
        errors = [[max(0, ratio["ratio"] - ratio["low"]) for _, ratio in there],
                  [max(0, ratio["high"] - ratio["ratio"]) for _, ratio in there]]
        axes.bar(middles, [height - 1 for height in heights], width * 0.92, bottom=1, color=COLORS[index % len(COLORS)], label=name, yerr=errors, ecolor="#333333",
                 error_kw={"linewidth": 0.8})
    axes.axhline(1, color="#333333", linewidth=0.8)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axes.set_xticks(range(len(labels)))
    axes.set_xticklabels(labels, rotation=30, ha="right")
    axes.legend(loc="upper right")


def draw_networks(reports, arguments):
    networks = [network for report in reports for network in report["networks"] if "contenders" in network]
    series = {"best other runtime": [network.get("best_peer_over_optimal") for network in networks],
              "best other strategy": [network.get("best_other_over_optimal") for network in networks]}
    series = {name: ratios for name, ratios in series.items() if any(ratios)}
    figure, axes = pyplot.subplots(figsize=(8, 3.2))
    bars(axes, [network["name"] for network in networks], series)
    axes.set_ylabel("time / time of `optimal`")
    axes.set_title(f"{reports[0]['processor']}, {reports[0]['threads']} threads", fontsize=9)
    save(figure, arguments, "networks.svg")


def draw_kernels(reports, arguments):
    classes = [one for report in reports for one in report["classes"]]
    kinds = sorted({one["kind"] for one in classes} - {"all"}) + ["all"]
    libraries = sorted({name for one in classes for name in one["over_ours"]})
    series = {}
    for library in libraries:
        for threads in sorted({one["threads"] for one in classes}):
            found = {one["kind"]: one["over_ours"].get(library) for one in classes if one["threads"] == threads}
            series[f"{library}, {threads} thread{'s' if threads > 1 else ''}"] = [found.get(kind) for kind in kinds]
    figure, axes = pyplot.subplots(figsize=(8, 3.2))
    bars(axes, kinds, series)
    axes.set_ylabel("time / time of generated code")
    axes.set_title(reports[0]["processor"], fontsize=9)
    save(figure, arguments, "kernels.svg")


def draw_roofline(reports, arguments):
    shapes = [shape for report in reports for shape in report["shapes"] if "of_peak" in shape]
    counts = sorted({shape["threads"] for shape in shapes})
    figure, many = pyplot.subplots(1, len(counts), figsize=(4 * len(counts), 3.4), squeeze=False, sharey=True)
    kinds = sorted({shape["kind"] for shape in shapes})
    markers = "os^Dv<>pP*Xhd"
    for axes, threads in zip(many[0], counts):
        mine = [shape for shape in shapes if shape["threads"] == threads]
        peak = max(max(shape["peaks_gflops"]) for shape in mine)
        memory = statistics.median(shape.get("memory_gbs", 0) for shape in mine)
        intensities = [shape["flops"] / shape["bytes"] for shape in mine]
        low, high = min(intensities) / 1.5, max(intensities) * 1.5
        knee = peak / memory if memory > 0 else low
        low = min(low, knee)
        axes.plot([low, knee, max(knee, high)], [low / knee * peak, peak, peak], color="#333333", linewidth=1)
        for index, kind in enumerate(kinds):
            here = [shape for shape in mine if shape["kind"] == kind]
            axes.plot([shape["flops"] / shape["bytes"] for shape in here],
                      [shape["of_peak"] * peak for shape in here],
                      markers[index % len(markers)], color=f"C{index % 10}", markersize=3.5, label=kind, linestyle="none")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("operations per byte")
        roofs = f"{peak:.0f} GFLOP/s" + (f", {memory:.0f} GB/s" if memory > 0 else "")
        axes.set_title(f"{threads} thread{'s' if threads > 1 else ''}: {roofs}", fontsize=9)
    many[0][0].set_ylabel("GFLOP/s of generated code")
    many[0][-1].legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=7)
    save(figure, arguments, "roofline.svg")


def main():
    arguments = parse_arguments()
    os.makedirs(arguments.output, exist_ok=True)
    if arguments.networks:
        draw_networks(read(arguments.networks), arguments)
    if arguments.kernels:
        reports = read(arguments.kernels)
        draw_kernels(reports, arguments)
        draw_roofline(reports, arguments)


if __name__ == "__main__":
    main()
