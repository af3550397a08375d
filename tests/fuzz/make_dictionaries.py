#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes libFuzzer dictionaries of the two languages into a folder: their keywords, operators and functions.

    make_dictionaries.py FOLDER     -> FOLDER/model.dict, FOLDER/rules.dict

The words come from the tables of keywords, operators and functions, and the signs from the scanners (`"==" {`), so they
never go stale.
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]


def keywords(language):
    table = (root / "grammar" / f"{language}_keywords.def").read_text()
    signs = (root / "grammar" / f"{language}.ll").read_text()
    return re.findall(r'^KEYWORD\(\w+, "(\w+)"', table, re.MULTILINE) + \
        re.findall(r'^(?:-\?)?"([^"\\ ]+)"\s*\{', signs, re.MULTILINE)


def rows(table):
    """First arguments of a table's macro rows: `OP(Relu, ...)` gives Relu."""
    return re.findall(r'^[A-Z_]+\("?(\w+)', (root / "compiler/ir" / table).read_text(), re.MULTILINE)


MODEL = ["f32[1, 3, 8, 8]", "f64[]", "i64[2]", "bool[1]", "%x", "%y", "@p0", "kernel_shape = [3, 3]", "pads = [1, 1]",
         "axis = 1", "-1", "0.5", "1e-5", "8us", "model @m(%x: f32[1]) -> (%y: f32[1]) {"]
RULES = ["rules 1", "backend b version 1 {", "GB/s", "MiB", "us", "y = Relu(x)", "x: f32[1, 8]", ": const", "..", "NHWC"]


def write(path, words):
    lines = ['"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' for word in dict.fromkeys(words)]
    path.write_text("\n".join(lines) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    operators = rows("ops/ops.def")
    write(folder / "model.dict", keywords("model") + operators + MODEL)
    write(folder / "rules.dict", keywords("rules") + operators + rows("rules/functions.def") +
          rows("rules/quantities.def") + RULES)


if __name__ == "__main__":
    main()
