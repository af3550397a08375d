#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs with standard output and error full or closed: closed_output.py BIN RULES, in the folder of m.ir.

Prints each run whose exit code is not 1, or that says nothing although it could, and how many these are.
"""
import os
import subprocess
import sys

programs, rules = sys.argv[1:]
wrong = 0

# Commands that print to standard output and succeed.
COMMANDS = [
    ["collagec", "--help"], ["collagec", "--version"], ["collagec", "--explain", "CG0001"], ["collagec", "--man"],
    ["collagec", "m.ir", "-r", rules, "--emit=graph"], ["collagec", "m.ir", "-r", rules, "--emit=c"],
    ["collagec", "m.ir", "-r", rules, "--emit=placement"], ["collagec", "m.ir", "-r", rules, "-o", "out.ir"],
    ["collagec", "compare", "m.ir", "-r", rules], ["collagec", "m.ir", "-r", rules, "--emit=passes"],
    ["collage-rules", "list", rules], ["collage-rules", "list", "--json", rules], ["collage-rules", "test", rules],
    ["collage-rules", "--explain", "CG0001"], ["collage-rules", "--version"],
    ["collage-run", "--help"], ["collage-check-plan", "--help"], ["collage-check-certificate", "--version"],
]
# Commands that fail, with something to say on standard error.
FAILURES = [["collagec", "none.ir"], ["collage-rules", "check", "none.rules"], ["collage-run", "none.collage"],
            ["collage-check-plan", "none.json"], ["collagec", "m.ir", "-r", rules, "--strategy=none"]]


def run(command, **streams):
    command = [os.path.join(programs, command[0]), *command[1:]]
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False, text=True, **streams)


def complain(command, how, got):
    global wrong
    wrong += 1
    print(f"{' '.join(command)}: {how}: exit code {got.returncode}, {got.stderr!r}")


def close(*descriptors):
    return lambda: [os.close(descriptor) for descriptor in descriptors]


with open("/dev/full", "w") as full:
    for command in COMMANDS:
        good = run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if good.returncode != 0 or not good.stdout:
            complain(command, "as it is", good)
        for how, streams in {"full": {"stdout": full}, "closed": {"preexec_fn": close(1)}}.items():
            got = run(command, stderr=subprocess.PIPE, **streams)
            if got.returncode != 1 or "standard output cannot be written" not in got.stderr:
                complain(command, f"standard output {how}", got)
        got = run(command, preexec_fn=close(0, 1, 2))
        if got.returncode != 1:
            complain(command, "all closed", got)
    for command in FAILURES:
        good = run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for how, streams in {"full": {"stderr": full}, "closed": {"preexec_fn": close(2)}}.items():
            got = run(command, stdout=subprocess.DEVNULL, **streams)
            if good.returncode not in (1, 2) or got.returncode not in (1, good.returncode):
                complain(command, f"standard error {how}", got)
print(f"{wrong} wrong")
