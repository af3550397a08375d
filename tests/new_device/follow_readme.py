#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows runtime/devices/null/README.md, the guide to a new kind of device.

    follow_readme.py make SOURCE TREE           TREE/runtime/devices becomes SOURCE's with the new kind, as steps 1 and 4 say
    follow_readme.py run SOURCE TREE PROGRAMS   step 6 with programs that were built with TREE; PROGRAMS holds collagec and
                                                collage-rules

`run` expects that the rules are good, that the results are those of the reference kernels, and that the device ran its node.
"""
import pathlib
import re
import shutil
import subprocess
import sys


def blocks(readme):
    """The code blocks: (language, text)."""
    found = re.findall(r"^ *```(\w+)\n(.*?)^ *```$", readme.read_text(), re.MULTILINE | re.DOTALL)
    return [(language, re.sub(r"^   ", "", text, flags=re.MULTILINE)) for language, text in found]


def only(found, language):
    texts = [text for name, text in found if name == language]
    if len(texts) != 1:
        sys.exit(f"expected one {language} block in the README, found {len(texts)}")
    return texts[0]


def put_step_4(device, code):
    """Replaces the skeleton's step 4 by the README's, and includes what it needs."""
    text = device.read_text()
    code = re.sub(r"^(?=.)", "  ", code, flags=re.MULTILINE)
    text, count = re.subn(r"  // README step 4: work\.\n.*?(?=\n  // README step 5)", lambda _: code, text, flags=re.DOTALL)
    if count != 1:
        sys.exit(f"{device} has no step 4")
    device.write_text(text.replace("devices/block_memory.h", "devices/emulate.h"))


def make(source, tree):
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(source / "runtime/devices", tree / "runtime/devices")
    found = blocks(source / "runtime/devices/null/README.md")
    shell = [text for name, text in found if name == "sh"]
    subprocess.run(["sh", "-euc", shell[0]], cwd=tree, check=True)
    put_step_4(tree / "runtime/devices/mine/mine_device.cpp", only(found, "cpp"))


def call(command, tree):
    print("+", *command)
    done = subprocess.run([str(part) for part in command], cwd=tree, capture_output=True, text=True, timeout=120)
    print(done.stdout + done.stderr)
    if done.returncode != 0:
        sys.exit(f"exit {done.returncode}")
    return done.stdout


def run(source, tree, programs):
    found = blocks(source / "runtime/devices/null/README.md")
    (tree / "rules").mkdir(exist_ok=True)
    (tree / "rules/mine.rules").write_text(only(found, "rules"))
    (tree / "mine.ir").write_text(only(found, "model"))
    call([programs / "collage-rules", "check", "rules/mine.rules"], tree)
    call([programs / "collage-rules", "test", "rules/mine.rules"], tree)
    command = [text for name, text in found if name == "sh"][1].split()
    assert command[0] == "collagec", command
    call([programs / "collagec", *command[1:]], tree)
    placing = [word for word in command[2:command.index("--input")] if word != "--check"]
    plan = call([programs / "collagec", *placing, "--emit=plan"], tree)
    if not re.search(r"mine\[0\]", plan):
        sys.exit("the plan has no step on mine[0]")


def main():
    mode, *paths = sys.argv[1:]
    {"make": make, "run": run}[mode](*map(pathlib.Path, paths))


main()
