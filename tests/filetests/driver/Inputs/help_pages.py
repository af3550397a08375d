# SPDX-License-Identifier: Apache-2.0
"""help_pages.py PROGRAM…: each page of their help is one screen: 60 lines of 100 columns, of a command 45."""
import os
import subprocess
import sys


def page(*words):
    return subprocess.run([*words, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def commands_of(lines):
    if "Commands" not in lines:
        return []
    at = lines.index("Commands") + 1
    return [line.split()[0] for line in lines[at:[*lines, ""].index("", at)] if not line.startswith("   ")]


def check(words, most):
    lines = page(*words)
    name = " ".join([os.path.basename(words[0]), *words[1:]])
    if not lines[0].startswith(f"Usage: {name} "):
        sys.exit(f"the help of {name} begins with: {lines[0]}")
    if len(lines) > most:
        sys.exit(f"the help of {name} has {len(lines)} lines")
    wide = [line for line in lines if len(line) > 100]
    if wide:
        sys.exit(f"the help of {name} is wider than 100 columns: {wide[0]}")
    return commands_of(lines)


for program in sys.argv[1:]:
    commands = check((program,), 60)
    if os.path.basename(program) == "collagec" and len(commands) < 10:
        sys.exit(f"few commands are listed: {commands}")
    for command in commands:
        for part in check((program, command), 45):
            check((program, command, part), 45)
