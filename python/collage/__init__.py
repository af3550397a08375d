# SPDX-License-Identifier: Apache-2.0
"""Collage: compiles deep-learning models for several backends at once, and runs them.

    import collage, numpy
    program = collage.compile("model.onnx")
    y = program(numpy.zeros((1, 3, 224, 224), "float32"))
    print(program.placement)
"""
try:
    from . import _collage
except ImportError as _error:
    from ._libraries import why_not
    raise ImportError(why_not(_error), name=_error.name, path=_error.path) from None
from ._collage import Port, Tensor, empty
from ._compile import backends, compile, dynamic
from ._dynamic import DynamicProgram
from ._errors import CollageError, Diagnostic, DiagnosticError, Note, ShapeWarning
from ._program import Answer, Explanation, Placement, Program, StoredPlacement, load
from ._table import Table
from ._work import Progress

for _shown in (Answer, CollageError, Diagnostic, DiagnosticError, DynamicProgram, Explanation, Note, Placement, Program, Progress,
               ShapeWarning, StoredPlacement, Table, backends, compile, dynamic, load):
    _shown.__module__ = __name__  # where messages and pickles look for them

__version__ = _collage.version
__all__ = ["Answer", "CollageError", "Diagnostic", "DiagnosticError", "DynamicProgram", "Explanation", "Note", "Placement",
           "Port", "Program", "Progress", "ShapeWarning", "StoredPlacement", "Table", "Tensor", "backends", "compile", "dynamic",
           "empty", "load"]
