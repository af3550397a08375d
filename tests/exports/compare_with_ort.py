#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a folder of models through ONNX Runtime and through Collage, and lists what differs.

    compare_with_ort.py FOLDER --ort NPM_FOLDER [--programs build/release/bin] [--steps 64] [--known ort_deviations.txt]

Below FOLDER every folder with a `model.onnx` beside `test_data_set_0/input_N.pb`, as ONNX's tests have them, is a model. ONNX Runtime
runs it with its graph optimisations off; the results become `output_N.pb`, unless --keep-outputs says that they are there.
`run_node_tests` then compares with them, in four ways: reference kernels, host code, the search over all rules, a simulated
accelerator. Models with `_staged` in their name go through `collagec run` instead, which knows shapes that only a run decides.
--optimised also asks ONNX Runtime with optimisations on, and lists where it differs from itself.

--save-explained writes which differences of single nodes were explained, so that --nodes-explained can name them as the reason where
whole graphs with these nodes differ.

Each line of --known is a regular expression, two spaces, and the reason why what matches (`WAY MODEL: MESSAGE`) is no fault; the
differences that match are counted under their reason. Exits with 1 if there is another one."""
import argparse
import collections
import os
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper

from ort_process import Ort, OrtError

STEP = {"float16": 2.**-10, "float32": 2.**-23, "float64": 2.**-52}


def models_below(folder):
    found = []
    for path, folders, files in os.walk(folder):
        folders.sort()
        if "model.onnx" in files and "test_data_set_0" in folders:
            found.append(path)
    return found


def read_tensor(path):
    tensor = onnx.TensorProto()
    with open(path, "rb") as file:
        tensor.ParseFromString(file.read())
    return numpy_helper.to_array(tensor)


def inputs_of(path):
    graph = onnx.load(os.path.join(path, "model.onnx"), load_external_data=False).graph
    constants = {c.name for c in graph.initializer}
    names = [v.name for v in graph.input if v.name not in constants]
    data = os.path.join(path, "test_data_set_0")
    files = {name: os.path.join(data, f"input_{i}.pb") for i, name in enumerate(names)}
    return files, [v.name for v in graph.output]


def difference(got, want, steps):
    """Says where floats differ by more than `steps` steps of their dtype at the largest number (0: 1e-3 of each), or integers at all."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)} and {want.dtype}{list(want.shape)}"
    same = (got == want) | ((got != got) & (want != want))
    if same.all():
        return ""
    finite = np.abs(want[np.isfinite(want)].astype(float)) if want.dtype.kind == "f" else np.zeros(0)
    slack = steps * STEP.get(str(want.dtype), 0) * (finite.max() if finite.size else 0)
    if steps == 0 and want.dtype.kind == "f":
        slack = 1e-5 + 1e-3 * np.abs(want.astype(float))
    with np.errstate(all="ignore"):
        wrong = ~(same | (np.abs(got.astype(float) - want.astype(float)) <= slack))
    at = np.argmax(wrong)
    return f"element {at} is {got.flat[at]}, need {want.flat[at]}" if wrong.any() else ""


def ask_ort(ort, path, arguments):
    """Writes ONNX Runtime's results; returns how it differs from itself, or what it says."""
    files, outputs = inputs_of(path)
    model = os.path.join(path, "model.onnx")
    feeds = {name: read_tensor(file) for name, file in files.items()}
    plain = [read_tensor(os.path.join(path, "test_data_set_0", f"output_{i}.pb")) for i in range(len(outputs))] \
        if arguments.keep_outputs else None
    if plain is None:
        results = ort.run(model, feeds)
        plain = [results[name] for name in outputs]
        for i, (name, array) in enumerate(zip(outputs, plain)):
            with open(os.path.join(path, "test_data_set_0", f"output_{i}.pb"), "wb") as file:
                file.write(numpy_helper.from_array(array, name).SerializeToString())
    if not arguments.optimised:
        return ""
    results = ort.run(model, feeds, optimise=True)
    texts = [difference(results[name], array, arguments.steps) for name, array in zip(outputs, plain)]
    return next((text for text in texts if text), "")


