# SPDX-License-Identifier: Apache-2.0
"""Emacs, in batch mode, loads editors/emacs and opens a rule file and a model: emacs_test.py SOURCES. Exit 77, a skipped test, without
Emacs 29."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sources = sys.argv[1]
FILES = {"opened.rules": ("// said\nrules 1\nbackend npu { }\n", "collage-rules-mode", "backend", "font-lock-keyword-face"),
         "opened.ir": ("model @m(%x: f32[1]) -> (%y: f32[1]) {\n  %y = Relu(%x)\n}\n", "collage-model-mode", "Relu", "font-lock-function-name-face")}


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def main():
    emacs = shutil.which("emacs")
    if emacs is None:
        skip("there is no emacs")
    version = subprocess.run([emacs, "--version"], capture_output=True, text=True, check=True).stdout
    if int(re.search(r"(\d+)\.", version)[1]) < 29:
        skip("this emacs is older than 29")
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, mode, word, face) in FILES.items():
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            ask = (f'(progn (find-file "{path}") (font-lock-ensure) (goto-char (point-min)) (search-forward "{word}")'
                   '  (princ (format "%s %s" major-mode (get-text-property (match-beginning 0) (quote face)))))')
            found = subprocess.run([emacs, "-Q", "--batch", "-L", os.path.join(sources, "editors", "emacs"), "-l", "collage", "--eval", ask],
                                   stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=60).stdout
            assert found.endswith(f"{mode} {face}"), found
            print("held:", mode)


if __name__ == "__main__":
    main()
