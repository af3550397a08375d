# SPDX-License-Identifier: Apache-2.0
"""Emacs, in batch mode, uses grammar/editors/emacs: emacs_test.py SOURCES TOOL. The file compiles without a warning; the shipped rule files and
models get their mode and colours; comments are made and found; eglot, where it is, starts TOOL, which is `collage-rules`, and shows what it
says. Exit 77, a skipped test, without Emacs 28."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sources, tool = (os.path.abspath(name) for name in sys.argv[1:3])
folder = os.path.join(sources, "grammar", "editors", "emacs")
RULES = ('// said "not a string"\nrules 1\nbackend npu {\n  rule r { match y = Relu(x) where dim(x, 1) % 8 == 0 else "cost // {rank(x)}" cost 4 us }\n'
         "}\n")
MODEL = '// said\nmodel @m(%x: f32[1]) -> (%y: f32[1]) {\n  %y = Gelu(%x) {approximate = "tanh"}\n}\n'
# A word, and the face that it has.
FACES = {
    "opened.rules": (RULES, "collage-rules-mode", [("said", "comment"), ("backend", "keyword"), ("Relu", "function-name"), ("dim", "builtin"),
                                                   ("cost //", "string"), ("4 us", "constant")]),
    "opened.ir": (MODEL, "collage-model-mode", [("said", "comment"), ("model", "keyword"), ("%x", "variable-name"), ("f32", "type"),
                                                ("Gelu", "function-name"), ("tanh", "string")]),
}
# What the characters of a file have: `mode keywords comments`.
COUNT = """
(with-current-buffer (find-file-noselect (car command-line-args-left))
  (font-lock-ensure)
  (let ((keywords 0) (comments 0))
    (dotimes (i (buffer-size))
      (let ((face (get-text-property (1+ i) 'face)))
        (when (eq face 'font-lock-keyword-face) (setq keywords (1+ keywords)))
        (when (memq face '(font-lock-comment-face font-lock-comment-delimiter-face)) (setq comments (1+ comments)))))
    (princ (format "%s %d %d\\n" major-mode keywords comments))))
"""
COMMENT = """
(with-temp-buffer
  (insert "rules 1\\n")
  (collage-rules-mode)
  (comment-region (point-min) (point-max))
  (princ (buffer-string))
  (uncomment-region (point-min) (point-max))
  (princ (buffer-string)))
"""
EGLOT = """
(progn
  (require 'eglot)
  (setq collage-rules-tool (car command-line-args-left) eglot-sync-connect t)
  (with-current-buffer (find-file-noselect (cadr command-line-args-left))
    (call-interactively 'eglot)
    (let ((end (+ (float-time) 30)))
      (while (and (not (flymake-diagnostics)) (< (float-time) end))
        (flymake-start)
        (accept-process-output nil 0.1)))
    (princ (format "%s %s\\n" (eglot--language-id (eglot-current-server)) (mapcar #'flymake-diagnostic-text (flymake-diagnostics))))
    (let ((eglot-autoreconnect nil)) (eglot-shutdown (eglot-current-server)))))
"""


def skip(why):
    print("skipped:", why)
    sys.exit(77)


class Emacs:
    def __init__(self, program):
        self.program = program

    def run(self, arguments, **options):
        return subprocess.run([self.program, "-Q", "--batch", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, **options)

    def evaluate(self, expression, arguments=(), packages=False):
        """What an expression prints, after collage.el is loaded."""
        begin = ["-f", "package-initialize"] if packages else []
        ended = self.run([*begin, "-L", folder, "-l", "collage", "--eval", f"(progn {expression} (setq command-line-args-left nil))", *arguments])
        assert ended.returncode == 0, ended.stderr
        return ended.stdout


def compiles(emacs, scratch):
    shutil.copy(os.path.join(folder, "collage.el"), scratch)
    ended = emacs.run(["--eval", "(setq byte-compile-error-on-warn t)", "-f", "batch-byte-compile", "collage.el"], cwd=scratch)
    assert ended.returncode == 0 and "Warning" not in ended.stderr and "Error" not in ended.stderr, ended.stderr
    print("held: compiles without a warning")


def colours(emacs, scratch):
    for name, (text, mode, wanted) in FACES.items():
        path = os.path.join(scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        found = emacs.evaluate(f'(find-file "{path}") (font-lock-ensure) (princ (format "%s\\n" major-mode))' + "".join(
            f'(goto-char (point-min)) (search-forward {quoted(word)}) (princ (format "%s\\n" (get-text-property (match-beginning 0) (quote face))))'
            for word, _ in wanted)).split("\n")
        assert found[:-1] == [mode] + [f"font-lock-{face}-face" for _, face in wanted], found
        print("held:", mode)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def shipped_files(emacs):
    rules = sorted(glob.glob(os.path.join(sources, "rules", "**", "*.rules"), recursive=True))
    models = [os.path.join(sources, "examples", "networks", name + ".ir") for name in ("bert_base", "quantized_conv", "resnet50")]
    assert rules
    for path in rules + models:
        mode, keywords, comments = emacs.evaluate(COUNT, [path]).split()
        with open(path, encoding="utf-8") as file:
            lines = [line for line in file if line.lstrip().startswith("//")]
        assert mode == ("collage-model-mode" if path.endswith(".ir") else "collage-rules-mode"), (path, mode)
        # All of a line of comment, but the blanks before it.
        assert int(comments) >= sum(len(line.strip()) for line in lines) > 0 and int(keywords) > 50, (path, keywords, comments)
    print("held: the colours of", len(rules), "rule files and", len(models), "models")


def language_server(emacs, scratch):
    if emacs.run(["-f", "package-initialize", "--eval", "(unless (locate-library \"eglot\") (kill-emacs 3))"]).returncode == 3:
        print("left out: there is no eglot")
        return
    if "built without" in subprocess.run([tool, "lsp"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stderr:
        print("left out: this build has no language server")
        return
    for name, language, text, said in (("asked.rules", "collage-rules", "rules 1\nbackend a { runtim sim }\n", "runtim"),
                                       ("asked.ir", "collage-model", MODEL.replace("Gelu", "Gelo"), "Gelo")):
        path = os.path.join(scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        found = emacs.evaluate(EGLOT, [tool, path], packages=True)
        assert found.startswith(language + " ") and said in found, found
        print("held: eglot and", language)


def main():
    program = shutil.which("emacs")
    if program is None:
        skip("there is no emacs")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if int(re.search(r"(\d+)\.", version)[1]) < 28:
        skip("this emacs is older than 28")
    emacs = Emacs(program)
    with tempfile.TemporaryDirectory() as scratch:
        compiles(emacs, scratch)
        colours(emacs, scratch)
        shipped_files(emacs)
        assert emacs.evaluate(COMMENT) == "// rules 1\nrules 1\n"
        print("held: comments")
        language_server(emacs, scratch)


if __name__ == "__main__":
    main()
