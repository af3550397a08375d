# SPDX-License-Identifier: Apache-2.0
"""Failures as exceptions. What the compiler reports comes with its place."""
from __future__ import annotations

import contextlib
import dataclasses
import json
from typing import Iterator, Optional, Tuple

from . import _collage


@dataclasses.dataclass(frozen=True)
class Note:
    """A line below a diagnostic, some with a place of their own."""

    message: str
    file: str = ""
    line: int = 0
    column: int = 0


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """What the compiler reports. Lines and columns count from 1, columns in bytes; 0: the place is not in a text."""

    severity: str  #: "error" or "warning"
    code: str  #: "CG0102"
    file: str  #: of the text, or what names the place: "model.onnx: node 'conv1'", "strategy"
    message: str
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    source: str = ""  #: the line of text
    notes: Tuple[Note, ...] = ()

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.severity}: {self.message} [{self.code}]"


class CollageError(Exception):
    """A step that failed."""


class DiagnosticError(CollageError):
    """The compiler refused a model, a rule file, a setting or a question.

    As text it is what the command would print. `diagnostics` has all errors; file, line, column, end_line, end_column,
    code, message and notes are those of the first one.
    """

    def __init__(self, text: str, diagnostics: Tuple[Diagnostic, ...]) -> None:
        super().__init__(text)
        self.diagnostics = diagnostics
        first = diagnostics[0]
        self.code = first.code
        self.file = first.file
        self.line = first.line
        self.column = first.column
        self.end_line = first.end_line
        self.end_column = first.end_column
        self.message = first.message
        self.notes = first.notes

    def __reduce__(self):
        return DiagnosticError, (str(self), self.diagnostics)


def diagnostics_of(compiler: _collage.Compiler) -> Tuple[Diagnostic, ...]:
    """All that the compiler has reported since they were cleared."""
    found = []
    for fields in json.loads(compiler.diagnostics_json()):
        notes = tuple(Note(**note) for note in fields.pop("notes"))
        found.append(Diagnostic(notes=notes, **fields))
    return tuple(found)


@contextlib.contextmanager
def raising(compiler: Optional[_collage.Compiler] = None) -> Iterator[None]:
    """Turns a failure inside into an exception of ours, with the diagnostics of the compiler."""
    try:
        yield
    except _collage.Failure as failure:
        errors: Tuple[Diagnostic, ...] = ()
        if compiler is not None:
            errors = tuple(one for one in diagnostics_of(compiler) if one.severity == "error")
        if errors:
            raise DiagnosticError(str(failure).rstrip("\n"), errors) from None
        raise CollageError(str(failure)) from None
