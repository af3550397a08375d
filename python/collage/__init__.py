# SPDX-License-Identifier: Apache-2.0
"""Collage: compiles deep-learning models for several backends at once, and runs them.

    import collage, numpy
    program = collage.compile("model.onnx")
    y = program(numpy.zeros((1, 3, 224, 224), "float32"))
    print(program.placement)
"""
from . import _collage
from ._collage import Port, Tensor, empty
from ._compile import compile, dynamic
from ._dynamic import DynamicProgram
from ._errors import CollageError, Diagnostic, DiagnosticError, Note
from ._program import Answer, Explanation, Placement, Program, load
from ._table import Table

for _shown in (Answer, CollageError, Diagnostic, DiagnosticError, DynamicProgram, Explanation, Note, Placement, Program, Table,
               compile, dynamic, load):
    _shown.__module__ = __name__  # where messages and pickles look for them

__version__ = _collage.version
__all__ = ["Answer", "CollageError", "Diagnostic", "DiagnosticError", "DynamicProgram", "Explanation", "Note", "Placement",
           "Port", "Program", "Table", "Tensor", "compile", "dynamic", "empty", "load"]
