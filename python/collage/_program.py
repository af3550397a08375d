# SPDX-License-Identifier: Apache-2.0
"""What was compiled: to run, to ask, to save."""
from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import tempfile
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Tuple, TypeVar, Union

from . import _collage, _placed_text, _settings, _words, _work
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


#: Of tables with a row for each node.
_COLUMNS = ("node", "op", "partition", "backend", "device", "rules", "macs", "flops", "results")


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
        super().__init__(json.loads(placed.nodes_json()), _COLUMNS)
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


class StoredPlacement(Table):
    """Where each node runs, of a program that was read from a package: as a Placement, without macs and flops, which packages
    do not have. The rules are those of the partition.

    partitions   a table: id, backend, device, rules, nodes, cost_s
    conversions  a table: value, to, cost_s
    text         the placed model, without weights
    """

    def __init__(self, text: str) -> None:
        nodes, partitions, conversions = _placed_text.tables(text)
        super().__init__(nodes, _COLUMNS)
        self.partitions = Table(partitions, ("id", "backend", "device", "rules", "nodes", "cost_s"))
        self.conversions = Table(conversions, ("value", "to", "cost_s"))
        self.text = text


def _strategy_row(strategy: Dict[str, Any]) -> Dict[str, Any]:
    """`mac_share` and `measured` become columns of their own: `macs_npu`, `measured_median_s`."""
    row = {key: value for key, value in strategy.items() if key not in ("mac_share", "measured")}
    row.update({f"macs_{backend}": share for backend, share in strategy.get("mac_share", {}).items()})
    row.update({f"measured_{key}": value for key, value in strategy.get("measured", {}).items()})
    return row


_Answer = TypeVar("_Answer")
#: The warning that a dimension was taken as 1.
_OPEN = re.compile(r"dimension 0 \(`(.*)`\) is open: taken as 1")


def open_dimensions(warnings: Tuple[Diagnostic, ...]) -> List[str]:
    """Names of the dimensions that the model leaves open and the compiler took as 1, each once."""
    found = [_OPEN.search(one.message) for one in warnings]
    return list(dict.fromkeys(one[1] for one in found if one))


