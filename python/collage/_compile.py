# SPDX-License-Identifier: Apache-2.0
"""From a model to a program."""
from __future__ import annotations

import contextlib
import json
import os
import warnings
from typing import Any, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _collage, _settings, _torch, _words, _work
from ._dynamic import DynamicProgram
from ._errors import ShapeWarning, raising
from ._program import Program
from ._table import Table

#: One file, folder or text of rules, several, or those that came with Collage.
_Rules = Union[None, _settings.PathOrText, Sequence[_settings.PathOrText]]


#: A path, and the bytes where they are in memory.
_File = Tuple[Union[str, bytes], Optional[bytes]]


def _is_model_proto(model: Any) -> bool:
    return hasattr(model, "SerializeToString") and hasattr(model, "graph")


def _as_file(model: Any, inputs: Any, opset: Optional[int]) -> _File:
    """Path of the model, and its bytes where they are in memory. A path in <> names no file, but what it leads to is
    looked for in the current folder."""
    if _torch.is_module(model):
        if inputs is None:
            raise TypeError("a module needs example inputs: collage.compile(module, (x,))")
        return f"<{type(model).__name__}>.onnx", _torch.export(model, inputs, opset)
    if inputs is not None:
        raise TypeError("example inputs are for modules of PyTorch; `shapes` fixes open dimensions")
    if _is_model_proto(model):
        return "<ModelProto>.onnx", model.SerializeToString()
    if isinstance(model, (bytes, bytearray, memoryview)):
        return "<bytes>.onnx", bytes(model)
    if _settings.is_text(model):
        return "<model>", model.encode()
    if isinstance(model, (str, os.PathLike)):
        return _settings.path_of(model, "the model"), None
    raise TypeError(f"no model: {type(model).__name__}; want a path, a text, bytes, an onnx.ModelProto or a torch.nn.Module")


def _rule_files(rules: Any) -> List[_File]:
    """Rule files, folders of them, and texts, in their order."""
    files: List[_File] = []
    for number, one in enumerate([rules] if isinstance(rules, (str, os.PathLike)) else rules):
        if _settings.is_text(one):
            files.append((f"<rules[{number}]>", one.encode()))
        else:
            files.append((_settings.path_of(one, "rules"), None))
    return files


def _placement_file(placement: _settings.PathOrText) -> _File:
    if _settings.is_text(placement):
        return "<placement>", placement.encode()  # type: ignore[union-attr]
    return _settings.path_of(placement, "placement"), None


def _hold(compiler: _collage.Compiler, files: Iterable[_File]) -> List[Union[str, bytes]]:
    """Gives the compiler the files that are in memory. Returns all paths."""
    paths = []
    for path, content in files:
        if content is not None:
            compiler.file(path, content)
        paths.append(path)
    return paths


@contextlib.contextmanager
def _prepared(settings: List[_settings.Setting], rules: Any, followed: List[_File],
              model: _File) -> Iterator[Tuple[_collage.Compiler, Union[str, bytes]]]:
    """A compiler with these settings and rules, and the path at which it reads the model meanwhile."""
    for name, value in settings:
        if "\0" in name + value:
            raise ValueError(f"{name}: {value!r} has a zero byte")
    rule_files = None if rules is None else _rule_files(rules)
    path, content = model
    compiler = _collage.Compiler()
    with raising(compiler):
        for name, value in settings:
            compiler.set(name, os.fsencode(value))
        for one in _hold(compiler, followed):
            compiler.set("placement", one)
        if rule_files is not None:
            compiler.rules(_hold(compiler, rule_files))
        if content is not None:
            compiler.file(path, content)
        yield compiler, path
        if content is not None:
            compiler.forget_file(path)


def _warn_of_open(program: Program, stacklevel: int) -> None:
    if program._open:
        names = ", ".join(f"`{name}`" for name in program._open)
        example = {name: "N" for name in program._open}
        shapes = "{" + ", ".join(f"{name!r}: {size}" for name, size in example.items()) + "}"
        warnings.warn(f"{names} of the model {'is' if len(example) == 1 else 'are'} open and taken as 1: shapes={shapes} compiles for "
                      "other sizes, collage.dynamic for all", ShapeWarning, stacklevel=stacklevel + 1)


def _of_threads(threads: Optional[int]) -> List[_settings.Setting]:
    return [] if threads is None else [("threads", str(_settings.checked_number(threads, "threads", 1)))]


