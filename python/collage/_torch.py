# SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch as ONNX. PyTorch is imported only where a module is given."""
from __future__ import annotations

import inspect
import io
import sys
from typing import Any, Dict, List, Optional, Tuple


def is_module(model: Any) -> bool:
    """A module can only exist where PyTorch was imported already."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _input_names(module: Any, count: int) -> Optional[Tuple[str, ...]]:
    """Names of the parameters of `forward`; None where these do not name the inputs one by one."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [name for name, one in inspect.signature(module.forward).parameters.items() if one.kind in kinds]
    return tuple(names[:count]) if len(names) >= count else None


def _count_tensors(results: Any) -> int:
    """Tensors in what a module returns, in the order in which an export flattens it."""
    if isinstance(results, (tuple, list)):
        return sum(map(_count_tensors, results))
    if isinstance(results, dict):
        return sum(map(_count_tensors, results.values()))
    return int(hasattr(results, "dtype"))


def export(module: Any, inputs: Any, opset: Optional[int]) -> bytes:
    """The module as an ONNX file, in inference mode, for inputs of the shapes and types of `inputs`. Results are output0, output1, …"""
    import torch

    if isinstance(module, torch.jit.ScriptModule):
        raise TypeError("a module that was traced or scripted by torch.jit has no signature to export by: give the torch.nn.Module that "
                        "it was made of, or the ONNX file that torch.onnx.export makes of it")
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    options: Dict[str, Any] = {} if opset is None else {"opset_version": opset}
    if all(isinstance(one, torch.Tensor) for one in arguments):
        names = _input_names(module, len(arguments))
        if names:
            options["input_names"] = names
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False  # that exporter needs further packages

    def exported(results: int) -> bytes:
        file = io.BytesIO()
        torch.onnx.export(module, arguments, file, output_names=[f"output{i}" for i in range(results)], **options)
        return file.getvalue()

    counts: List[int] = []
    hook = module.register_forward_hook(lambda _module, _inputs, results: counts.append(_count_tensors(results)))
    try:
        file = exported(1)
    finally:
        hook.remove()
    if not counts or counts[-1] < 2:
        return file
    try:
        return exported(counts[-1])  # how many there are shows only a run
    except RuntimeError:  # some are no results of the file: names of its own are right for these
        return file
