# SPDX-License-Identifier: Apache-2.0
"""What tests/run prints besides the results.

    print_run.py machine         the processor, and the instruction sets of it that generated code uses
    print_run.py skipped LOG     tests that were skipped, by reason, from CTest's LastTest.log
"""
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
REASON = re.compile(r"//\s*((?:REQUIRES|UNSUPPORTED):.*)|#\s*((?:REQUIRES|UNSUPPORTED):.*)")


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    fields = dict(re.findall(r"^(model name|Processor|flags|Features)\s*:\s*(.*)$", text, re.M))
    known = re.findall(r'CODE_FLAG\("(\w+)"', (SOURCE / "runtime/core/code_flags.def").read_text(encoding="utf-8"))
    has = set(fields.get("flags", fields.get("Features", "")).split())
    print(f"processor   {fields.get('model name', 'unknown')}, {os.cpu_count()} threads")
    print(f"            {' '.join(flag for flag in [*known, 'amx_tile', 'amx_bf16'] if flag in has)}")


def required(test):
    """Of a file test, what it needs: `collage :: run/onnx.ir` => `REQUIRES: onnxruntime`."""
    path = SOURCE / "tests/filetests" / test.split(":: ")[-1]
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n") if path.is_file() else []
    found = [next(filter(None, match.groups())) for line in lines if (match := REASON.search(line))]
    return ", ".join(found) or "unsupported here"


def skipped_in(log):
    """Reason => names, in the order of the log."""
    reasons = {}
    for name, output in re.findall(r"^\d+/\d+ Testing: (\S+)\n.*?^Output:\n-+\n(.*?)<end of output>", log, re.M | re.S):
        for reason, test in re.findall(r": Skipped\n(.*?)\n+\[  SKIPPED \] (\S+)", output, re.S):
            reasons.setdefault(reason.strip() or "no reason given", []).append(test)
        for listed in re.findall(r"^Unsupported Tests \(\d+\):\n((?:  \S.*\n)+)", output, re.M):
            for test in listed.split("\n"):
                if test.strip():
                    reasons.setdefault(required(test.strip()), []).append(test.strip().split(":: ")[-1])
        # Scripts say why they skip everything; pytest says it of each test.
        for reason in re.findall(r"^skipped: (.*)", output, re.M):
            reasons.setdefault(reason, []).append(name)
        for count, where, reason in re.findall(r"^SKIPPED \[(\d+)\] (\S+): (.*)", output, re.M):
            reasons.setdefault(reason, []).extend([where] * int(count))
    return reasons


def skipped(path):
    reasons = skipped_in(pathlib.Path(path).read_text(encoding="utf-8", errors="replace"))
    print(f"skipped     {sum(map(len, reasons.values()))}")
    for reason, tests in sorted(reasons.items()):
        more = f" and {len(tests) - 3} more" if len(tests) > 3 else ""
        print(f"{len(tests):>7}     {reason}: {', '.join(tests[:3])}{more}")


if __name__ == "__main__":
    if sys.argv[1:] == ["machine"]:
        machine()
    elif len(sys.argv) == 3 and sys.argv[1] == "skipped":
        skipped(sys.argv[2])
    else:
        sys.exit(__doc__)
