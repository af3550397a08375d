#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the search for a placement grows with the number of instances: a decoder over 8, 64 and 512 devices or hosts, each with too
little memory for the whole.

    search_at_scale.py build/release/bin/collagec --layers 96 --instances 8 64 512
    search_at_scale.py build/release/bin/collagec --kind hosts --objective throughput

Each row: what the placement costs, what is proven, the gap, how many instances have work, the time of the compiler and the most memory
that it had. An instance has `--room` times its share of the weights, and one and a half times the largest of them at least.
"""
import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RULES = os.path.join(ROOT, "examples/clusters/accel.rules")
BYTES = {"f16": 2, "bf16": 2, "f32": 4}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collagec")
    parser.add_argument("--layers", type=int, default=96)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--instances", type=int, nargs="+", default=[8, 64, 512])
    parser.add_argument("--kind", choices=("devices", "hosts"), default="devices")
    parser.add_argument("--objective", default="latency")
    parser.add_argument("--room", type=float, default=1.25)
    parser.add_argument("--budget", type=float, help="seconds for the search")
    return parser.parse_args()


def weights_of(model):
    """Bytes of every constant that the text of a model makes."""
    for line in open(model):
        found = re.search(r"= const .* : (f16|bf16|f32)\[([\d, ]*)\]", line)
        if not found:
            continue
        count = 1
        for size in filter(None, found.group(2).split(",")):
            count *= int(size)
        yield count * BYTES[found.group(1)]


def rules_for(kind, count, memory):
    text = open(RULES).read()
    if kind == "devices":
        text = re.sub(r"device accel \{", f"device accel count {count} {{", text, count=1)
        link = "link accel bandwidth 100 GB/s latency 1 us duplex"
        return re.sub(r"memory 80 GiB", f"memory {memory} B\n    {link}", text, count=1)
    return f"""rules 1
switch lan {{}}
cluster lab {{
  host count {count} {{
    memory {memory} B
    link lan bandwidth 10 GB/s latency 5 us duplex
  }}
}}
backend lib {{
  runtime host_jit
  rule product {{ match y = Add?(Gelu?(Add?(MatMul(x, w: const), b: const)), r) cost flops / 1e12 * 1 s + 1 us lower "product" }}
}}
"""


def row(arguments, folder, model, count, memory):
    rules = os.path.join(folder, f"{arguments.kind}{count}.rules")
    with open(rules, "w") as file:
        file.write(rules_for(arguments.kind, count, memory))
    report = os.path.join(folder, "placement.json")
    command = [arguments.collagec, model, "-r", rules, "--costs=estimate", "--cache=", f"--objective={arguments.objective}",
               f"--json={report}", "-o", os.path.join(folder, "placed.ir")]
    if arguments.budget:
        command += ["--budget", str(arguments.budget)]
    start = time.monotonic()
    run = subprocess.run(command, capture_output=True, text=True)
    seconds = time.monotonic() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    found = re.search(r"^search +(.*)$", run.stdout, re.M)
    if run.returncode or not found:
        return f"{count:>9}  {run.stderr.strip().splitlines()[0] if run.stderr.strip() else 'failed'}  ({seconds:.1f} s)"
    used = set(re.findall(r'"device": "([^"]+)"', open(report).read()))
    return f"{count:>9}  {found.group(1)}; on {len(used)}; {seconds:.1f} s, {peak:.0f} MiB"


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "decoder.ir")
        subprocess.run([sys.executable, os.path.join(ROOT, "bench/decoders.py"), "model", "--layers", str(arguments.layers), "--hidden",
                        str(arguments.hidden), "--heads", "4", "--sequence", "32", "--vocabulary", "1000", "-o", model], check=True)
        weights = list(weights_of(model))
        total, largest = sum(weights), max(weights)
        print(f"{arguments.layers} layers, {len(weights)} constants of {total / 2**20:.1f} MiB, the largest {largest / 2**20:.2f} MiB")
        for count in arguments.instances:
            memory = int(max(arguments.room * total / count, 1.5 * largest))
            print(row(arguments, folder, model, count, memory), flush=True)


if __name__ == "__main__":
    main()
