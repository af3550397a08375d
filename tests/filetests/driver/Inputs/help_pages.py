# SPDX-License-Identifier: Apache-2.0
"""help_pages.py COLLAGEC: each page of its help is one screen: 60 lines of 100 columns, of a command 45."""
import subprocess
import sys

collagec = sys.argv[1]


def page(*words):
    return subprocess.run([collagec, *words, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


first = page()
at = first.index("Commands") + 1
commands = [line.split()[0] for line in first[at:first.index("", at)] if not line.startswith("   ")]
if len(commands) < 10:
    sys.exit(f"few commands are listed: {commands}")
for words, most in [((), 60)] + [((command,), 45) for command in commands]:
    lines = page(*words)
    if len(lines) > most:
        sys.exit(f"the help of {words} has {len(lines)} lines")
    wide = [line for line in lines if len(line) > 100]
    if wide:
        sys.exit(f"the help of {words} is wider than 100 columns: {wide[0]}")
