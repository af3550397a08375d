# SPDX-License-Identifier: Apache-2.0
"""Runs a command whose standard error is a terminal and prints what it shows there, each state of a line on a line.

    terminal.py [--interrupt WORD] OUTPUT -- COMMAND...

Standard output goes to the file OUTPUT. With --interrupt, Ctrl-C is typed as soon as WORD is shown.
"""
import os
import pty
import re
import signal
import sys

arguments = sys.argv[1:]
word = None
if arguments[0] == "--interrupt":
    word, arguments = arguments[1], arguments[2:]
output, command = arguments[0], arguments[2:]

child, terminal = pty.fork()
if child == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    os.execvp(command[0], command)

shown = b""
while True:
    try:
        read = os.read(terminal, 4096)
    except OSError:  # the other end is closed
        break
    if not read:
        break
    shown += read
    if word is not None and word.encode() in shown:
        os.write(terminal, b"\x03")
        word = None
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
for line in re.split(r"\r\x1b\[K|\r?\n", shown.decode(errors="replace")):
    if line:
        print(line)
print("exit", code)
