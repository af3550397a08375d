#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Python package costs: bench/python_package.py BUILD [overhead] [cycles N] [torchvision NAME…]

  overhead     time of a call of a small network from Python, and of collage_session_run in a program in C
  cycles N     compiles, runs and drops a model N times, and prints the memory that the process has
  torchvision  compiles networks of torchvision, which need no weights for this, in one line each, and compares with PyTorch
"""
import gc
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIGITS = ROOT / "examples/digits/digits.ir"
TINY = "model @tiny(%x: f32[16]) -> (%y: f32[16]) {\n  %y = Relu(%x)\n}\n"
CALLS = 20000
REPEATS = 7

C_PROGRAM = r"""
#include <collage/runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int argc, char** argv) {
  char error[256];
  collage_executable* executable = collage_executable_load(argv[1], error, sizeof error);
  collage_session* session = collage_session_create(executable, 1, error, sizeof error);
  if (session == NULL) return fprintf(stderr, "%s\n", error), 1;
  void* input = calloc(1, collage_executable_input(executable, 0)->bytes);
  void* output = calloc(1, collage_executable_output(executable, 0)->bytes);
  int calls = atoi(argv[2]);
  for (int repeat = 0; repeat < atoi(argv[3]); ++repeat) {
    double start = now();
    for (int i = 0; i < calls; ++i) {
      if (collage_session_run(session, (const void*[]){input}, (void*[]){output}, error, sizeof error) != 0) return 1;
    }
    printf("%.9g\n", (now() - start) / calls);
  }
  return 0;
}
"""


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def from_c(build, package, scratch):
    (scratch / "calls.c").write_text(C_PROGRAM)
    subprocess.run(["cc", "-O2", scratch / "calls.c", f"-I{ROOT}/include", f"-L{build}/lib", "-lcollage_runtime",
                    f"-Wl,-rpath,{build}/lib", "-o", scratch / "calls"], check=True)
    said = subprocess.run([scratch / "calls", package, str(CALLS), str(REPEATS)], check=True, stdout=subprocess.PIPE, text=True)
    return statistics.median(map(float, said.stdout.split()))


def from_python(program, x):
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(CALLS):
            program(x)
        times.append((time.perf_counter() - start) / CALLS)
    return statistics.median(times)


def overhead(build, collage, numpy):
    for name, model in (("tiny", TINY), ("digits", DIGITS)):
        program = collage.compile(model, costs="estimate", threads=1)
        x = numpy.zeros(program.inputs[0].shape, "float32")
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder) / "model.collage"
            program.save(package)
            in_c = from_c(build, package, pathlib.Path(folder))
        in_python = from_python(program, x)
        print(f"{name:8} Python {in_python * 1e6:8.2f} us   C {in_c * 1e6:8.2f} us   difference {(in_python - in_c) * 1e6:6.2f} us")


def cycles(collage, numpy, count):
    x = numpy.zeros((1, 1, 8, 8), "float32")
    for i in range(count + 1):
        if i % max(count // 10, 1) == 0:
            print(f"{i:6} cycles {resident():8.1f} MiB", flush=True)
        program = collage.compile(DIGITS, costs="estimate", cache="")
        program(x)
        del program


def torchvision(collage, names):
    import torch
    import torchvision.models

    x = torch.randn(1, 3, 224, 224)
    for name in names:
        torch.manual_seed(1)
        net = getattr(torchvision.models, name)().eval()
        start = time.perf_counter()
        program = collage.compile(net, (x,), costs="estimate", cache="")
        took = time.perf_counter() - start
        y = torch.from_numpy(program(x))
        with torch.no_grad():
            expected = net(x)
        difference = (y - expected).abs().max() / expected.abs().max()
        print(f"{name:20} compiled in {took:6.1f} s, {len(program.placement)} nodes, max|diff| / max|y| {difference:.1e}", flush=True)


def main():
    build, words = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    sys.path.insert(0, str(build / "python"))
    import collage
    import numpy

    what = words[0] if words else "overhead"
    if what == "overhead":
        overhead(build, collage, numpy)
    elif what == "cycles":
        cycles(collage, numpy, int(words[1]))
    elif what == "torchvision":
        torchvision(collage, words[1:] or ["resnet18", "mobilenet_v2", "squeezenet1_1"])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
