# SPDX-License-Identifier: Apache-2.0
"""Vim, without a window, opens a rule file and a model with editors/vim: vim_test.py SOURCES. Exit 77, a skipped test, without a Vim that
has syntax files."""
import os
import shutil
import subprocess
import sys
import tempfile

sources = sys.argv[1]
RULES = ('rules 1\nbackend npu {\n  rule r for f in {Relu} {\n    match y = f(x)\n    where x.group == 8 else "{rank(x)} // no"\n'
         "    cost 4 us  // said\n  }\n}\n")
MODEL = '// said\nmodel @m(%x: f32[1]) -> (%y: f32[1]) {\n  %"a b" = Relu(%x)\n  %y = Gelu(%"a b") {approximate = "tanh"}\n}\n'
# Line, a word in it, the group that it has there.
WANTED = {
    "collage_rules": (RULES, [(2, "backend", "Keyword"), (3, "Relu", "Operator"), (5, "group", "Attribute"), (5, "no", "String"), (6, "4", "Number"),
                              (6, "said", "Comment")]),
    "collage_model": (MODEL, [(1, "said", "Comment"), (2, "model", "Keyword"), (2, "f32", "Type"), (3, "a b", "Value"), (3, "Relu", "Operator"),
                              (4, "approximate", "Attribute"), (4, "tanh", "String")]),
}


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def main():
    vim = shutil.which("vim")
    if vim is None:
        skip("there is no vim")
    version = subprocess.run([vim, "--version"], capture_output=True, text=True, check=True).stdout
    if "+syntax" not in version or "+eval" not in version:
        skip("this vim has no syntax files")
    with tempfile.TemporaryDirectory() as folder:
        for filetype, (text, wanted) in WANTED.items():
            path = os.path.join(folder, "opened" + (".rules" if filetype == "collage_rules" else ".ir"))
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            answers = os.path.join(folder, "answers")
            script = ["set nocompatible encoding=utf-8", f"set runtimepath^={os.path.join(sources, 'editors', 'vim')}", "filetype plugin on",
                      "syntax on", f"edit {path}", "let out = [&filetype, &commentstring]"]
            for line, word, _ in wanted:
                column = text.split("\n")[line - 1].index(word) + 1
                script.append(f"call add(out, synIDattr(synID({line}, {column}, 1), 'name'))")
            script += [f"call writefile(out, '{answers}')", "qall!"]
            source = os.path.join(folder, "script.vim")
            with open(source, "w", encoding="utf-8") as file:
                file.write("\n".join(script) + "\n")
            subprocess.run([vim, "-Nu", "NONE", "-es", "-S", source], stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60)
            with open(answers, encoding="utf-8") as file:
                found = file.read().splitlines()
            expected = [filetype, "// %s"] + [filetype.replace("collage_", "collage").replace("rules", "Rules").replace("model", "Model") + group
                                              for _, _, group in wanted]
            assert found == expected, list(zip(expected, found))
            print("held:", filetype)


if __name__ == "__main__":
    main()
