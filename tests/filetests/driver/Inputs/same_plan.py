"""same_plan.py CERTIFICATE JSON: the certificate is of the placement that `--json=JSON` wrote: the same
predicted cost, and each of its candidates lies in one partition."""
import json
import sys

certificate, summary = (json.load(open(path)) for path in sys.argv[1:])
placement = summary["placement"]
cost, predicted = certificate["plan"]["cost"] * 1e-12, placement["cost"]["predicted_s"]
assert abs(cost - predicted) <= 1e-9 * predicted, f"certificate of {cost} s, placement of {predicted} s"
partition_of = {node: i for i, partition in enumerate(placement["partitions"]) for node in partition["nodes"]}
for chosen in certificate["plan"]["chosen"]:
    candidate = certificate["candidates"][chosen]
    inside = {partition_of[certificate["nodes"][node]] for node in candidate["nodes"]}
    assert len(inside) == 1, f"candidate {chosen} lies in partitions {sorted(inside)}"
    backend = certificate["owners"][candidate["owner"]]["backend"]
    assert backend == placement["partitions"][inside.pop()]["backend"], f"candidate {chosen} is on {backend}"
