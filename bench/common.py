# SPDX-License-Identifier: Apache-2.0
"""What the scripts beside it have in common: options, processes, and the files that they write. Needs no numpy."""
import json
import os
import statistics
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("COLLAGE_RULES", "")  # the rules of a run are those of its options


class Failed(Exception):
    pass


def add_common(parser, programs, timeout=600):
    """`programs`: what the folder of --bin has."""
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/release/bin"), help=f"has {programs}")
    parser.add_argument("--json", metavar="FILE", help="everything that was measured")
    parser.add_argument("--timeout", type=float, default=timeout, help="seconds for one process")


def run_process(command, timeout, threads=None):
    """What the command prints. `threads` are those of libraries that use OpenMP."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads)) if threads else None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        raise Failed(f"took more than {timeout} s") from None
    except OSError as error:
        raise Failed(str(error)) from None
    if done.returncode == 0:
        return done.stdout
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    said = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
    raise Failed(said or f"exit code {done.returncode}")


def medians(rounds):
    """Of each figure over the rounds, which are dictionaries."""
    return {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}


def write_json(path, data):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=2)
