#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the tools that read the documentation: tests/walkthrough on small documents, the checks of check_site.py on small sites,
docs/build_site on pieces of pages: site_test.py BIN_FOLDER"""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = sys.argv.pop(1)
sys.path.insert(0, str(SOURCE / "tests/site"))
import check_site  # noqa: E402


def load(path):
    """The module in a script without an ending."""
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.name, loader))
    loader.exec_module(module)
    return module


class Walkthrough(unittest.TestCase):
    def replay(self, text, *options, **variables):
        """Exit code, what was printed, and the document afterwards."""
        with tempfile.TemporaryDirectory() as folder:
            document = pathlib.Path(folder, "page.md")
            document.write_text(text)
            environment = {key: value for key, value in os.environ.items() if not key.startswith("COLLAGE_")}
            done = subprocess.run([sys.executable, "-B", SOURCE / "tests/walkthrough", TOOLS, document, *options],
                                  capture_output=True, text=True, env=dict(environment, **variables), cwd=SOURCE, check=False)
            return done.returncode, done.stdout + done.stderr, document.read_text()

    def assert_holds(self, text):
        code, said, _ = self.replay(text)
        self.assertEqual(code, 0, said)

    def assert_fails(self, text, why):
        code, said, _ = self.replay(text)
        self.assertEqual(code, 1, said)
        self.assertIn(why, said)

    def test_output(self):
        self.assert_holds("```console\n$ printf 'a\\nb 12 ms\\nc\\n'\na\nb … ms\n…\n```\n")
        self.assert_fails("```console\n$ echo a\nb\n```\n", "exit code 0")
        self.assert_fails("```console\n$ false\n```\n", "exit code 1")
        self.assert_holds("```console\n$ echo no; false\nno\n```\n")

    def test_indented(self):
        self.assert_holds("text\n\n    collage-rules --version    # a comment\n    what it prints is not looked at\n")
        self.assert_fails("text\n\n    collagec absent.ir\n", "exit code 1")
        self.assert_holds("text\n\n    $ echo a\n    a\n\nmore\n")
        self.assert_fails("text\n\n    $ echo a\n    b\n\nmore\n", "exit code 0")

    def test_names_of_the_reader(self):
        code, said, _ = self.replay("text\n\n    collagec MODEL -r FOLDER\n    collagec a.ir …\n    collage-rules --version\n")
        self.assertEqual(code, 0, said)
        self.assertIn("1 commands, 2 not run", said)

    def test_reasons(self):
        self.assert_fails("text\n\n    tests/run\n", "`not run` has to say why")
        self.assert_fails("text\n\n    cmake --preset release\n", "`not run` has to say why")
        ran = "```console\n$ true\n```\n"
        self.assert_holds(ran + "<!-- not run: builds -->\n\n    tests/run\n")
        self.assert_fails(ran + "<!-- not run: builds -->\n\n    tests/run\n\ntext\n\n    tests/run\n", "`not run` has to say why")
        self.assert_holds(ran + '<!-- not run "absent": none -->\n\n    collagec absent.ir\n    collage-rules --version\n')
        self.assert_fails('<!-- not run "other": none -->\n\n    collagec absent.ir\n', "exit code 1")

    def test_files(self):
        page = "```text a/b.txt\none\n```\n\n```diff\n--- a/b.txt\n-one\n+two\n```\n\n```console\n$ cat a/b.txt\ntwo\n```\n"
        self.assert_holds(page)
        self.assert_fails(page.replace("-one", "-three"), "stand there 0 times")

    def test_sources_are_safe(self):
        before = (SOURCE / "docs/contents.txt").read_text()
        for name in ("docs/contents.txt", "../out.txt"):
            self.assert_fails(f"```text {name}\nx\n```\n", "is a file of the sources")
        self.assert_holds("```text CMakeLists.txt\nx\n```\n\n```console\n$ cat CMakeLists.txt\nx\n```\n")
        self.assertNotEqual((SOURCE / "CMakeLists.txt").read_text(), "x\n")
        self.assertEqual((SOURCE / "docs/contents.txt").read_text(), before)

    def test_setup_and_python(self):
        self.assert_holds("<!-- setup: echo a > x -->\n\n```console\n$ cat x\na\n```\n")
        self.assert_fails("<!-- setup: false -->\n\n```console\n$ true\n```\n", "the setup fails")

    def test_instead(self):
        page = '<!-- instead "examples/quickstart": echo a -->\n\ntext\n\n    $ examples/quickstart\n    a\n'
        self.assert_holds(page)
        self.assert_fails(page.replace("echo a", "echo b"), "exit code 0")
        self.assert_fails(page.replace("instead", "another"), "`not run` has to say why")

    def test_copies(self):
        page = "```text include/new.h\nx\n```\n\n```console\n$ cat include/new.h\nx\n```\n"
        self.assert_fails(page, "is a file of the sources")
        code, said, _ = self.replay(page, "--copy=include")
        self.assertEqual(code, 0, said)
        self.assertFalse((SOURCE / "include/new.h").exists())

    def test_edit(self):
        with tempfile.TemporaryDirectory() as folder:
            page, tree = pathlib.Path(folder, "page.md"), pathlib.Path(folder, "tree")
            page.write_text("```text include/new.h\nx\n```\n\n```console\n$ touch include/ran.h\n```\n")
            command = [sys.executable, "-B", SOURCE / "tests/walkthrough", "--edit", tree, page, "--copy=include"]
            subprocess.run(command, capture_output=True, cwd=SOURCE, check=True)
            self.assertEqual((tree / "include/new.h").read_text(), "x\n")
            self.assertTrue((tree / "include/collage/collage.hpp").exists())
            self.assertFalse((tree / "include/ran.h").exists())

    def test_bless(self):
        code, said, text = self.replay("```console\n$ echo a\nb\n```\nrest\n", COLLAGE_BLESS="1")
        self.assertEqual((code, text), (0, "```console\n$ echo a\na\n```\nrest\n"), said)

    def test_nothing(self):
        self.assertEqual(self.replay("text\n")[0], 1)
        self.assertEqual(self.replay("text\n", COLLAGE_SKIP="no reason")[0], 77)


class Links(unittest.TestCase):
    def problems(self, page, style=""):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name).resolve()
            (folder / "a.html").write_text(page)
            (folder / "b.html").write_text('<h1 id="here">b</h1>')
            (folder / "s.css").write_text(style)
            check_site.PROBLEMS.clear()
            with contextlib.redirect_stdout(io.StringIO()):
                check_site.check_links(folder)
            return list(check_site.PROBLEMS)

    def test_links(self):
        self.assertEqual(self.problems('<a href="b.html#here">b</a> <a href="https://example.com/x">out</a> <p id="p"><a href="#p">p</a>'), [])
        self.assertIn("leads nowhere", self.problems('<a href="c.html">c</a>')[0])
        self.assertIn("no such anchor", self.problems('<a href="b.html#there">b</a>')[0])
        self.assertIn("no such anchor", self.problems('<a href="#q">q</a>')[0])
        self.assertIn("leads nowhere", self.problems('<img src="picture.png">')[0])

    def test_nothing_is_loaded(self):
        self.assertIn("loads https:", self.problems('<script src="https://example.com/a.js"></script>')[0])
        self.assertIn("loads //", self.problems('<link rel="stylesheet" href="//example.com/a.css">')[0])
        self.assertIn("asks for", self.problems("", "@import url(https://example.com/font.css);")[0])
        self.assertIn("asks for", self.problems("", "@import url(/javascript/x.css);")[0])


class Pages(unittest.TestCase):
    def setUp(self):
        self.build = load(SOURCE / "docs/build_site")
        self.site = self.build.Site(pathlib.Path(TOOLS), pathlib.Path("none"))

    def test_places(self):
        self.assertEqual([self.build.place(path) for path in ("README.md", "docs/index.md", "rules/README.md", "grammar/rules.md")],
                         ["overview.md", "index.md", "rules/index.md", "grammar/rules.md"])

    def test_links(self):
        text = "[a](../grammar/rules.md#costs), [`b`](npu.rules), [c](https://example.com), `[d](no.md)`\n"
        self.assertEqual(self.site.convert(text, "rules/README.md", "rules/index.md"),
                         '[a](../grammar/rules.md#costs), <a href="../source/rules/npu.rules.txt"><code>b</code></a>, '
                         "[c](https://example.com), `[d](no.md)`\n")

    def test_blocks(self):
        text = "x\n\n    rules 1\n\n    backend b {}\n\ny\n\n```rules a.rules\nrules 1\n```\n\n<!-- setup: none -->\n\nz\n"
        self.assertEqual(self.site.convert(text, "README.md", "overview.md"),
                         "x\n\n```rules\nrules 1\n\nbackend b {}\n```\n\ny\n\n```{code-block} rules\n:caption: a.rules\n\nrules 1\n```\n\nz\n")


if __name__ == "__main__":
    unittest.main()
