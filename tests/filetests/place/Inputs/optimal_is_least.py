# SPDX-License-Identifier: Apache-2.0
"""In the table of `compare --json` no strategy is predicted below `optimal`; each that is named is above it."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    rows = json.load(file)["compare"]["strategies"]
costs = {row["strategy"]: row["predicted_s"] for row in rows if "predicted_s" in row}
best = costs["optimal"]
below = [name for name, cost in costs.items() if cost < best]
not_above = [name for name in sys.argv[2:] if costs[name] <= best]
if below or not_above:
    sys.exit(f"optimal {best}, others {costs}")
