# SPDX-License-Identifier: Apache-2.0
"""Answers what candidates cost on the board: ../../grammar/rules.md, "Costs from a program".

An engine of 16 x 16 multipliers works on blocks of channels; layers with more than 8 MiB of weights do not fit.
"""
import json
import math
import sys

LAUNCH_CYCLES = 4000
MOST_WEIGHTS = 8 << 20


def cycles_of(operator, values):
    if operator["op"] != "Conv":
        return 0  # in the same pass
    weights, result = values[operator["inputs"][1]]["shape"], values[operator["outputs"][0]]["shape"]
    blocks = math.ceil(weights[0] / 16) * math.ceil(weights[1] / 16)
    return blocks * math.prod(weights[2:]) * math.prod(result[2:]) * result[0]


def answer(request):
    values = request["values"]
    weights = sum(4 * math.prod(value["shape"]) for value in values.values() if value.get("constant"))
    if weights > MOST_WEIGHTS:
        return {"id": request["id"], "refused": f"{weights} bytes of weights, the board has room for {MOST_WEIGHTS}"}
    cycles = LAUNCH_CYCLES + sum(cycles_of(operator, values) for operator in request["operators"])
    return {"id": request["id"], "cost": cycles / request["attributes"]["clock_mhz"], "unit": "us"}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
