# SPDX-License-Identifier: Apache-2.0
"""Checks a page of `--report`: read_report.py PAGE [JSON]. Prints what is in it. JSON: what `--json` printed; the page has the same.

The page must load nothing, hold every node in one partition and every partition once in its blocks, and its costs must add up.
"""
import json
import re
import sys

page = open(sys.argv[1], encoding="utf-8").read()


def check(good, what):
    if not good:
        sys.exit(f"the page is wrong: {what}")


check("default-src 'none'" in page, "no policy against loading")
check(not re.search(r"<(script|img|iframe|object|embed)[^>]*\ssrc\s*=", page), "it loads something")
check(not re.search(r"<link[^>]*href\s*=\s*[\"'](?!data:)", page), "it links something")
check(page.count("<script") >= 10 and "d3js.org" in page and "Permission is hereby granted" in page, "scripts or licences are missing")
found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
check(len(found) == 1, f"{len(found)} documents")
data = json.loads(found[0])
if len(sys.argv) > 2:
    check(data["summary"] == json.load(open(sys.argv[2])), "its numbers are not those of --json")


def items(blocks):
    for block in blocks:
        if isinstance(block, dict):
            inside = list(items(block["blocks"]))
            check(len(inside) % block["times"] == 0, "unequal blocks")
            yield from inside
        else:
            yield block


nodes = data["graph"]["nodes"]
for shown in data["placements"]:
    placement = shown.get("placement") or data["summary"]["placement"]
    check(len(shown["partitions"]) == len(placement["partitions"]), "partitions")
    check(sorted(items(shown["blocks"])) == list(range(len(placement["partitions"]))), "blocks of partitions")
    check(sorted(node for one in shown["partitions"] for node in one["nodes"]) == list(range(len(nodes))), "nodes of partitions")
    for partition, one in zip(placement["partitions"], shown["partitions"]):
        check(partition["nodes"] == [nodes[node]["name"] for node in one["nodes"]], "names of nodes")
        check("inside" not in one or sorted(items(one["inside"])) == list(range(len(one["nodes"]))), "blocks of nodes")
        parts = sum(part["cost_s"] for part in one["parts"])
        if len(one["parts"]) == 1:
            check(abs(parts - partition["cost_s"]) < 1e-12, f"{partition['id']} is not the sum of its parts")
        check(abs(sum(one["node_s"]) - partition["cost_s"]) <= 1e-6 * partition["cost_s"], f"times of nodes of {partition['id']} do not add up")
        check(set(one["exact"]) <= set(range(len(one["nodes"]))), "exact times of nodes that are not there")
    total = sum(one["cost_s"] for one in placement["partitions"] + placement["conversions"])
    check(abs(total - placement["cost"]["predicted_s"]) < 1e-9, "costs do not add up")
    given = shown.get("given")
    print(f"placement {shown['name']}: {len(placement['partitions'])} partitions"
          + (f", {len(given['nodes'])} nodes given by {given['by']}" if given else ""))

about = data["about"]
print(f"of {about['file']}" + (f", with {', '.join(about['models'])}" if about["models"] else ""))
if "verdict" in about:
    print(about["verdict"])
choices = data["choices"]
for node, row, instead in zip(nodes, choices["nodes"], choices.get("instead", [[]] * len(nodes))):
    for backend, text in zip(choices["backends"], instead):
        if text:
            print(f"%{node['name']} on {backend}: {text}")
    check(len(row) == len(choices["backends"]), "choices")
    for backend, choice in zip(choices["backends"], row):
        if isinstance(choice, int):
            print(f"%{node['name']} {backend}: {choices['reasons'][choice]}")
        else:
            seconds, count, rule, _ = choice
            where = choices["rules"][rule] if rule >= 0 else {"name": "no rule", "where": ""}
            print(f"%{node['name']} {backend}: {seconds * 1e6:.3f} us of {count}, {where['name']} {where['where']}")
if "timeline" in data:
    timeline = data["timeline"]
    measured = all("actual_s" in step for step in timeline["steps"])
    print(f"timeline of {len(timeline['steps'])} steps{', measured' if measured else ''}")
    for space in data["memory"]:
        check(max(one[1] for one in space["live"]) == space["most"], "memory")
if "bench" in data:
    print(f"bench of {len(data['bench']['runs_s'])} runs")
if "profile" in data:
    timed = {node for kernel in data["profile"]["kernels"] for node in kernel["nodes"]}
    check(abs(sum(one["seconds"] for one in data["profile"]["kernels"] + data["profile"]["moves"]) - data["profile"]["seconds"]) < 1e-9,
          "times of kernels do not add up")
    print(f"{len(data['profile']['kernels'])} kernels of {len(timed)} nodes timed")
for text in data.get("lost", []):
    print(f"lost: {text}")
if "difference" in data:
    print(f"{len(data['difference']['moved'])} moved")
