# SPDX-License-Identifier: Apache-2.0
"""small_files.py BYTES COMMAND...: runs the command where no file may have more bytes, and ends with its exit code."""
import resource
import subprocess
import sys

size = int(sys.argv[1])
done = subprocess.run(sys.argv[2:], check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
sys.exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)
