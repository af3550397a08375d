# SPDX-License-Identifier: Apache-2.0
"""Failures as exceptions. What the compiler reports comes with its place, in the words of Python; classes of Python say of what kind
it is, too."""
from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
import json
import os
from typing import Any, Iterator, Optional, Tuple, Type

from . import _collage, _words


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
    file: str  #: of the text, or what names the place: "model.onnx: node 'conv1'", "strategy='greedy'"
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


class ShapeWarning(UserWarning):
    """A size that the model leaves open was chosen."""


class CollageError(Exception):
    """A step that failed. Where the reason is one of Python's, it is of that class, too: of a file that is not there a
    FileNotFoundError."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> Tuple[Any, ...]:
        return _made, (CollageError, _other_class(self), self.args)


class DiagnosticError(CollageError):
    """The compiler refused a model, a rule file, an argument or a question. Of an argument it is a ValueError, too, of one that there is
    not a TypeError.

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

    def __reduce__(self) -> Tuple[Any, ...]:
        return _made, (DiagnosticError, _other_class(self), (str(self), self.diagnostics))


_BUILTINS = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, OSError, ValueError, TypeError)
#: Of reasons that the system gives, with the text that they have there.
_NUMBERS = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ENOSPC, errno.EROFS)
#: Diagnostics about what an argument says: BadOption, InputMismatch, UnknownDevice, BadStrategy, ConstraintUnsatisfiable,
#: BadObjective.
_OF_VALUES = ("CG0003", "CG0005", "CG0401", "CG0409", "CG0410", "CG0425")


@functools.lru_cache(maxsize=None)
def _class_of(base: Type[CollageError], other: Optional[Type[Exception]]) -> Type[CollageError]:
    """The class under its own name, that is `other`, too."""
    if other is None:
        return base
    return type(base.__name__, (base, other), {"__module__": base.__module__, "__doc__": base.__doc__})


def _other_class(failure: BaseException) -> Optional[Type[Exception]]:
    return next((one for one in _BUILTINS if isinstance(failure, one)), None)


def _made(base: Type[CollageError], other: Optional[Type[Exception]], arguments: Tuple[Any, ...]) -> CollageError:
    failure = _class_of(base, other)(*arguments)
    if isinstance(failure, OSError):
        failure.errno = _number_in(str(failure))
    return failure


def _number_in(text: str) -> Optional[int]:
    # Some messages are of the compiler's own words: `is a directory`.
    return next((number for number in _NUMBERS if os.strerror(number).lower() in text.lower()), None)


def _kind_of(text: str, first: Optional[Diagnostic]) -> Optional[Type[Exception]]:
    """The class of Python that the failure is of, too."""
    number = _number_in(text if first is None else first.message)
    if number is not None:
        return type(OSError(number, ""))
    if first is None or first.code not in _OF_VALUES:
        return None
    return TypeError if "no such setting" in first.message else ValueError


def diagnostics_of(compiler: _collage.Compiler) -> Tuple[Diagnostic, ...]:
    """All that the compiler has reported since they were cleared."""
    found = []
    for fields in json.loads(compiler.diagnostics_json()):
        fields["message"] = _words.in_python(fields["message"])
        if not fields.get("line"):
            fields["file"] = _words.argument(fields["file"])
        notes = tuple(Note(**{**note, "message": _words.in_python(note["message"])}) for note in fields.pop("notes"))
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
        text = str(failure).rstrip("\n")
        if errors:
            raise _made(DiagnosticError, _kind_of(text, errors[0]), (_words.rendered(text), errors)) from None
        raise _made(CollageError, _kind_of(text, None), (text,)) from None
