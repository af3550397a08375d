#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a command's whole output with the block after `// EXPECT:` in a test file.

    expect.py FILE [--exit N] [--label NAME] -- COMMAND...

Output and error output are joined; the folder of FILE is removed from paths in it. Each expected line is written
`// line` (an empty one `//`); the block ends at the first line that is not a comment. `--label NAME` uses the block after
`// EXPECT NAME:`, for a second command in one file. With COLLAGE_BLESS=1 the block is rewritten, or added at the end.
"""
import difflib
import os
import subprocess
import sys


def parse_arguments(arguments):
    if "--" not in arguments:
        sys.exit(__doc__)
    split = arguments.index("--")
    own, command = arguments[:split], arguments[split + 1:]
    path, exit_code, label = own[0], 0, ""
    for name, value in zip(own[1::2], own[2::2]):
        if name == "--exit":
            exit_code = int(value)
        elif name == "--label":
            label = value
        else:
            sys.exit(f"unknown option {name}\n{__doc__}")
    return path, exit_code, label, command


def find_block(lines, marker):
    """Index of the marker line and of the end of its block, or None."""
    for start, line in enumerate(lines):
        if line.strip() == marker:
            end = start + 1
            while end < len(lines) and lines[end].startswith("//") and not lines[end].startswith("// EXPECT"):
                end += 1
            return start, end
    return None


def main():
    path, exit_code, label, command = parse_arguments(sys.argv[1:])
    marker = f"// EXPECT {label}:" if label else "// EXPECT:"
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace")
    text = done.stdout.replace(os.path.dirname(os.path.abspath(path)) + os.sep, "")
    actual = text.rstrip("\n").split("\n") if text.strip() else []

    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    block = find_block(lines, marker)
    expected = [line[3:] if line.startswith("// ") else line[2:] for line in lines[block[0] + 1:block[1]]] if block else None

    if done.returncode != exit_code:
        print(text)
        sys.exit(f"{path}: the command exited with {done.returncode}, expected {exit_code}")
    if [line.rstrip() for line in actual] == expected:
        return
    if os.environ.get("COLLAGE_BLESS") == "1":
        written = [marker] + [("// " + line).rstrip() for line in actual]
        if block:
            lines[block[0]:block[1]] = written
        else:
            while lines and not lines[-1]:
                lines.pop()
            lines += [""] + written + [""]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        return
    sys.stdout.writelines(line + "\n" for line in difflib.unified_diff(
        expected or [], actual, "expected", "actual", lineterm=""))
    sys.exit(f"{path}: the output differs from the block `{marker}`; "
             "if the new output is right, run the test again with COLLAGE_BLESS=1 to rewrite it")


if __name__ == "__main__":
    main()
