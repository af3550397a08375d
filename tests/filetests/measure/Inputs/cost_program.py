# SPDX-License-Identifier: Apache-2.0
"""A program that answers what candidates cost, well or badly: cost_program.py MODE. What it is asked goes into the file `log`."""
import json
import os
import sys
import time

mode = sys.argv[1]
log = open("log", "a")
for line in sys.stdin:
    request = json.loads(line)
    operators = [one["op"] for one in request["operators"]]
    print(json.dumps(request), file=log, flush=True)
    answer = {"id": request["id"], "cost": 2 * len(operators), "unit": "us"}
    if mode == "crash":
        print("the table of engines is empty", file=sys.stderr)
        sys.exit(3)
    if mode == "crash-on-tanh" and "Tanh" in operators:
        os.abort()
    if mode == "hang":
        time.sleep(1000)
    if mode == "slow":
        time.sleep(0.7)
    if mode == "garbage":
        print("2 us, more or less", flush=True)
        continue
    if mode == "other-id":
        answer["id"] += 1
    if mode == "negative":
        answer["cost"] = -1
    if mode == "huge":
        answer["cost"] = 1e300
    if mode == "no-unit":
        del answer["unit"]
    if mode == "endless":
        while True:
            print("x" * 65536, end="")
    if mode == "refuse" and "Tanh" in operators:
        answer = {"id": request["id"], "refused": "no table\nfor Tanh"}
    if mode == "twice":
        print(json.dumps(answer))
    print(json.dumps(answer), flush=True)
