# SPDX-License-Identifier: Apache-2.0
"""Vim, without a window, opens a rule file and a model with grammar/editors/vim, and the files that ship: vim_test.py SOURCES. Exit 77, a skipped
test, without a Vim that has syntax files."""
import glob
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


# Counts in the open file: lines that are comments, lines of these that are not coloured as such, words that are keywords.
COUNT = """
let comments = 0
let wrong = 0
let keywords = 0
for n in range(1, line('$'))
  let column = match(getline(n), '\\S') + 1
  if column == 0
    continue
  endif
  let group = synIDattr(synID(n, column, 1), 'name')
  if getline(n) =~# '^\\s*//'
    let comments += 1
    let wrong += group !~# 'Comment$'
  endif
  let keywords += group =~# 'Keyword$'
endfor
call add(out, &filetype . ' ' . comments . ' ' . wrong . ' ' . keywords)
"""


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def begin():
    return ["set nocompatible encoding=utf-8", f"set runtimepath^={os.path.join(sources, 'grammar', 'editors', 'vim')}", "filetype plugin on", "syntax on"]


def run(vim, folder, script):
    """The lines that the script has put into `out`."""
    answers, source = os.path.join(folder, "answers"), os.path.join(folder, "script.vim")
    with open(source, "w", encoding="utf-8") as file:
        file.write("\n".join(script + [f"call writefile(out, '{answers}')", "qall!"]) + "\n")
    subprocess.run([vim, "-Nu", "NONE", "-es", "-S", source], stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=100)
    with open(answers, encoding="utf-8") as file:
        return file.read().splitlines()


def shipped_files(vim, folder):
    files = sorted(glob.glob(os.path.join(sources, "rules", "**", "*.rules"), recursive=True))
    assert files
    files += [os.path.join(sources, "examples", "networks", name + ".ir") for name in ("bert_base", "quantized_conv", "resnet50")]
    script = begin() + ["let out = []"]
    for path in files:
        script += [f"edit {path}", *COUNT.strip().split("\n")]
    for path, found in zip(files, run(vim, folder, script), strict=True):
        filetype, comments, wrong, keywords = found.split()
        assert filetype == ("collage_model" if path.endswith(".ir") else "collage_rules"), (path, found)
        # Lines of models begin with values.
        assert int(comments) > 0 and int(wrong) == 0 and int(keywords) >= (1 if path.endswith(".ir") else 20), (path, found)
    print("held: the colours of", len(files), "files")


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
            script = begin() + [f"edit {path}", "let out = [&filetype, &commentstring]"]
            for line, word, _ in wanted:
                column = text.split("\n")[line - 1].index(word) + 1
                script.append(f"call add(out, synIDattr(synID({line}, {column}, 1), 'name'))")
            found = run(vim, folder, script)
            expected = [filetype, "// %s"] + [filetype.replace("collage_", "collage").replace("rules", "Rules").replace("model", "Model") + group
                                              for _, _, group in wanted]
            assert found == expected, list(zip(expected, found))
            print("held:", filetype)
        shipped_files(vim, folder)


if __name__ == "__main__":
    main()
