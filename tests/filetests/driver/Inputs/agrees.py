# SPDX-License-Identifier: Apache-2.0
"""Checks the JSON of `--json` against the text that is printed without it: agrees.py JSON TEXT

Figures of the text must be those of the JSON, rounded as the text rounds; answers must be the same, line by line.
"""
import json
import re
import sys

document = json.load(open(sys.argv[1]))
text = open(sys.argv[2]).read()
UNITS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def same_time(shown, seconds):
    """`13.14 us` is so many seconds, to four digits."""
    number, unit = shown.split()
    value = float(number) * UNITS[unit]
    return abs(value - seconds) <= 1e-3 * max(value, seconds)


def check(good, what):
    if not good:
        sys.exit(f"the JSON does not agree with the text: {what}")


def lines_of(answers):
    """The words of the answers in order, without columns."""
    words = []
    for answer in answers:
        words += answer["answer"].split()
        for row in answer["rows"]:
            words += row["label"].split() + row["text"].split()
    return words


if "backends" in document:
    model = document["model"]
    check(f"{model['name']}: {model['ops']} op" in text, "the model")
    unused = re.search(r"^not used +((?:.*\n)(?: +.*\n)*)", text, re.M)
    unused = " ".join(unused[1].split()) if unused else ""
    for row in document["backends"]:
        remark = row["absent"] if "absent" in row else (row["refused"] or [""])[0]
        if row["partitions"] == 0:
            check(re.search(rf"\b{row['backend']}\b", unused), f"{row['backend']} is not among those that are not used")
            check(remark in unused or "model of a chip" in remark, f"remark {remark}")
            continue
        line = re.search(rf"^ +{row['backend']} +(\d+) +(\d+) +\S+ %? +([\d.]+ \w+) +[\d.]+ %\n((?:   +refused.*\n(?: {{15,}}.*\n)*)?)",
                         text, re.M)
        check(line is not None, f"no row of {row['backend']}")
        check((int(line[1]), int(line[2])) == (row["ops"], row["partitions"]), f"row of {row['backend']}")
        check(same_time(line[3], row["predicted_s"]), f"cost of {row['backend']}")
        check(" ".join(line[4].split()) == (f"refused {remark}" if remark else ""), f"remark {remark}")
    if "simulated" in document:
        models = document["simulated"]
        shown = re.search(r"^ +([\d.]+ \w+) of it on (.*?), (?:a model|models) of", text, re.M)
        check(same_time(shown[1], models["predicted_s"]) and shown[2].split(", ") == models["backends"], "models of chips")
    search = re.search(r"^search +(optimal|best found|interrupted)", text, re.M)
    check(search[1] == document["search"]["outcome"], "the outcome")
    cost = re.search(r": ([\d.]+ \w+) predicted \(bound ([\d.]+ \w+)", text)
    check(same_time(cost[1], document["placement"]["cost"]["predicted_s"]), "the cost")
    check(same_time(cost[2], document["placement"]["cost"]["bound_s"]), "the bound")
    baselines = re.search(r"^baselines +(.*)$", text, re.M)
    shown = dict(re.findall(r"(\S.*?) ([\d.]+ [pnum]?s)(?:   |$)", baselines[1]))
    check(shown.keys() == {row["strategy"] for row in document["baselines"]}, "the baselines")
    for row in document["baselines"]:
        check(same_time(shown[row["strategy"]], row["predicted_s"]), row["strategy"])
    conversions = document["conversions"]
    check(conversions["reorders"] == 0 or f"({conversions['reorders']} reorder" in text, "the conversions")
elif "compare" in document:
    for row in document["compare"]["strategies"]:
        line = re.search(rf"^ +{re.escape(row['strategy'])} +([\d.]+ \w+|-) +(.*)$", text, re.M)
        check(line is not None, f"no row of {row['strategy']}")
        check("failure" in row or same_time(line[1], row["predicted_s"]), row["strategy"])
        check("failure" in row or line[2].split()[1:3] == [str(row["partitions"]), str(row["conversions"])], row["strategy"])
else:
    check(lines_of(document.get("why", []) + document.get("why_not", [])) == text.split(), "the answers")
    check(len(document["placement"]["partitions"]) > 0, "no partitions")
print("agrees")
