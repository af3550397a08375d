# SPDX-License-Identifier: Apache-2.0
"""Messages of the compiler in the words of Python: arguments in place of options of the command.

    `--strategy=greedy`  =>  `strategy='greedy'`      `--shape h=8,w=8`  =>  `shapes={'h': 8, 'w': 8}`
    `-t npu`             =>  `target='npu'`           `--emit=graph`     =>  `collagec --emit=graph`
"""
from __future__ import annotations

import functools
import re
from typing import Optional

from . import _collage
from ._settings import CONSTRAINTS

_OPTION = re.compile(r"(--[a-z][a-z-]*|-[rt])(?:(?:=|\s+)(.*))?")
_SPAN = re.compile(r"`([^`\n]+)`")
_PLACEHOLDER = re.compile(r"[A-Z]+(,?…)?|-?[0-9.]+")  # FILE, N, NAME…; numbers, too, need no quotes
_SHORT = {"-t": "target", "-r": "rules"}
_OWN = {"shape": "shapes"}  # named otherwise than the setting
_QUESTIONS = ("why", "why-not")


def _takes(name: str, value: str) -> bool:
    compiler = _collage.Compiler()
    try:
        compiler.set(name, value)
    except _collage.Failure:
        return False
    return True


@functools.lru_cache(maxsize=None)
def _kind(name: str) -> Optional[str]:
    """What an option of the command is as a setting: "flag", "value", or None where it is none."""
    if name == "rules":
        return "value"
    if _takes(name, "true"):
        return "value" if _takes(name, "maybe") else "flag"
    compiler = _collage.Compiler()
    try:
        compiler.set(name, "maybe")
    except _collage.Failure as failure:
        return None if "no such setting" in str(failure) else "value"
    return "value"


def _value(text: str) -> str:
    return text if _PLACEHOLDER.fullmatch(text) else repr(text)


def _sizes(setting: str, text: str) -> str:
    """Of shapes `h=8,w=N` => `{'h': 8, 'w': N}`, of buckets `h=8,16` => `{'h': [8, 16]}`"""
    if setting == "buckets":
        name, _, sizes = text.partition("=")
        return f"{{{name!r}: [{', '.join(sizes.split(','))}]}}"
    pairs = [entry.rpartition("=") for entry in text.split(",")]
    return "{" + ", ".join(f"{name!r}: {_value(size)}" for name, _, size in pairs) + "}"


def argument(option: str) -> str:
    """The argument of `compile` that stands for an option; anything else as it is."""
    found = _OPTION.fullmatch(option)
    if found is None:
        return "explain" if option in _QUESTIONS else option
    flag, value = found.groups()
    setting = _SHORT.get(flag, flag[2:])
    if setting in CONSTRAINTS:
        return f"constraints[{setting!r}]" if value is None else f"constraints={{{setting!r}: {value!r}}}"
    kind = _kind(setting)
    if kind is None:
        return f"collagec {option}"
    name = _OWN.get(setting, setting.replace("-", "_"))
    if value is None:
        return f"{name}=True" if kind == "flag" else name
    if setting in ("shape", "buckets"):
        return f"{name}={_sizes(setting, value)}" if "=" in value else f"{name}[{value!r}]"
    several = value.split(f" {flag} ")
    if len(several) > 1:
        return f"{name}={several!r}"
    return f"{name}={_value(value)}"


def in_python(text: str) -> str:
    """The text with arguments in place of the options that stand in it as code."""
    return _SPAN.sub(lambda span: f"`{argument(span[1])}`", text)


def rendered(text: str) -> str:
    """The same of diagnostics as the command prints them. Lines of source stay as they are."""
    return "\n".join(_line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    if re.match(r"\s*\d* \|", line):
        return line
    head = re.match(r"(.+?): (?=(?:error|warning): )", line)
    if head is None:
        return in_python(line)
    return f"{argument(head[1])}: {in_python(line[head.end():])}"
