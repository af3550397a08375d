# SPDX-License-Identifier: Apache-2.0
"""Checks a trace: check_trace.py TRACE.json. Prints what it has, or what is wrong with it (exit 1).

On each track slices follow each other; a step starts when all that it waits for are done; arrows have both ends, inside slices;
memory is never negative. The trace of a run has predicted and actual times, that of a simulation only the former.
"""
import collections
import json
import sys

ROUNDING = 1e-3  # us


def check(events):
    slices, starts, ends, processes = collections.defaultdict(list), {}, {}, {}
    steps = collections.defaultdict(dict)
    for event in events:
        kind, process = event["ph"], event["pid"]
        if kind == "M" and event["name"] == "process_name":
            processes[process] = event["args"]["name"]
        elif kind == "X":
            assert event["dur"] >= 0 and event["ts"] >= 0, f"a slice before the beginning: {event}"
            slices[process, event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["args"]["step"]))
            steps[process][event["args"]["step"]] = (event["ts"], event["ts"] + event["dur"])
        elif kind == "s":
            starts[event["id"]] = event
        elif kind == "f":
            ends[event["id"]] = event
        elif kind == "C":
            assert event["args"]["bytes"] >= 0, f"less than nothing in use: {event}"
    for track, found in slices.items():
        found.sort()
        for (_, end, first), (start, _, second) in zip(found, found[1:]):
            assert start >= end - ROUNDING, f"steps {first} and {second} overlap on track {track}"
    assert starts.keys() == ends.keys(), "arrows with one end"
    for arrow, start in starts.items():
        end = ends[arrow]
        before = [s for s in slices[start["pid"], start["tid"]] if s[0] - ROUNDING <= start["ts"] <= s[1] + ROUNDING]
        after = [s for s in slices[end["pid"], end["tid"]] if abs(s[0] - end["ts"]) <= ROUNDING]
        assert before and after, f"arrow {arrow} hits no slice"
        assert any(b[1] <= a[0] + ROUNDING for b in before for a in after), f"arrow {arrow} goes back in time"
    assert sorted(processes.values()) in (["actual", "predicted"], ["predicted"]), processes
    assert {process for process, _ in slices} == processes.keys(), "times of a process that is not named"
    assert len({tuple(sorted(of)) for of in steps.values()}) == 1, "predicted and actual have other steps"
    return f"{len(next(iter(steps.values())))} steps, {len({t for _, t in slices})} tracks used, {len(starts)} arrows"


with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
try:
    print(check(document["traceEvents"]))
except AssertionError as error:
    sys.exit(f"{sys.argv[1]}: {error}")