class Program:
    """A compiled model. Call it with its inputs, by place or by name.

    Several threads may use one program at once: each run has memory of its own, questions wait for each other. Pickled it is
    its package: what is unpickled can be run and profiled, by processors like this one.
    """

    def __init__(self, native: _collage.Program, compiler: Optional[_collage.Compiler] = None,
                 placed: Optional[_collage.Placement] = None, threads: int = 0) -> None:
        self._native = native
        self._compiler = compiler
        self._placed = placed
        self._threads = threads
        self._lock = threading.Lock()  # of the compiler and its placement
        self._placement: Union[None, Placement, StoredPlacement] = None
        self.inputs: List[_collage.Port] = native.inputs
        self.outputs: List[_collage.Port] = native.outputs
        #: Names of the specialisations of a package that `--buckets` made: ["batch=1", "batch=8"]. `inputs` and `outputs` are
        #: those of the first.
        self.shapes: List[str] = native.shapes
        #: Warnings of compiling.
        self.warnings: Tuple[Diagnostic, ...] = diagnostics_of(compiler) if compiler is not None else ()
        self._open = open_dimensions(self.warnings)

    def __reduce__(self) -> Tuple[Any, ...]:
        return load, (self.to_bytes(), self._threads)

    def __call__(self, /, *inputs: Any, **named: Any) -> Union["numpy.ndarray", Tuple["numpy.ndarray", ...]]:
        """One run. Returns the output as an array, several as a tuple.

        Inputs are NumPy arrays, objects with `__dlpack__`, or lists of numbers. Dense row-major ones are used where they
        lie, others are copied; another shape or element type is an error. bf16 is given by DLPack or as uint16. Of a
        package that holds several shapes, the one for the inputs runs; a size in between is padded to the next larger one
        where the compiler has proved that right.
        """
        try:
            return self._native.run(inputs, named)
        except (_collage.Failure, ValueError) as failure:
            raise self._explained(failure) from None

    def tensors(self, /, *inputs: Any, **named: Any) -> Tuple[_collage.Tensor, ...]:
        """One run, with results for other libraries: `torch.from_dlpack(program.tensors(x)[0])`."""
        try:
            return self._native.run_tensors(inputs, named)
        except (_collage.Failure, ValueError) as failure:
            raise self._explained(failure) from None

    def _explained(self, failure: Exception) -> Exception:
        """The failure of a run as one of ours; of another size where one was taken as 1, with the way to that."""
        if not isinstance(failure, ValueError):
            return CollageError(str(failure))
        given = re.search(r"not the shape \[(\d+)", str(failure))
        if not given or not self._open:
            return failure
        name = self._open[0]
        return ValueError(f"{failure}; `{name}` was taken as 1: compile with shapes={{{name!r}: {given[1]}}}, or by collage.dynamic for "
                          "any size")

    @property
    def predicted_seconds(self) -> float:
        """The predicted time of one run."""
        return self._native.predicted_seconds()

    @property
    def placed_model(self) -> str:
        """The placed model as a text in the model language, without weights."""
        return self._native.placed()

    @property
    def placement(self) -> Union[Placement, StoredPlacement]:
        """Where each node runs."""
        with self._lock:
            if self._placement is None:
                if self._compiler is None:
                    self._placement = StoredPlacement(self.placed_model)
                else:
                    compiler, placed = self._asked("placement")
                    with raising(compiler):
                        self._placement = Placement(placed)
            return self._placement

    def explain(self, node: str, backend: Optional[str] = None, *, measure: bool = False,
                progress: _work.Shown = None) -> Explanation:
        """Why nodes are where they are; with `backend`, why they are not there.

        node      the name of a result, a pattern (`"conv*"`), `"op:Softmax"` or `"model.ir:12-20"`
        measure   costs that the search did without are measured first, which may take minutes. Without it an answer is by the
                  costs that are known, and says `about` where it compares with others
        progress  as `compile` has it

        Only for the objective latency.
        """
        _settings.checked_text(node, "node")
        if backend is not None:
            _settings.checked_text(backend, "backend")

        def ask(placed: _collage.Placement) -> str:
            if measure:
                placed.measure()
            return placed.why_json(node) if backend is None else placed.why_not_json(node, backend)

        document = json.loads(self._ask("explain", ask, progress))
        answers = document.get("why", []) + document.get("why_not", [])
        return Explanation(
            Answer(_words.in_python(one["answer"]), tuple((row["label"], _words.in_python(row["text"])) for row in one["rows"]))
            for one in answers)

    def compare(self, runs: int = 0, *, progress: _work.Shown = None) -> Table:
        """What each strategy predicts and chooses, one row for each; with `runs`, also what it takes. Costs that the
        search did without are measured first."""
        runs = _settings.checked_number(runs, "runs", 0)
        text = self._ask("compare", lambda placed: placed.compare_json(runs), progress)
        return Table(map(_strategy_row, json.loads(text)["compare"]["strategies"]))

    def profile(self, /, *inputs: Any, **named: Any) -> Table:
        """What each kernel, conversion and copy takes, longest first, those inside a library's partition one by one: kind,
        what, seconds, share; over the hosts of a cluster also host. Without inputs: on random ones. Of a package that holds several shapes, the one for the inputs is
        profiled; without inputs the first."""
        compiler = _collage.Compiler()
        with raising(compiler):
            text = _work.run(compiler, lambda: compiler.profile_json(self._native, inputs, named), progress=False)
        profile = json.loads(text)
        whole = profile["seconds"] or 1.0
        fields = ("kind", "what", "seconds", "host")
        return Table(({**{name: row[name] for name in fields if name in row}, "share": row["seconds"] / whole} for row in profile["rows"]),
                     ("kind", "what", "seconds", "share"))

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a package, which `collage.load` and `collage-run` read. It is for processors like this one."""
        checked = _settings.path_of(path, "the package")
        with raising():
            self._native.save(checked)

    def to_bytes(self) -> bytes:
        """The package that `save` writes; `collage.load` takes it."""
        with tempfile.TemporaryDirectory(prefix="collage-") as folder:
            path = os.path.join(folder, "program.collage")
            self.save(path)
            with open(path, "rb") as file:
                return file.read()

    def __repr__(self) -> str:
        ports = f"{', '.join(map(repr, self.inputs))} -> {', '.join(map(repr, self.outputs))}"
        return f"<collage.Program {ports}>"

    def _ask(self, what: str, question: Callable[[_collage.Placement], _Answer], progress: _work.Shown) -> _Answer:
        """The answer to a question that may take long."""
        compiler, _ = self._known(what)

        def ask() -> _Answer:
            with raising(compiler):
                return question(self._asked(what)[1])

        return _work.run(compiler, ask, _work.checked(progress), self._lock)

    def _known(self, what: str) -> Tuple[_collage.Compiler, _collage.Placement]:
        if self._compiler is None or self._placed is None:
            raise CollageError(f"`{what}` is not known of a program that was read from a package: compile the model to ask; "
                               "`placement` shows what runs where")
        return self._compiler, self._placed

    def _asked(self, what: str) -> Tuple[_collage.Compiler, _collage.Placement]:
        """The compiler without the diagnostics of earlier steps. With the lock held."""
        compiler, placed = self._known(what)
        compiler.clear_diagnostics()
        return compiler, placed


@contextlib.contextmanager
def _file_of(package: bytes) -> Iterator[bytes]:
    """A path under which the bytes can be read. What maps the file keeps them."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("collage")
        try:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(package)
            yield os.fsencode(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
        return
    with tempfile.TemporaryDirectory(prefix="collage-") as folder:
        path = os.path.join(folder, "program.collage")
        with open(path, "wb") as file:
            file.write(package)
        yield os.fsencode(path)


def load(package: Union[str, "os.PathLike[str]", bytes, bytearray, memoryview], threads: int = 0) -> Program:
    """Reads a package that `Program.save` or `collagec` wrote, of one shape or of several: a path, or the bytes of it.

    threads  of the host; 0: as many as it was compiled for, one for a plan of little work
    """
    count = _settings.checked_number(threads, "threads", 0)
    if isinstance(package, (bytes, bytearray, memoryview)):
        with _file_of(bytes(package)) as path:
            try:
                return Program(_collage.Program.load(path, count), threads=count)
            except _collage.Failure as failure:
                raise CollageError(str(failure).replace(os.fsdecode(path), "<bytes>")) from None
    checked = _settings.path_of(package, "the package")
    with raising():
        return Program(_collage.Program.load(checked, count), threads=count)
