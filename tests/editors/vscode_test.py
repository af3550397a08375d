# SPDX-License-Identifier: Apache-2.0
"""The extension of editors/vscode is whole: vscode_test.py SOURCES. Its files are there, the patterns of its grammars are patterns that
find what they are for, its script parses where node is installed, and what it relies on is what the server says."""
import json
import os
import re
import shutil
import subprocess
import sys

sources = sys.argv[1]
folder = os.path.join(sources, "editors", "vscode")
# A line, the part that is found, and its scope.
RULES = [("  where dim(x, 1) % 8 == 0 else \"no\"", "where", "keyword.control"), ("  cost macs * 1.5 GB/s", "1.5 GB/s", "constant.numeric"),
         ("  match y = Relu(x)", "Relu", "entity.name.class"), ("c.group == 1", "group", "variable.other.member"),
         ("  where bytes(x)", "bytes", "support.function"), ("// said", "// said", "comment.line.double-slash")]
MODEL = [('  %"a b" = Relu(%x)', '%"a b"', "variable.other.readwrite"), ("  %y = Relu(%x)", "Relu", "entity.name.class"),
         ("model @m(", "@m", "entity.name.namespace"), ("%x: f32[1, 3]", "f32", "storage.type"), ("cost 3.5us", "3.5us", "constant.numeric"),
         ("{axis = 1}", "axis", "variable.parameter"), ("%w = const random seed 1", "random", "keyword.control")]


def read_json(name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def main():
    package = read_json("package.json")
    names = [entry["configuration"] for entry in package["contributes"]["languages"]] + [package["main"]]
    grammars = {entry["language"]: entry for entry in package["contributes"]["grammars"]}
    for name in names + [entry["path"] for entry in grammars.values()]:
        assert os.path.isfile(os.path.join(folder, name)), name
    read_json("language-configuration.json")
    for language, lines in (("collage-rules", RULES), ("collage-model", MODEL)):
        grammar = read_json(grammars[language]["path"])
        assert grammar["scopeName"] == grammars[language]["scopeName"]
        patterns = {pattern["name"].rsplit(".", 1)[0]: re.compile(pattern["match"]) for pattern in grammar["patterns"] if "match" in pattern}
        for line, part, scope in lines:
            assert part in [found.group(0) for found in patterns[scope].finditer(line)], (line, part, scope)
        print("held:", language)
    with open(os.path.join(sources, "compiler", "rules_tool", "lsp", "server.cpp"), encoding="utf-8") as file:
        server = file.read()
    assert all(f'"{language}"' in server for language in grammars), "the server knows the languages by other names"
    node = shutil.which("node")
    if node:
        subprocess.run([node, "--check", os.path.join(folder, package["main"])], check=True, timeout=60)
    print("held: the extension")


if __name__ == "__main__":
    main()
