# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings. build_site starts Sphinx on the pages that it prepared; COLLAGE_SOURCE is the root of the sources."""
import importlib.util
import os
import re

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text

SOURCE = os.environ["COLLAGE_SOURCE"]


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


project = "Collage"
release = re.search(r'COLLAGE_VERSION "([^"]+)"', read("include/collage/version.h"))[1]
author = "the authors of Collage"
project_copyright = "the authors of Collage; Apache License 2.0"
extensions = ["myst_parser"]
if importlib.util.find_spec("sphinx_copybutton"):
    extensions.append("sphinx_copybutton")
    copybutton_prompt_text = "$ "
myst_heading_anchors = 4
# Only directives and admonitions of MyST are used: `%` and `+++` at the beginning of a line are text.
myst_disable_syntax = ["myst_line_comment", "myst_block_break", "myst_target"]
highlight_language = "text"
root_doc = "index"
html_theme = "furo"
html_title = f"Collage {release}"
html_static_path = ["static"]
html_css_files = ["collage.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5394", "color-brand-content": "#0b5394"},
    "dark_css_variables": {"color-brand-primary": "#7fb5e6", "color-brand-content": "#7fb5e6"},
}
templates_path = []


def keywords(path):
    return sorted(re.findall(r'^KEYWORD\(\w+, "([^"]+)"', read(path), re.M), key=len, reverse=True)


def lexer(name, path):
    """Of the rule language or the model language; the words are those of its scanner."""
    words = "|".join(map(re.escape, keywords(path)))
    tokens = {"root": [
        (r"//[^\n]*", Comment.Single),
        (r'"(?:\\.|[^"\\\n])*"', String),
        (r"[%@](?:[\w.$/-]+)", Name.Variable),
        (rf"(?<![\w.])(?:{words})(?![\w.])", Keyword),
        (r"(\d[\d.]*(?:e[+-]?\d+)?)( ?)((?:[KMGT]i?)?B(?:/s)?|[munp]?s|[GMk]?Hz|[mun]?W|[pnu]?J)?\b", bygroups(Number, Text, Number)),
        (r"\b(?:f64|f32|f16|bf16|[iu](?:8|16|32|64)|bool)\b", Keyword.Type),
        (r"\b[A-Z]\w*", Name.Class),
        (r"\w+", Name),
        (r"[^\w\s]", Operator),
        (r"\s+", Text),
    ]}
    return type(name, (RegexLexer,), {"name": name, "tokens": tokens})


def setup(app):
    app.add_lexer("rules", lexer("RulesLexer", "grammar/rules_keywords.def"))
    app.add_lexer("model", lexer("ModelLexer", "grammar/model_keywords.def"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
