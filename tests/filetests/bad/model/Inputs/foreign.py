#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes beginnings of models of other formats into a folder: foreign.py FOLDER"""
import json
import pathlib
import pickle
import struct
import sys
import zipfile

folder = pathlib.Path(sys.argv[1])


def write_zip(name, entries):
    with zipfile.ZipFile(folder / name, "w") as file:
        for entry, data in entries.items():
            file.writestr(entry, data)


def write_safetensors(path):
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))


MODULE = b"\x80\x02c__main__\nNet\nq\x00)\x81q\x01}q\x02ctorch.nn.modules.conv\nConv2d\n."
WEIGHTS = b"\x80\x02ccollections\nOrderedDict\nq\x00ctorch._utils\n_rebuild_tensor_v2\n."
#: What torch.save began with before it wrote zip files: its magic number as a pickle.
MAGIC = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."

write_zip("module.pt", {"module/data.pkl": MODULE, "module/version": "3"})
write_zip("weights.pth", {"archive/data.pkl": WEIGHTS, "archive/data/0": bytes(4)})
(folder / "old.pth").write_bytes(MAGIC + WEIGHTS)
write_zip("script.pt", {"script/data.pkl": b"\x80\x02c__torch__\nNet\n.", "script/constants.pkl": b"\x80\x02)."})
write_zip("program.pt2", {"serialized_exported_program.json": "{}", "version": "5.1"})
(folder / "other.pkl").write_bytes(pickle.dumps([1, 2], protocol=4))
write_zip("net.keras", {"metadata.json": '{"keras_version": "3.0.0"}', "config.json": "{}", "model.weights.h5": ""})
(folder / "net.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(32))
(folder / "net.tflite").write_bytes(b"\x1c\0\0\0TFL3" + bytes(32))
write_safetensors(folder / "net.safetensors")
(folder / "net.gguf").write_bytes(b"GGUF\x03\0\0\0" + bytes(32))
(folder / "net.pb").write_bytes(b"\x08\x08\x12\x07pytorch")
(folder / "saved" / "variables").mkdir(parents=True)
(folder / "saved" / "saved_model.pb").write_bytes(b"\x08\x01\x12\x02\x0a\x00")
(folder / "bert").mkdir()
(folder / "bert" / "config.json").write_text("{}")
write_safetensors(folder / "bert" / "model.safetensors")
write_zip("it's mine.pt", {"archive/data.pkl": WEIGHTS})
write_zip("renamed.onnx", {"archive/data.pkl": MODULE})
