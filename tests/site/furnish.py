#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small files under the names that the pages of the manual use for files of the reader: furnish.py NAME...

    models     model.ir, model.onnx, resnet50.onnx, bert.onnx, net.onnx, branches.ir, checked/, vendor/, cat.png, cat.jpg, ids.npy, mask.npy
    samples    pictures/, x.npy, y.npy: inputs of model.onnx, and the classes that it gives them
    decoder    decoder.onnx, prompt.npy, most.npy
    database   a database of costs with a few rows, other.sqlite
"""
import pathlib
import shutil
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "filetests/bad/onnx/Inputs"))
from broken_onnx import FLOAT, INT64, attribute, model, node, tensor, value_info  # noqa: E402

MODEL = """// A small network, whose nodes have the names that the pages use.
model @net(%image: f32[1, 3, 16, 16]) -> (%scores: f32[1, 10]) {
  %w1 = const random seed 1 in [-0.3, 0.3] : f32[16, 3, 3, 3]
  %w2 = const random seed 2 in [-0.1, 0.1] : f32[16, 16, 3, 3]
  %w3 = const random seed 3 in [-0.1, 0.1] : f32[16, 16, 3, 3]
  %w4 = const random seed 4 in [-0.1, 0.1] : f32[32, 16, 3, 3]
  %head = const random seed 5 in [-0.2, 0.2] : f32[32, 10]

  %conv1 = Conv(%image, %w1) {pads = [1, 1, 1, 1], strides = [2, 2]}
  %relu1 = Relu(%conv1)

  %layer3.conv = Conv(%relu1, %w2) {pads = [1, 1, 1, 1]}
  %layer3.relu = Relu(%layer3.conv)
  %layer4.conv1 = Conv(%layer3.relu, %w3) {pads = [1, 1, 1, 1]}
  %layer4.relu1 = Relu(%layer4.conv1)



  %layer4.conv2 = Conv(%layer4.relu1, %w4) {pads = [1, 1, 1, 1]}
  %layer4.relu2 = Relu(%layer4.conv2)

  %pool = GlobalAveragePool(%layer4.relu2)
  %flat = Flatten(%pool)
  %logits = MatMul(%flat, %head)
  %scores = Softmax(%logits)
}
"""
RESNET = MODEL.replace("%image", "%data")
BRANCHES = """model @branches(%x: f32[1, 16, 32, 32]) -> (%y: f32[1, 16, 32, 32]) {
  %w1 = const random seed 1 : f32[16, 16, 3, 3]
  %w2 = const random seed 2 : f32[16, 16, 3, 3]
  %a = Conv(%x, %w1) {pads = [1, 1, 1, 1]}
  %b = Conv(%x, %w2) {pads = [1, 1, 1, 1]}
  %y = Add(%a, %b)
}
"""


def png(path, size, seed):
    rows = b"".join(b"\0" + bytes((x * 7 + y * 13 + c * 50 + seed * 29) % 256 for x in range(size) for c in range(3)) for y in range(size))
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
                                                     for kind, data in chunks))


def bert():
    """Two inputs whose sizes are open, by name."""
    return model([node("Cast", ["ids"], ["numbers"], [attribute("to", "int", FLOAT)]), node("Mul", ["numbers", "mask"], ["y"])], opset=17,
                 inputs=[value_info("ids", ["batch", "seq"], INT64), value_info("mask", ["batch", "seq"])],
                 outputs=[value_info("y", ["batch", "seq"])])


def net():
    weights = tensor("w", [16, 16], struct.pack("<256f", *((i % 7 - 3) / 8 for i in range(256))))
    return model([node("MatMul", ["x", "w"], ["h"]), node("Relu", ["h"], ["y"])], opset=17, tensors=[weights],
                 inputs=[value_info("x", ["batch", 16])], outputs=[value_info("y", ["batch", 16])])


def onnx(name, text):
    source = pathlib.Path(".furnish.ir")
    source.write_text(text)
    subprocess.run(["collagec", source, "--emit=onnx", "-o", name], check=True, stdout=subprocess.DEVNULL)
    source.unlink()


def models():
    import numpy
    pathlib.Path("model.ir").write_text(MODEL)
    pathlib.Path("branches.ir").write_text(BRANCHES)
    onnx("model.onnx", MODEL)
    onnx("resnet50.onnx", RESNET)
    pathlib.Path("bert.onnx").write_bytes(bert())
    pathlib.Path("net.onnx").write_bytes(net())
    pathlib.Path("checked").mkdir()
    command = ["collagec", "check", "resnet50.onnx", "--input", "data=random", "-o", "checked/resnet50.collage"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["collagec", "model.onnx", "--strategy=greedy", "--save-placement", "b.placement"], check=True, stdout=subprocess.DEVNULL)
    png(pathlib.Path("cat.png"), 16, 0)
    shutil.copy("cat.png", "cat.jpg")
    numpy.save("ids.npy", numpy.arange(12, dtype=numpy.int64).reshape(2, 6))
    numpy.save("mask.npy", numpy.ones((2, 6), dtype=numpy.float32))
    pathlib.Path("vendor").mkdir()
    shutil.copy("rules/dsp.rules", "vendor")


def samples():
    import numpy
    pathlib.Path("pictures").mkdir()
    for seed in range(3):
        png(pathlib.Path(f"pictures/{seed}.png"), 16, seed)
    numpy.save("x.npy", numpy.random.default_rng(1).random((16, 3, 16, 16), dtype=numpy.float32))
    classes = []
    for picture in numpy.load("x.npy"):
        numpy.save("one.npy", picture[None])
        subprocess.run(["collagec", "run", "model.onnx", "--input", "image=one.npy", "--save", "scores=scores.npy"], check=True,
                       stdout=subprocess.DEVNULL)
        classes.append(int(numpy.load("scores.npy").argmax()))
    numpy.save("y.npy", numpy.array(classes, dtype=numpy.int64))


def decoder():
    subprocess.run([sys.executable, "tests/filetests/stages/Inputs/stages_onnx.py", "."], check=True)


def database():
    subprocess.run(["collagec", "model.ir", "-r", "rules/host.rules", "--costs=measured"], check=True, stdout=subprocess.DEVNULL)
    shutil.copy(pathlib.Path.home() / ".cache/collage/costs.sqlite", "other.sqlite")


for name in sys.argv[1:]:
    {"models": models, "samples": samples, "decoder": decoder, "database": database}[name]()
