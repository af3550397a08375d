# SPDX-License-Identifier: Apache-2.0
"""A model of open shapes, compiled while it runs."""
from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, Iterator, List, Tuple, Union

from . import _collage
from ._errors import Diagnostic, diagnostics_of, raising

if TYPE_CHECKING:
    import numpy


class DynamicProgram:
    """A model that is specialised to the shapes of its inputs when it first meets them. Call it with its inputs, by place or
    by name.

    Several threads may use one program; runs wait for each other.
    """

    def __init__(self, native: _collage.DynamicProgram, compiler: _collage.Compiler) -> None:
        self._native = native
        self._compiler = compiler
        self._lock = threading.Lock()
        self._warnings: List[Diagnostic] = []
        #: Names.
        self.inputs: List[str] = native.inputs
        self._note_warnings()

    def __call__(self, /, *inputs: Any, **named: Any) -> Union["numpy.ndarray", Tuple["numpy.ndarray", ...]]:
        """One run. Returns the output as an array, several as a tuple. Shapes that were not met before are compiled for first.

        Inputs are NumPy arrays or objects with `__dlpack__`, of the element types of the model. Lists of numbers have none.
        """
        with self._lock, self._reported():
            return self._native.run(inputs, named)

    def tensors(self, /, *inputs: Any, **named: Any) -> Tuple[_collage.Tensor, ...]:
        """One run, with results for other libraries: `torch.from_dlpack(program.tensors(x)[0])`."""
        with self._lock, self._reported():
            return self._native.run_tensors(inputs, named)

    @property
    def made(self) -> int:
        """Specialisations made so far, those that were dropped too."""
        with self._lock:
            return self._native.made

    @property
    def outputs(self) -> List[str]:
        """Names of the results of the last run."""
        with self._lock:
            return self._native.result_names

    @property
    def warnings(self) -> Tuple[Diagnostic, ...]:
        """Of all that was compiled so far."""
        with self._lock:
            return tuple(self._warnings)

    def __repr__(self) -> str:
        return f"<collage.DynamicProgram {', '.join(self.inputs)}>"

    def _note_warnings(self) -> None:
        self._warnings += [one for one in diagnostics_of(self._compiler) if one.severity == "warning"]
        self._compiler.clear_diagnostics()

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        """A run with the lock held: its failure has the diagnostics of this run alone, and its warnings are kept."""
        try:
            with raising(self._compiler):
                yield
        finally:
            self._note_warnings()
