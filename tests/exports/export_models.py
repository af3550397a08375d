#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports architectures from PyTorch with random weights, with an input and the outputs that PyTorch computes.

    export_models.py FOLDER [NAME …] [--opsets 11,13,15,17,22] [--batches 2] [--list]

writes FOLDER/NAME.opsetN.batchB/{model.onnx, shapes, input_0.pb, …, output_0.pb, …}. NAME is one of `architectures/` or a
pattern. An opset that the exporter does not write (above 17) is lifted from 17 by `upgrade_opset.py`. Needs torch, torchvision
and onnx; nothing in the build or the tests does. `run_models.sh` beside it runs the folders through collagec.
"""
import argparse
import fnmatch
import os
import sys
import warnings

import numpy
import onnx
import torch
from onnx import numpy_helper
from torch import nn

from architectures import MODELS
from upgrade_opset import upgrade

warnings.filterwarnings("ignore")
NEWEST_EXPORTED = 17


def settle(model):
    """Statistics of batch normalisation other than 0 and 1, weights of a size that keeps activations near 1."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
            if module.affine:
                nn.init.uniform_(module.weight, 0.8, 1.2)
                nn.init.normal_(module.bias, 0, 0.1)
        elif isinstance(module, nn.Linear) and not module.weight.any():
            nn.init.normal_(module.weight, 0, 0.1)
    return model.eval()


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in value for tensor in flat(part)]


def write_tensor(path, tensor):
    with open(path, "wb") as file:
        file.write(numpy_helper.from_array(numpy.ascontiguousarray(tensor.detach().numpy())).SerializeToString())


def open_axes(architecture, names):
    """Open dimensions make the exporter write shape arithmetic, which must fold away."""
    if architecture.axes is None:
        return {}
    return {name: architecture.axes[min(i, len(architecture.axes) - 1)] for i, name in enumerate(names)}


def repair(path):
    """torchvision writes RoiAlign without the mode, whose default changed in opset 16 to what it does not compute."""
    model = onnx.load(path)
    for node in model.graph.node:
        if node.op_type == "RoiAlign" and not any(a.name == "coordinate_transformation_mode" for a in node.attribute):
            node.attribute.append(onnx.helper.make_attribute("coordinate_transformation_mode", "output_half_pixel"))
    return model


def export(architecture, opset, batch, folder):
    torch.manual_seed(7)
    with torch.no_grad():
        model, inputs = settle(architecture.make()), architecture.inputs(batch)
        outputs = flat(model(*inputs))
    names = [f"in{i}" for i in range(len(inputs))]
    os.makedirs(folder, exist_ok=True)
    # Outside no_grad: there attention would take a fused way that the exporter does not know.
    torch.onnx.export(model, inputs, f"{folder}/model.onnx", opset_version=min(opset, NEWEST_EXPORTED), input_names=names,
                      output_names=[f"out{i}" for i in range(len(outputs))],
                      dynamic_axes=open_axes(architecture, names) if opset >= NEWEST_EXPORTED else {},
                      do_constant_folding=opset % 4 != 3)
    if opset >= 16:
        model = repair(f"{folder}/model.onnx")
        onnx.save(upgrade(model, opset) if opset > NEWEST_EXPORTED else model, f"{folder}/model.onnx")
    with open(f"{folder}/shapes", "w") as file:
        file.write(" ".join(f"--shape {n}={'x'.join(map(str, t.shape))}" for n, t in zip(names, inputs)))
    for i, tensor in enumerate(inputs):
        write_tensor(f"{folder}/input_{i}.pb", tensor)
    for i, tensor in enumerate(outputs):
        write_tensor(f"{folder}/output_{i}.pb", tensor)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", default="build/exports")
    parser.add_argument("names", nargs="*", default=["*"])
    parser.add_argument("--opsets", default="11,13,15,17,22")
    parser.add_argument("--batches", default="2")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    options = parser.parse_args()
    chosen = [name for name in MODELS if any(fnmatch.fnmatch(name, pattern) for pattern in options.names)]
    if options.list or not chosen:
        print("\n".join(chosen if chosen else ["no architecture of this name"]))
        sys.exit(0 if chosen else 1)
    for name in chosen:
        for opset in map(int, options.opsets.split(",")):
            if opset < MODELS[name].first_opset:
                continue
            for batch in map(int, options.batches.split(",")):
                folder = f"{options.folder}/{name}.opset{opset}.batch{batch}"
                try:
                    export(MODELS[name], opset, batch, folder)
                except Exception as fault:  # the exporter does not know every operator in every opset
                    words = str(fault).strip().split("\n")[0]
                    print(f"{name} opset {opset} batch {batch}: no export: {words[:150]}", flush=True)


if __name__ == "__main__":
    main()
