# SPDX-License-Identifier: Apache-2.0
"""Tables and ratios, as the scripts beside it print them."""
import numpy

RESAMPLES = 2000


def print_table(title, header, rows):
    """Names and remarks to the left, figures to the right."""
    last = len(header) - 1
    widths = [max(len(row[i]) for row in [header] + rows) for i in range(last)] + [0]
    print(f"\n{title}")
    for row in [header] + rows:
        cells = [cell.ljust(width) if i in (0, last) else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))]
        print(("  " + "  ".join(cells)).rstrip())


def geometric_mean(values):
    return float(numpy.exp(numpy.mean(numpy.log(values))))


def interval_of(logs):
    """The geometric mean of exp(logs), one for each round, and its 95 % interval (bootstrap over the rounds)."""
    picks = numpy.random.default_rng(1).integers(0, len(logs), (RESAMPLES, len(logs)))
    low, high = numpy.percentile(logs[picks].mean(axis=1), [2.5, 97.5])
    return {"ratio": float(numpy.exp(logs.mean())), "low": float(numpy.exp(low)), "high": float(numpy.exp(high))}


def log_ratios(other, ours):
    """By round, from the seconds of both."""
    rounds = min(len(other), len(ours))
    return numpy.log(numpy.array(other[:rounds]) / numpy.array(ours[:rounds]))


def ratio_of_rounds(other, ours):
    """How many times as long the other takes."""
    return interval_of(log_ratios(other, ours))


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown processor"
