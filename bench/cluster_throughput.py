#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs a second of a pipeline over the hosts of a cluster, measured beside what the compiler predicts.

    cluster_throughput.py [--hosts 2,4] [--step-ms 20] [--requests 8] [--mpi openmpi,mpich]

Each host is a rank of `mpirun` on this machine and has one simulated engine that takes real time, so that many ranks share few
processors without disturbing each other: engines sleep. The model is a chain of products that take --step-ms each,
--steps-per-host for every host; `--objective=throughput` cuts it into equal parts. With one request in flight its inputs
follow each other through all hosts; with several, each host works on another input. How much less than predicted is
measured is what messages, waking threads and the machine's other work cost.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from common import Failed, add_common, medians, run_process, write_json

LAUNCHERS = {"openmpi": ("Open MPI|OpenRTE", ["--oversubscribe"]), "mpich": ("HYDRA|MPICH", [])}
for variable in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
    os.environ.setdefault(variable, "1")

RULES = """rules 1
switch lan {{}}
cluster pipeline {{
  host count {hosts} {{
    memory 1 GiB
    devices engine 1
    link lan bandwidth 1 GB/s latency 50 us duplex
  }}
}}
backend engine {{
  device engine {{
    memory 64 MiB
    queue compute, copy
    link host bandwidth 4 GB/s latency 20 us duplex
  }}
  attr realtime: int = 1 in {{0, 1}}
  runtime sim
  rule product {{
    match y = MatMul(x, w: const)
    cost {step_ms} ms
    test ok "%y = MatMul(%x, %w)" with x: f32[8, 8], w: f32[8, 8] -> {{%y}}
  }}
}}
"""


def numbers(text):
    return [int(number) for number in text.split(",")]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=numbers, default=[2, 4], metavar="N,…", help="sizes of clusters (2,4)")
    parser.add_argument("--steps-per-host", type=int, default=2)
    parser.add_argument("--step-ms", type=float, default=20, help="milliseconds that a product takes (20)")
    parser.add_argument("--requests", type=int, default=0, help="in flight; default: twice the hosts")
    parser.add_argument("--runs", type=int, default=40, help="requests that are timed (40)")
    parser.add_argument("--rounds", type=int, default=1, help="medians of so many runs of all")
    parser.add_argument("--mpi", default="openmpi,mpich", help="which MPI start the ranks, of those that are there")
    add_common(parser, "collagec and collage-run", timeout=300)
    arguments = parser.parse_args()
    arguments.mpi = arguments.mpi.split(",")
    if unknown := set(arguments.mpi) - set(LAUNCHERS):
        parser.error(f"--mpi: {', '.join(sorted(unknown))}: want some of {', '.join(LAUNCHERS)}")
    return arguments


def find_launcher(name):
    """The command that starts ranks of this MPI; None where it is not there."""
    marker, options = LAUNCHERS[name]
    for command in (f"mpirun.{name}", "mpirun"):
        path = shutil.which(command)
        version = path and subprocess.run([path, "--version"], capture_output=True, text=True).stdout
        if path and re.search(marker, version):
            return [path] + options
    return None


def run(command, timeout):
    """What the command prints."""
    try:
        return run_process(command, timeout, threads=1)
    except Failed as failure:
        sys.exit(f"{' '.join(command)}\n{failure}")


def write_model(path, steps):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"model @chain(%x0: f32[16, 64]) -> (%x{steps}: f32[16, 64]) {{\n")
        for step in range(steps):
            file.write(f"  %w{step} = const random seed {step} in [-0.2, 0.2] : f32[64, 64]\n")
            file.write(f"  %x{step + 1} = MatMul(%x{step}, %w{step})\n")
        file.write("}\n")


def compile_pipeline(hosts, arguments, scratch):
    model, rules, package = (os.path.join(scratch, f"{hosts}.{ending}") for ending in ("ir", "rules", "collage"))
    write_model(model, hosts * arguments.steps_per_host)
    with open(rules, "w", encoding="utf-8") as file:
        file.write(RULES.format(hosts=hosts, step_ms=arguments.step_ms))
    # The processors of this machine are faster than the engines.
    run([os.path.join(arguments.bin, "collagec"), model, "-r", rules, "--objective=throughput", "--costs=estimate",
         "--forbid", "*=host", "-o", package], arguments.timeout)
    return package


def measure(launcher, hosts, package, arguments):
    requests = arguments.requests or 2 * hosts
    command = launcher + ["-n", str(hosts), os.path.join(arguments.bin, "collage-run"), package, "--bench", str(arguments.runs),
                          "--requests", str(requests), "--json"]
    report = json.loads(run(command, arguments.timeout))
    return {"requests": requests, "predicted": report["cluster"]["predicted_per_second"],
            "measured": report["requests"]["per_second"], "alone": report["requests"]["one_at_a_time_per_second"],
            "predicted_alone": 1 / report["cluster"]["predicted_s"]}


def main():
    arguments = parse_arguments()
    launchers = {name: find_launcher(name) for name in arguments.mpi}
    rows, data = [], []
    with tempfile.TemporaryDirectory() as scratch:
        packages = {hosts: compile_pipeline(hosts, arguments, scratch) for hosts in arguments.hosts}
        for name, launcher in launchers.items():
            if launcher is None:
                print(f"skipped: there is no mpirun of {name}")
                continue
            for hosts, package in packages.items():
                rounds = [measure(launcher, hosts, package, arguments) for _ in range(arguments.rounds)]
                one = medians(rounds)
                data.append({"mpi": name, "hosts": hosts} | one)
                rows.append([name, hosts, one["predicted_alone"], one["alone"], one["alone"] / one["predicted_alone"],
                             round(one["requests"]), one["predicted"], one["measured"], one["measured"] / one["predicted"]])
    print(f"inputs a second, {arguments.steps_per_host} x {arguments.step_ms:g} ms on each host")
    print(f"{'':9}{'':>6}  {'one at a time':^29}  {'in':>7}  {'in flight':^29}")
    figures = f"{'predicted':>10} {'measured':>9} {'ratio':>8}"
    print(f"{'MPI':9}{'hosts':>6}  {figures}  {'flight':>7}  {figures}")
    for mpi, hosts, predicted_alone, alone, ratio_alone, requests, predicted, measured, ratio in rows:
        print(f"{mpi:9}{hosts:6}  {predicted_alone:10.2f} {alone:9.2f} {ratio_alone:8.3f}"
              f"  {requests:7}  {predicted:10.2f} {measured:9.2f} {ratio:8.3f}")
    if arguments.json:
        write_json(arguments.json, {"step_ms": arguments.step_ms, "runs": arguments.runs, "pipelines": data})


if __name__ == "__main__":
    main()
