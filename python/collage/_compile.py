# SPDX-License-Identifier: Apache-2.0
"""From a model to a program."""
from __future__ import annotations

import os
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _collage, _settings, _torch
from ._errors import raising
from ._program import Program


#: A path, and the bytes where they are in memory.
_File = Tuple[str, Optional[bytes]]


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


def _hold(compiler: _collage.Compiler, files: Iterable[_File]) -> List[str]:
    """Gives the compiler the files that are in memory. Returns all paths."""
    paths = []
    for path, content in files:
        if content is not None:
            compiler.file(path, content)
        paths.append(path)
    return paths


def compile(  # noqa: A001: the word of the task, as in re.compile
    model: Any,
    inputs: Any = None,
    *,
    rules: Union[None, _settings.PathOrText, Sequence[_settings.PathOrText]] = None,
    objective: str = "latency",
    constraints: Optional[Mapping[str, _settings.Entries]] = None,
    shapes: Optional[Mapping[str, _settings.Dims]] = None,
    placement: Optional[_settings.PathOrText] = None,
    threads: Optional[int] = None,
    opset: Optional[int] = None,
    **settings: Any,
) -> Program:
    """Places a model over the backends of the rules and compiles it.

    model        path of a .onnx file or of a model text; a model text (a string with a line break); the bytes of an ONNX
                 file; an onnx.ModelProto; a torch.nn.Module with example `inputs`, which is exported with `opset`
    rules        rule files, folders of them, or rule texts (strings with a line break); [] for the host alone. None: those
                 that came with Collage
    objective    "latency", "makespan", "throughput" or "energy"
    constraints  {"place": {"conv1": "npu[0]"}, "forbid": ["op:Softmax=npu"], "together": ["conv1", "relu1"],
                 "memory": {"npu[0]": "4MiB"}, "allow": ["f16", "npu=i8"]}
    shapes       sizes of open dimensions: {"batch": 8, "image": (1, 3, 224, 224), "seq": "1..512"}
    placement    a placement file or its text (`program.placement.text`) to follow
    threads      of the host
    settings     further settings of `collage_compiler_set`, with _ for -: costs="estimate", strategy="greedy",
                 budget=2, cost_db="", cache="", target=["npu"], strict=True, …

    Raises DiagnosticError with the place of what is wrong. Other threads run meanwhile.
    """
    pairs = [("objective", _settings.checked_text(objective, "objective"))]
    if threads is not None:
        pairs.append(("threads", str(_settings.checked_number(threads, "threads", 1))))
    pairs += _settings.of_constraints(constraints) + _settings.of_shapes(shapes) + _settings.of_keywords(settings)
    for name, value in pairs:
        if "\0" in name + value:
            raise ValueError(f"{name}: {value!r} has a zero byte")
    followed = [] if placement is None else [_placement_file(placement)]
    rule_files = None if rules is None else _rule_files(rules)
    path, content = _as_file(model, inputs, opset)
    compiler = _collage.Compiler()
    with raising(compiler):
        for name, value in pairs:
            compiler.set(name, value)
        for one in _hold(compiler, followed):
            compiler.set("placement", one)
        if rule_files is not None:
            compiler.rules(_hold(compiler, rule_files))
        if content is not None:
            compiler.file(path, content)
        read = compiler.load(path)
        if content is not None:
            compiler.forget_file(path)
        placed = read.place()
        native = placed.build(threads or 0)
    return Program(native, compiler, placed)
