# SPDX-License-Identifier: Apache-2.0
"""What was compiled: to run, to ask, to save."""
from __future__ import annotations

import dataclasses
import json
import os
import threading
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

from . import _collage, _settings
from ._errors import CollageError, Diagnostic, diagnostics_of, raising
from ._table import Table

if TYPE_CHECKING:
    import numpy


@dataclasses.dataclass(frozen=True)
class Answer:
    """About one node: a sentence, and rows of a label and a text. An empty label is that of the row before."""

    answer: str
    rows: Tuple[Tuple[str, str], ...]

    def __str__(self) -> str:
        width = max((len(label) for label, _ in self.rows), default=0)
        return "\n".join([self.answer] + [f"  {label.ljust(width)}  {text}".rstrip() for label, text in self.rows])


class Explanation(List[Answer]):
    """Answers, one for each node that was asked about."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def __repr__(self) -> str:
        return str(self)


class Placement(Table):
    """Where each node runs: one row for each, in the order of the model, with node, op, partition, backend, device, rules,
    macs, flops and results.

    partitions   a table: id, backend, device, rules, nodes, macs, inputs, outputs, cost_s
    conversions  a table: value, from, to, bytes, cost_s
    backends     a table: backend, rules, ops, partitions, macs, predicted_s, refused; absent says why it cannot be used,
                 simulated is true where a simulator stands for the device
    document     all of it as the JSON document of `collagec --json` at `placement`
    summary      the lines that `collagec` prints
    text         a placement file: `compile(…, placement=text)` follows it
    """

    def __init__(self, placed: _collage.Placement) -> None:
        super().__init__(json.loads(placed.nodes_json()),
                         ("node", "op", "partition", "backend", "device", "rules", "macs", "flops", "results"))
        report = json.loads(placed.summary_json())
        self.document: Dict[str, Any] = report["placement"]
        self.partitions = Table(self.document["partitions"],
                                ("id", "backend", "device", "rules", "nodes", "macs", "inputs", "outputs", "cost_s"))
        self.conversions = Table(self.document["conversions"], ("value", "from", "to", "bytes", "cost_s"))
        self.backends = Table(report["backends"],
                              ("backend", "rules", "ops", "partitions", "macs", "predicted_s", "refused", "absent",
                               "simulated"))
        self.summary = placed.summary()
        self.text = placed.text()

    @property
    def value(self) -> float:
        """What the objective says of it: seconds, or joules."""
        return self.document["objective"]["value"]

    @property
    def bound(self) -> float:
        """No placement has a smaller value; 0 where nothing was proven."""
        return self.document["objective"]["bound"]

    @property
    def is_optimal(self) -> bool:
        return self.document["objective"]["optimal"]


def _strategy_row(strategy: Dict[str, Any]) -> Dict[str, Any]:
    """`mac_share` and `measured` become columns of their own: `macs_npu`, `measured_median_s`."""
    row = {key: value for key, value in strategy.items() if key not in ("mac_share", "measured")}
    row.update({f"macs_{backend}": share for backend, share in strategy.get("mac_share", {}).items()})
    row.update({f"measured_{key}": value for key, value in strategy.get("measured", {}).items()})
    return row


class Program:
    """A compiled model. Call it with its inputs, by place or by name.

    Several threads may use one program at once: each run has memory of its own, questions wait for each other.
    """

    def __init__(self, native: _collage.Program, compiler: Optional[_collage.Compiler] = None,
                 placed: Optional[_collage.Placement] = None) -> None:
        self._native = native
        self._compiler = compiler
        self._placed = placed
        self._lock = threading.Lock()  # of the compiler and its placement
        self._placement: Optional[Placement] = None
        self.inputs: List[_collage.Port] = native.inputs
        self.outputs: List[_collage.Port] = native.outputs
        #: Names of the specialisations of a package that `--buckets` made: ["batch=1", "batch=8"]. `inputs` and `outputs` are
        #: those of the first.
        self.shapes: List[str] = native.shapes
        #: Warnings of compiling.
        self.warnings: Tuple[Diagnostic, ...] = diagnostics_of(compiler) if compiler is not None else ()

    def __call__(self, /, *inputs: Any, **named: Any) -> Union["numpy.ndarray", Tuple["numpy.ndarray", ...]]:
        """One run. Returns the output as an array, several as a tuple.

        Inputs are NumPy arrays, objects with `__dlpack__`, or lists of numbers. Dense row-major ones are used where they
        lie, others are copied; another shape or element type is an error. bf16 is given by DLPack or as uint16. Of a
        package that holds several shapes, the one for the inputs runs; a size in between is padded to the next larger one
        where the compiler has proved that right.
        """
        try:
            return self._native.run(inputs, named)
        except _collage.Failure as failure:
            raise CollageError(str(failure)) from None

    def tensors(self, /, *inputs: Any, **named: Any) -> Tuple[_collage.Tensor, ...]:
        """One run, with results for other libraries: `torch.from_dlpack(program.tensors(x)[0])`."""
        with raising():
            return self._native.run_tensors(inputs, named)

    @property
    def predicted_seconds(self) -> float:
        """The predicted time of one run."""
        return self._native.predicted_seconds()

    @property
    def placed_model(self) -> str:
        """The placed model as a text in the model language, without weights."""
        return self._native.placed()

    @property
    def placement(self) -> Placement:
        """Where each node runs."""
        with self._lock:
            if self._placement is None:
                compiler, placed = self._asked("placement")
                with raising(compiler):
                    self._placement = Placement(placed)
            return self._placement

    def explain(self, node: str, backend: Optional[str] = None) -> Explanation:
        """Why nodes are where they are; with `backend`, why they are not there.

        node: the name of a result, a pattern (`"conv*"`), `"op:Softmax"` or `"model.ir:12-20"`. Only for the objective
        latency. Costs that the search did without are measured first.
        """
        _settings.checked_text(node, "node")
        if backend is not None:
            _settings.checked_text(backend, "backend")
        with self._lock:
            compiler, placed = self._asked("explain")
            with raising(compiler):
                text = placed.why_json(node) if backend is None else placed.why_not_json(node, backend)
        document = json.loads(text)
        answers = document.get("why", []) + document.get("why_not", [])
        return Explanation(
            Answer(one["answer"], tuple((row["label"], row["text"]) for row in one["rows"])) for one in answers)

    def compare(self, runs: int = 0) -> Table:
        """What each strategy predicts and chooses, one row for each; with `runs`, also what it takes. Costs that the
        search did without are measured first."""
        runs = _settings.checked_number(runs, "runs", 0)
        with self._lock:
            compiler, placed = self._asked("compare")
            with raising(compiler):
                text = placed.compare_json(runs)
        return Table(map(_strategy_row, json.loads(text)["compare"]["strategies"]))

    def profile(self, /, *inputs: Any, **named: Any) -> Table:
        """What each kernel, conversion and copy takes, longest first: kind, what, seconds, share; over the hosts of a cluster
        also host. Without inputs: on random ones. Of a package that holds several shapes, the one for the inputs is
        profiled; without inputs the first."""
        compiler = _collage.Compiler()
        with raising(compiler):
            profile = json.loads(compiler.profile_json(self._native, inputs, named))
        whole = profile["seconds"] or 1.0
        return Table(({**row, "share": row["seconds"] / whole} for row in profile["rows"]),
                     ("kind", "what", "seconds", "share"))

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a package, which `collage.load` and `collage-run` read. It is for processors like this one."""
        checked = _settings.path_of(path, "the package")
        with raising():
            self._native.save(checked)

    def __repr__(self) -> str:
        ports = f"{', '.join(map(repr, self.inputs))} -> {', '.join(map(repr, self.outputs))}"
        return f"<collage.Program {ports}>"

    def _asked(self, what: str) -> Tuple[_collage.Compiler, _collage.Placement]:
        """The compiler without the diagnostics of earlier steps. With the lock held."""
        if self._compiler is None or self._placed is None:
            raise CollageError(f"`{what}` is not known of a program that was read from a package: compile the model to ask; "
                               "`placed_model` shows what runs where")
        self._compiler.clear_diagnostics()
        return self._compiler, self._placed


def load(path: Union[str, "os.PathLike[str]"], threads: int = 0) -> Program:
    """Reads a package that `Program.save` or `collagec` wrote, of one shape or of several. `threads`: of the host; 0: as many
    as it was compiled for."""
    checked, count = _settings.path_of(path, "the package"), _settings.checked_number(threads, "threads", 0)
    with raising():
        return Program(_collage.Program.load(checked, count))
