# SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch as ONNX. PyTorch is imported only where a module is given."""
from __future__ import annotations

import inspect
import io
import sys
from typing import Any, Dict, Optional, Tuple


def is_module(model: Any) -> bool:
    """A module can only exist where PyTorch was imported already."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _input_names(module: Any, count: int) -> Optional[Tuple[str, ...]]:
    """Names of the parameters of `forward`; None where these do not name the inputs one by one."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [name for name, one in inspect.signature(module.forward).parameters.items() if one.kind in kinds]
    return tuple(names[:count]) if len(names) >= count else None


def export(module: Any, inputs: Any, opset: Optional[int]) -> bytes:
    """The module as an ONNX file, in inference mode, for inputs of the shapes and types of `inputs`."""
    import torch

    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    options: Dict[str, Any] = {} if opset is None else {"opset_version": opset}
    if all(isinstance(one, torch.Tensor) for one in arguments):
        names = _input_names(module, len(arguments))
        if names:
            options["input_names"] = names
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False  # that exporter needs further packages
    file = io.BytesIO()
    torch.onnx.export(module, arguments, file, **options)
    return file.getvalue()
