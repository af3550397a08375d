# SPDX-License-Identifier: Apache-2.0
"""Answers what candidates take on a board. As a board would, it takes a time for each answer: COLLAGE_BOARD_SECONDS, 0 without it.
The answer depends on the candidate alone."""
import json
import math
import os
import sys
import time

LAUNCH_US = 20
pause = float(os.environ.get("COLLAGE_BOARD_SECONDS", "0"))


def work_us(operator, values):
    """Of one operator: its result elements, times what each of them reads of a constant."""
    result = math.prod(values[operator["outputs"][0]]["shape"])
    weights = [math.prod(values[name]["shape"][1:]) for name in operator["inputs"] if name and values[name].get("constant")]
    return result * max(weights, default=1) / 4e4


for line in sys.stdin:
    request = json.loads(line)
    time.sleep(pause)
    cost = LAUNCH_US + sum(work_us(operator, request["values"]) for operator in request["operators"])
    print(json.dumps({"id": request["id"], "cost": round(cost, 3), "unit": "us"}), flush=True)
