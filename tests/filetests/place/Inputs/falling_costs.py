# SPDX-License-Identifier: Apache-2.0
"""The predicted costs in these files of `--json` fall, none by rising in between."""
import json
import sys

costs = []
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        costs.append(json.load(file)["placement"]["cost"]["predicted_s"])
if costs != sorted(costs, reverse=True) or costs[-1] >= costs[0]:
    sys.exit(f"costs do not fall: {costs}")