def run_in_stages(path, arguments):
    """Lines as run_node_tests prints them."""
    files, outputs = inputs_of(path)
    lines = []
    for way, rules in (("host", ["rules/host.rules"]), ("optimal", ["rules"])):
        command = [os.path.join(arguments.programs, "collagec"), "run", os.path.join(path, "model.onnx"), "--costs=estimate",
                   "--cost-db=", "--cache=", "-r"] + [os.path.join(arguments.source, r) for r in rules]
        for name, file in files.items():
            command += ["--input", f"{name}={file}"]
        for i, name in enumerate(outputs):
            command += ["--save", f"{name}={os.path.join(arguments.scratch, str(i))}.npy"]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        name = os.path.basename(path)
        if ran.returncode != 0:
            lines.append(f"{way} {name}: " + re.sub(r"^.*?error: ", "error: ", ran.stderr.split("\n")[0]))
            continue
        for i in range(len(outputs)):
            want = read_tensor(os.path.join(path, "test_data_set_0", f"output_{i}.pb"))
            text = difference(np.load(os.path.join(arguments.scratch, f"{i}.npy")), want, arguments.steps)
            if text:
                lines.append(f"{way} {name}: output {i}: {text}")
                break
    return lines


def run_tests(arguments):
    """Returns the lines of differences, and what was printed before them."""
    command = [os.path.join(arguments.programs, "run_node_tests"), arguments.folder, "--jobs", "1", "--ways", arguments.ways]
    command += ["--steps", str(arguments.steps)] if arguments.steps else []
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.findall(r"^ *(?:wrong|crashed) ((?:\w+) (?:\S+): .*)$", text, re.MULTILINE)
    return [line for line in found if "_staged" not in line.split(":")[0] or arguments.nodes], text.split("\n  wrong")[0].split("\ncrashed")[0]


def graph_of(node):
    """The graph of a model `Op_GRAPH_NUMBER`, with the same inputs."""
    return re.sub(r"^[A-Z]\w*?_(g\d+(?:_staged)?)_\d+", r"\1", node)


def read_known(arguments):
    known, by_nodes = [], set()
    for name in arguments.known:
        with open(name, encoding="utf-8") as file:
            known += [line.rstrip("\n").split("  ", 1) for line in file if line.strip() and line[0] != "#"]
    if arguments.nodes_explained:
        with open(arguments.nodes_explained, encoding="utf-8") as file:
            by_nodes = {tuple(line.split()) for line in file}
    return known, by_nodes


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--ort", required=True, help="an npm installation with onnxruntime-node")
    parser.add_argument("--programs", default="build/release/bin")
    parser.add_argument("--source", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    parser.add_argument("--scratch", default="/tmp")
    parser.add_argument("--ways", default="reference,host,optimal,device")
    parser.add_argument("--steps", type=float, default=64, help="by which floats may be off; 0: ONNX's own tolerance")
    parser.add_argument("--known", action="append", default=[], help="reasons for differences that are no faults")
    parser.add_argument("--save-explained", metavar="FILE")
    parser.add_argument("--nodes-explained", metavar="FILE")
    parser.add_argument("--keep-outputs", action="store_true")
    parser.add_argument("--optimised", action="store_true")
    parser.add_argument("--nodes", action="store_true", help="the models are single nodes: nothing is run in stages")
    arguments = parser.parse_args()
    ort, itself, refused, lines = Ort(arguments.ort), [], [], []
    paths = models_below(arguments.folder)
    for path in paths:
        try:
            if not arguments.keep_outputs or arguments.optimised:
                text = ask_ort(ort, path, arguments)
                itself += [f"{os.path.basename(path)}: {text}"] if text else []
            if "_staged" in os.path.basename(path) and not arguments.nodes:
                lines += run_in_stages(path, arguments)
        except OrtError as error:
            refused.append(f"{os.path.basename(path)}: {str(error)[:200]}")
    more, head = run_tests(arguments)
    lines += more
    known, by_nodes = read_known(arguments)
    counts, faults, explained = collections.Counter(), [], set()
    for line in lines:
        reason = next((why for pattern, why in known if re.search(pattern, line)), None)
        way, model = line.split(":")[0].split(" ", 1)
        if reason is None and (way, model) in by_nodes:
            reason = "a node of the graph differs by itself, as explained"
        if reason is None:
            faults.append(line)
        else:
            explained.add((way, graph_of(model)))
        counts[reason] += 1
    if arguments.save_explained:
        with open(arguments.save_explained, "w", encoding="utf-8") as file:
            file.writelines(f"{way} {model}\n" for way, model in sorted(explained))
    print(head)
    print(f"{len(paths)} models, {len({line.split(':')[0].split(' ', 1)[1] for line in lines})} of them differ in some way")
    for reason, count in counts.most_common():
        print(f"{count:6}  {(reason or 'NOT EXPLAINED').strip()}")
    for title, some in (("ONNX Runtime refused", refused), ("ONNX Runtime differs from itself", itself), ("not explained", faults)):
        print(f"\n{title}: {len(some)}")
        for line in some:
            print("  " + line)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
