# SPDX-License-Identifier: Apache-2.0
"""File tests: a file holds the command (`RUN:`), its input and what it must print.

Substitutions: %python %collagec %collage-rules %collage-run %collage-check-certificate %collage-check-plan %expect FileCheck not, and lit's own %s %t %S.
`%expect %s -- COMMAND` compares the output exactly; see expect.py. `COLLAGE_BLESS=1` rewrites the expectations.
"""
import os
import platform
import subprocess
import sys

import lit.formats

config.name = "collage"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ir", ".rules", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt"]

for tool in ("collagec", "collage-check-certificate", "collage-check-plan", "collage-rules", "collage-run"):
    config.substitutions.append(("%" + tool + r"\b(?!-)", os.path.join(config.collage_bin_dir, tool)))
expect = os.path.join(config.test_source_root, "expect.py")
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%expect", f"{config.python} {expect}"))
config.substitutions.append((r"\bFileCheck\b", config.filecheck))
config.substitutions.append((r"(?<![-\w])not\b", config.not_tool))
config.substitutions.append(("%cc", config.cc))
config.substitutions.append(("%plugins", os.path.join(os.path.dirname(config.collage_bin_dir), "plugins")))
config.substitutions.append(("%rules", os.path.join(config.collage_source_dir, "rules")))
config.substitutions.append(("%examples", os.path.join(config.collage_source_dir, "examples")))
config.substitutions.append(("%source", config.collage_source_dir))
config.substitutions.append(("%bin", config.collage_bin_dir))

# A Python with numpy (package python3-numpy), for the scripts that need it.
has_numpy = "import importlib.util, sys; sys.exit(importlib.util.find_spec('numpy') is None)"
for python in (config.python, "/usr/bin/python3"):
    if subprocess.run([python, "-c", has_numpy], check=False).returncode == 0:
        config.available_features.add("numpy")
        config.substitutions.append(("%numpy_python", python))
        break
config.available_features.add(platform.machine())
# Optional libraries of this build, in lower case: `REQUIRES: onednn`.
config.available_features.update(config.libraries.split())
# A PostgreSQL server that tests can start.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(config.test_source_root, "measure", "Inputs"))
from postgres_cluster import programs as postgres_programs

if postgres_programs() is not None:
    config.available_features.add("postgres_server")
# AddressSanitizer reserves terabytes of addresses, so that no limit of memory can be set: `UNSUPPORTED: asan`.
if config.is_sanitized:
    config.available_features.add("asan")
# Optional: tests that need it are shown as unsupported without it.
if "COLLAGE_ORT" in os.environ:
    config.available_features.add("onnxruntime")
    config.substitutions.append(("%ort", os.environ["COLLAGE_ORT"]))

# Measured costs differ from run to run; a test of measuring says `--costs=measured` and names its own database.
config.environment["COLLAGE_COSTS"] = "estimate"
# The machine that runs tests may be busy; what follows from that has a test of its own.
config.environment["COLLAGE_DISTURBED_COSTS"] = "keep"
# Which of two plans is faster is not for other tests than the one that asks.
config.environment["COLLAGE_RIVALS"] = "ignore"
# Tests measure side by side, and do not wait for who else measures on this machine.
config.environment["COLLAGE_MACHINE_LOCK"] = ""
# Lines are not wrapped; tests of a terminal's width say which one.
config.environment["COLUMNS"] = "1000"
# Nothing is said of long work, which a busy machine makes of any.
config.environment["COLLAGE_PROGRESS"] = "0"
# A test without `-r` is about a compiler without rules.
config.environment["COLLAGE_RULES"] = ""
for variable in ("COLLAGE_BLESS", "COLLAGE_KILLS", "COLLAGE_KILLS_SEED", "ASAN_OPTIONS", "UBSAN_OPTIONS", "OMP_NUM_THREADS",
                 "COLLAGE_CPU"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
