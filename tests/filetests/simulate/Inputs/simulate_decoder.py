# SPDX-License-Identifier: Apache-2.0
"""Writes a decoder and a machine with bench/decoders.py, and simulates the decoder there as a pipeline.

    simulate_decoder.py COLLAGEC SOURCE FOLDER LAYERS KIND DEVICES OPTION...
"""
import os
import subprocess
import sys

collagec, source, folder, layers, kind, devices, *options = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
model, machine = (os.path.join(folder, name) for name in ("decoder.ir", "machine.rules"))


def decoders(*words):
    command = [sys.executable, os.path.join(source, "bench/decoders.py"), *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


decoders("model", "--layers", layers, "-o", model)
decoders("machine", "--kind", kind, "--devices", devices, "-o", machine)
places = decoders("places", "--layers", layers, "--devices", devices).split()
sys.exit(subprocess.run([collagec, "simulate", model, "-r", machine, *places, *options], check=False).returncode)
