#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the words of both languages into the syntax files of the editors: keywords, units, element types, functions, quantities.

    make_keywords.py            writes the files
    make_keywords.py --check    changes nothing; exit 1 where a file differs

The words are rows of the tables in grammar/, runtime/core/ and compiler/. The TextMate grammars of VS Code are written whole; in the
files for Vim and Emacs only what stands between the two lines `generated` and `end of generated`.
"""
import json
import pathlib
import re
import sys

EDITORS = pathlib.Path(__file__).resolve().parent
ROOT = EDITORS.parent.parent


def rows(table, pattern):
    words = re.findall(pattern, (ROOT / table).read_text(encoding="utf-8"), re.MULTILINE)
    assert words, f"{table} has no rows of the form {pattern}"
    return sorted(set(words))


RULES_KEYWORDS = rows("grammar/rules_keywords.def", r'^KEYWORD\(\w+, "(\w+)"')
MODEL_KEYWORDS = rows("grammar/model_keywords.def", r'^KEYWORD\(\w+, "(\w+)"')
UNITS = rows("grammar/units.def", r'^UNIT\("(\w+)"')
DTYPES = rows("runtime/core/dtypes.def", r"^(?:NUMBER_|NATIVE_|FLOAT_|INTEGER_|NARROW_FLOAT_|QUANTISED_|BOOL_)?DTYPE\(\w+, (\w+),")
FUNCTIONS = rows("compiler/ir/rules/functions.def", r'^[A-Z_]+\("?(\w+)')
QUANTITIES = rows("compiler/ir/rules/quantities.def", r'^[A-Z_]+\("?(\w+)')
OPERATORS = rows("compiler/ir/ops/ops.def", r"^OP\((\w+)\)")
TIMES = ("s", "ms", "us", "ns", "ps")  # units of the model language: grammar/model.ll
TRUTH = ["false", "true"]


def words(names):
    """A regular expression for any of them, the longest first."""
    return "|".join(sorted(names, key=lambda name: (-len(name), name)))


# --- VS Code: TextMate grammars ---


def grammar(name, scope, patterns):
    comment = {"name": f"comment.line.double-slash.{scope}", "match": "//.*$"}
    # A long string, which may have several lines, is tried first.
    escape = {"name": f"constant.character.escape.{scope}", "match": r"\\."}
    strings = [{"name": f"string.quoted.double.{scope}", "begin": '"', "end": '"|$', "patterns": [escape]}]
    if scope == "collage-rules":
        hole = {"name": f"meta.embedded.{scope}", "match": r"\{[^{}]*\}"}
        strings[0]["patterns"].append(hole)
        strings.insert(0, {"name": f"string.quoted.triple.{scope}", "begin": '"""', "end": '"""', "patterns": [escape]})
    document = {"$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json", "name": name,
                "scopeName": f"source.{scope}", "patterns": [comment, *strings, *patterns]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def rules_grammar():
    def entry(kind, match):
        return {"name": f"{kind}.collage-rules", "match": match}

    return grammar("Collage rules", "collage-rules", [
        entry("constant.numeric", rf"\b[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?([ \t]*({words(UNITS)})(/s)?\b)?"),
        entry("variable.other.member", r"(?<=\.)[A-Za-z_]\w*"),
        entry("variable.other.readwrite", r"(?<=%)[A-Za-z_]\w*"),
        entry("constant.language", rf"\b({words(TRUTH + ['none'])})\b"),
        entry("storage.type", rf"\b({words(DTYPES)})\b"),
        entry("support.function", rf"\b({words(FUNCTIONS)})\b(?=\s*\()"),
        entry("keyword.control", rf"\b({words(RULES_KEYWORDS)})\b"),
        entry("support.constant", rf"\b({words(QUANTITIES)})\b"),
        entry("entity.name.class", rf"\b({words(OPERATORS)})\b"),
        entry("keyword.operator", r"=>|->|==|!=|<=|>=|\.\.|[-+*/|?<>=]"),
    ])


def model_grammar():
    def entry(kind, match):
        return {"name": f"{kind}.collage-model", "match": match}

    return grammar("Collage model", "collage-model", [
        entry("variable.other.readwrite", r'%("([^"\\]|\\.)*"|[A-Za-z0-9_.$/-]+)'),
        entry("entity.name.namespace", r'@("([^"\\]|\\.)*"|[A-Za-z0-9_.$/-]+)'),
        entry("constant.numeric", rf"-?\b[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?([ \t]?({words(TIMES)})\b)?|-?\b(inf|nan)\b"),
        entry("constant.language", rf"\b({words(TRUTH)})\b"),
        entry("storage.type", rf"\b({words(DTYPES)})\b(?=\s*\[)"),
        entry("variable.parameter", r"\b[A-Za-z_]\w*(?=\s*=)"),
        entry("entity.name.class", rf"\b({words(OPERATORS)})\b(?=\s*\()"),
        entry("keyword.control", rf"\b({words(set(MODEL_KEYWORDS) - set(TRUTH))})\b"),
        entry("keyword.operator", r"->|[=+:]"),
    ])


# --- Vim and Emacs: lists between two lines ---


def wrapped(names, head, width=130):
    """Lines that start with `head` and hold all names."""
    lines = [head]
    for name in names:
        if len(lines[-1]) + 1 + len(name) > width:
            lines.append(head)
        lines[-1] += " " + name
    return lines


VIM_OPTIONS = ("conceal", "cchar", "contained", "containedin", "nextgroup", "transparent", "skipwhite", "skipnl", "skipempty", "contains",
               "fold", "display", "extend")


def vim_lists(language):
    rules = language == "rules"
    groups = [("Keyword", RULES_KEYWORDS if rules else sorted(set(MODEL_KEYWORDS) - set(TRUTH))), ("Type", DTYPES), ("Boolean", TRUTH),
              ("Operator", OPERATORS)]
    if rules:
        groups += [("Function", FUNCTIONS), ("Quantity", QUANTITIES)]
    lines = []
    for group, names in groups:
        # Words that are options of `:syntax keyword` must be matched instead.
        plain = [name for name in names if name not in VIM_OPTIONS]
        lines += wrapped(plain, f"syntax keyword collage{language.capitalize()}{group}")
        lines += [f"syntax match collage{language.capitalize()}{group} /\\<{name}\\>/" for name in names if name in VIM_OPTIONS]
    if rules:
        units = "\\|".join(sorted(UNITS, key=lambda name: (-len(name), name)))
        number = r"\<\d\+\(\.\d\+\)\?\([eE][-+]\?\d\+\)\?"
        lines.append(rf"syntax match collageRulesNumber /{number}\s*\(\({units}\)\(\/s\)\?\>\)\?/")
    return lines


def emacs_lists():
    lists = [("collage-rules-keywords", RULES_KEYWORDS), ("collage-model-keywords", MODEL_KEYWORDS), ("collage-element-types", DTYPES),
             ("collage-units", UNITS), ("collage-operators", OPERATORS), ("collage-rules-functions", FUNCTIONS),
             ("collage-rules-quantities", QUANTITIES)]
    lines = []
    for name, names in lists:
        lines.append(f"(defconst {name}")
        body = wrapped([f'"{one}"' for one in names], "   ")
        body = [("  '(" if i == 0 else "    ") + line.strip() for i, line in enumerate(body)]
        lines += body[:-1] + [body[-1] + "))"]
    return lines


def between_marks(path, lines):
    text = (EDITORS / path).read_text(encoding="utf-8")
    found = re.fullmatch(r"(.*^[^\n]*\bgenerated by [^\n]*\n)(.*?)(^[^\n]*\bend of generated\b.*)", text, re.MULTILINE | re.DOTALL)
    assert found, f"{path} has no lines `generated by` and `end of generated`"
    return found[1] + "\n".join(lines) + "\n" + found[3]


def files():
    return {
        "vscode/syntaxes/collage-rules.tmLanguage.json": rules_grammar(),
        "vscode/syntaxes/collage-model.tmLanguage.json": model_grammar(),
        "vim/syntax/collage_rules.vim": between_marks("vim/syntax/collage_rules.vim", vim_lists("rules")),
        "vim/syntax/collage_model.vim": between_marks("vim/syntax/collage_model.vim", vim_lists("model")),
        "emacs/collage.el": between_marks("emacs/collage.el", emacs_lists()),
    }


def main():
    only_check = sys.argv[1:] == ["--check"]
    stale = []
    for name, text in files().items():
        path = EDITORS / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not only_check:
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"grammar/editors/{name}", "is stale: run grammar/editors/make_keywords.py" if only_check else "written")
    return 1 if only_check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