def compile(  # noqa: A001: the word of the task, as in re.compile
    model: Any,
    inputs: Any = None,
    *,
    rules: _Rules = None,
    objective: str = "latency",
    constraints: Optional[Mapping[str, _settings.Entries]] = None,
    shapes: Optional[Mapping[str, _settings.Dims]] = None,
    placement: Optional[_settings.PathOrText] = None,
    threads: Optional[int] = None,
    opset: Optional[int] = None,
    progress: _work.Shown = None,
    **settings: Any,
) -> Program:
    """Places a model over the backends of the rules and compiles it.

    model        path of a .onnx file or of a model text; a model text (a string with a line break); the bytes of an ONNX
                 file; an onnx.ModelProto; a torch.nn.Module with example `inputs`, which is exported with `opset`
    rules        rule files, folders of them, or rule texts (strings with a line break); [] for the host alone. None: those
                 that came with Collage, of which models of chips take part where `target` or `simulated=True` says so
    objective    "latency", "makespan", "throughput" or "energy"
    constraints  {"place": {"conv1": "npu[0]"}, "forbid": ["op:Softmax=npu"], "together": ["conv1", "relu1"],
                 "memory": {"npu[0]": "4MiB"}, "allow": ["f16", "npu=i8"]}
    shapes       sizes of open dimensions: {"batch": 8, "image": (1, 3, 224, 224), "seq": "1..512"}
    placement    a placement file or its text (`program.placement.text`) to follow
    threads      of the host. None: one for each core, one for a plan of little work. Where many threads of the program call it at
                 once, 1 serves them best
    progress     None: a line on stderr where that is a terminal; True: there in any case; False: nothing; or a function that
                 is called with each new `Progress`
    settings     further settings of `collage_compiler_set`, with _ for -: costs="estimate", strategy="greedy",
                 budget=2, cost_db="", cache="", target=["npu"], strict=True, …

    Raises DiagnosticError with the place of what is wrong, which is a FileNotFoundError, a ValueError or a TypeError, too, where it
    is about a file or an argument. Other threads run meanwhile; Ctrl-C ends it, and costs that were measured are kept.
    """
    pairs = [("objective", _settings.checked_text(objective, "objective"))] + _of_threads(threads)
    pairs += _settings.of_constraints(constraints) + _settings.of_shapes(shapes) + _settings.of_keywords(settings)
    followed = [] if placement is None else [_placement_file(placement)]
    shown = _work.checked(progress)
    with _prepared(pairs, rules, followed, _as_file(model, inputs, opset)) as (compiler, path):

        def build() -> Tuple[_collage.Program, _collage.Placement]:
            placed = compiler.load(path).place()
            return placed.build(threads or 0), placed

        native, placed = _work.run(compiler, build, shown)
    program = Program(native, compiler, placed, threads or 0)
    _warn_of_open(program, stacklevel=2)
    return program


def dynamic(
    model: Any,
    *,
    rules: _Rules = None,
    objective: str = "latency",
    constraints: Optional[Mapping[str, _settings.Entries]] = None,
    buckets: Optional[Mapping[str, Sequence[int]]] = None,
    keep: int = 8,
    threads: Optional[int] = None,
    **settings: Any,
) -> DynamicProgram:
    """Opens a model whose shapes are open. It is placed and compiled for the shapes of its inputs when it first meets them.
    Loops, branches and shapes that values decide are run, too.

    model        as `compile` takes it, but for modules of PyTorch: export these with open dimensions
    rules, objective, constraints, threads, settings   as `compile` takes them
    buckets      {"batch": [1, 8, 32]}: a size between two of them is padded to the next larger one, and compiles nothing,
                 where it is proved that results do not depend on padding; `program.warnings` says where it is not
    keep         specialisations that stay, those used last
    """
    if _torch.is_module(model):
        raise TypeError("a module of PyTorch has no open dimensions: export it with `dynamic_axes`, and give the file or its "
                        "bytes")
    kept = _settings.checked_number(keep, "keep", 1)
    pairs = [("objective", _settings.checked_text(objective, "objective"))] + _of_threads(threads)
    pairs += _settings.of_constraints(constraints) + _settings.of_buckets(buckets) + _settings.of_keywords(settings)
    with _prepared(pairs, rules, [], _as_file(model, None, None)) as (compiler, path):
        native = _collage.DynamicProgram.open(compiler, path, kept)
    return DynamicProgram(native, compiler)


def backends(rules: _Rules = None, *, allow_code: bool = False) -> Table:
    """What the backends are on this machine: a table with name, kind, runs_by, reason, rules and file.

    rules        as `compile` takes them
    allow_code   plug-ins that rule files name may be loaded; otherwise their backends are absent

    kind is "real" for what runs here, "absent" for what does not, for the reason that is given, or "model of a chip", whose times are
    what its rule file says. runs_by has the version of a library. rules is how many there are.
    """
    compiler = _collage.Compiler()
    with raising(compiler):
        compiler.set("allow-code", "true" if allow_code else "false")
        if rules is not None:
            compiler.rules(_hold(compiler, _rule_files(rules)))
        rows = json.loads(compiler.backends_json())
    for row in rows:
        if "reason" in row:
            row["reason"] = _words.in_python(row["reason"])
    return Table(rows, ("name", "kind", "runs_by", "reason", "rules", "file"))
