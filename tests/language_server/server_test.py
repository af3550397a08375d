# SPDX-License-Identifier: Apache-2.0
"""An editor without a user: drives every feature of `collage-rules lsp` on both languages, then types the shipped files.

    server_test.py TOOL SOURCES [--every] [--limit RATIO]

Typing is to send prefixes of every file of rules/ and of some models, and beside each prefix the whole file with the line at that place
half written, and to ask everything there. Every request must have an answer that has the form of the protocol. By default some twenty
places of each file are typed, with `--every` all of them. How long answers took is printed. With `--limit` the server's own
thread must not spend more processor time on an answer than so many times what it needs to read the slowest of the complete files.
Exit code 77: TOOL was built without the server.
"""
import argparse
import glob
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "filetests", "rules", "Inputs"))
from lsp_client import Client, edited, unmark  # noqa: E402

RULES = "file:///tmp/typed.rules"
MODEL = "file:///tmp/typed.ir"
PLACES = 20  # of each file, unless all are asked for
MODELS = ("examples/digits/digits.ir", "examples/networks/dcgan.ir", "examples/networks/quantized_conv.ir", "examples/networks/resnet50.ir",
          "examples/networks/bert_base.ir", "tests/filetests/sema/open_dims.ir")

RULES_TEXT = """rules 1
backend toy version 1 {
  device toy { link host bandwidth 4 GB/s }
  attr lanes: int = 8
  runtime sim
  rule <RULE>conv {
    match y = Relu?(c<CAPTURE> = Conv(x, w: const))
    where c.group == 1 else "grouped"
    where dim(x, 1) % lanes == 0 else "{dim(x, 1)} channels"
    cost macs * 1 ns
    lower "conv"(x, w)
  }
  rule tested {
    match y = Tanh(x)
    cost 1 us
    lower "tanh"(x)
    test ok "%y = Tanh(%x)" with x: f32[4] -> {%y}
    test ok "%y = Relu(%x)" with x: f32[4] -> {%y}
  }
}
"""

MODEL_TEXT = """model @m(%x: f32[batch<DIM>, 8], %s: f32[2, 8]) -> (%y: f32[batch, 4]) {
  // ∑𝕏
  %w<CONST> = const random seed 1 : f32[8, 4]
  %h<DEF> = MatMul(%x, %w)
  %r = Relu<OP>(%h<USE>)
  %g = Gelu(%s) {approximate<ATTR> = "none"}
  %y = Relu(%r<LAST>)
}
"""


def whole(uri):
    return {"textDocument": {"uri": uri}}


def at(uri, position):
    return {"textDocument": {"uri": uri}, "position": position}


def actions(client, uri, start, end=None):
    return client.result("textDocument/codeAction",
                         {"textDocument": {"uri": uri}, "range": {"start": start, "end": end or start}, "context": {"diagnostics": []}})


def words_at(text, ranges):
    lines = text.split("\n")
    for each in ranges:
        start, end = each["start"], each["end"]
        yield start["line"], lines[start["line"]][start["character"] : end["character"]]


def tokens_of(client, uri, text, legend):
    """(line, word, type) of every semantic token; columns count UTF-16 units."""
    lines = [line.encode("utf-16-le") for line in text.split("\n")]
    data = client.result("textDocument/semanticTokens/full", whole(uri))["data"]
    assert len(data) % 5 == 0, len(data)
    line = column = 0
    for i in range(0, len(data), 5):
        down, right, length, kind, _ = data[i : i + 5]
        column = right if down else column + right
        line += down
        assert 2 * (column + length) <= len(lines[line]), (line, column, length)
        yield line, lines[line][2 * column : 2 * (column + length)].decode("utf-16-le"), legend["tokenTypes"][kind]


def start(client):
    answer = client.result("initialize", {"processId": None, "rootUri": None, "capabilities": {
        "textDocument": {"codeAction": {"resolveSupport": {"properties": ["edit"]}}}}})
    return answer["capabilities"]


def rule_features(tool):
    client = Client(tool)
    capabilities = start(client)
    legend = capabilities["semanticTokensProvider"]["legend"]
    text, places = unmark(RULES_TEXT)

    # The fix of a diagnostic: of a name, and of a spelling of other languages.
    for right, wrong, title in (("c.group", "c.groop", "Change to `group`"), ("== 1 else", "== 1 && true else", "Change to `and`")):
        typed = text.replace(right, wrong)
        found = client.open(typed, RULES)
        assert found, wrong
        offered = [action for action in actions(client, RULES, {"line": 0, "character": 0}, {"line": 99, "character": 0}) if "edit" in action]
        assert [action["title"] for action in offered] == [title], offered
        fixed = edited(typed, offered[0]["edit"]["changes"][RULES])
        assert client.change(fixed, RULES) == [], fixed

    # The missing tests, whose edits are asked for when they are chosen.
    assert client.change(text, RULES) == []
    offered = actions(client, RULES, places["RULE"])
    assert [action["title"] for action in offered] == ["Add a `test ok` of rule `conv`", "Add a `test no` of rule `conv`"], offered
    with_tests = text
    for action in reversed(offered):
        assert "edit" not in action
        with_tests = edited(with_tests, client.result("codeAction/resolve", action)["edit"]["changes"][RULES])
    assert client.change(with_tests, RULES) == [], with_tests
    assert actions(client, RULES, places["RULE"]) == []

    # Lenses, and what they run.
    lenses = client.result("textDocument/codeLens", whole(RULES))
    assert [lens["command"]["title"] for lens in lenses].count("Run 2 tests") == 2, lenses
    assert "collage.runTests" in capabilities["executeCommandProvider"]["commands"]
    run = [client.result("workspace/executeCommand", {"command": lens["command"]["command"], "arguments": lens["command"]["arguments"]})
           for lens in lenses if "2 tests" in lens["command"]["title"]]
    assert [(each["passed"], each["failed"]) for each in run] == [(2, 0), (1, 1)], run
    [failure] = [test for test in run[1]["tests"] if not test["passed"]]
    assert failure["message"] and failure["rule"] == "tested", failure
    one = [lens for lens in lenses if lens["command"]["title"] == "Run test"]
    assert len(one) == 4
    assert client.result("workspace/executeCommand", {"command": "collage.runTests", "arguments": one[-1]["command"]["arguments"]})["failed"] == 1
    assert client.error("workspace/executeCommand", {"command": "rm", "arguments": []}) == -32602

    client.change(text, RULES)
    renamable = client.at("prepareRename", places["CAPTURE"], RULES)
    assert renamable["placeholder"] == "c", renamable
    found = client.result("textDocument/references", dict(at(RULES, places["CAPTURE"]), context={"includeDeclaration": True}))
    assert [word for _, word in words_at(text, [each["range"] for each in found])] == ["c", "c"], found
    [backend] = client.at("documentSymbol", places["RULE"], RULES)
    assert backend["name"] == "toy" and {"conv", "tested", "lanes", "toy"} == {child["name"] for child in backend["children"]}, backend
    tokens = list(tokens_of(client, RULES, text, legend))
    assert (6, "Conv", "class") in tokens and (6, "match", "keyword") in tokens and (7, '"grouped"', "string") in tokens, tokens
    assert (7, "group", "property") in tokens, tokens

    # Warnings come when they are found: the rules that lack a test.
    client.change(text + "\n", RULES)
    warned = client.diagnostics(RULES, client.version)
    assert any(each["severity"] == 2 for each in warned), warned
    client.stop()
    print("held: features of the rule language")


def model_features(tool):
    client = Client(tool)
    legend = start(client)["semanticTokensProvider"]["legend"]
    text, places = unmark(MODEL_TEXT)
    assert client.open(text, MODEL, "collage-model") == []

    def shown(name):
        answer = client.at("hover", places[name], MODEL)
        return answer and answer["contents"]["value"]

    assert "%h: f32[batch, 4]" in shown("USE") and "MatMul" in shown("USE"), shown("USE")
    assert "%w: f32[8, 4]" in shown("CONST") and "constant" in shown("CONST"), shown("CONST")
    assert shown("OP").startswith("**Relu**"), shown("OP")
    assert shown("ATTR").startswith("`approximate`: attribute of `Gelu`"), shown("ATTR")
    assert "batch" in shown("DIM")
    target = client.at("definition", places["USE"], MODEL)
    assert list(words_at(text, [target["range"]])) == [(places["DEF"]["line"], "%h")], target
    found = client.result("textDocument/references", dict(at(MODEL, places["DEF"]), context={"includeDeclaration": False}))
    assert [line for line, _ in words_at(text, [each["range"] for each in found])] == [places["USE"]["line"]], found

    assert client.at("prepareRename", places["USE"], MODEL)["placeholder"] == "h"
    for name, to, line in (("USE", "hidden", "  %hidden = MatMul(%x, %w)"), ("USE", "%hidden", "  %hidden = MatMul(%x, %w)"),
                           ("USE", "a:b", '  %"a:b" = MatMul(%x, %w)'), ("DIM", "n", "")):
        made = client.result("textDocument/rename", dict(at(MODEL, places[name]), newName=to))
        new = edited(text, made["changes"][MODEL])
        assert not line or line in new.split("\n"), new
        assert client.change(new, MODEL) == [], new
        client.change(text, MODEL)
    for name, to in (("USE", "r"), ("USE", ""), ("USE", "%w"), ("DIM", "2x"), ("DIM", "const"), ("OP", "Tanh")):
        assert client.error("textDocument/rename", dict(at(MODEL, places[name]), newName=to)) == -32803, (name, to)

    [model] = client.result("textDocument/documentSymbol", whole(MODEL))
    assert model["name"] == "@m"
    assert {child["name"]: child["detail"] for child in model["children"]}["%h"] == "MatMul: f32[batch, 4]", model
    tokens = list(tokens_of(client, MODEL, text, legend))
    assert (1, "// ∑𝕏", "comment") in tokens and (3, "MatMul", "class") in tokens and (0, "%x", "parameter") in tokens, tokens
    assert (0, "f32", "type") in tokens and (5, "approximate", "property") in tokens, tokens

    # Mistakes, and their fixes.
    for right, wrong, title in (("Gelu", "Gelo", "Change to `Gelu`"), ("approximate", "aproximate", "Change to `approximate`"),
                                ("(%r)", "(%ss)", None), ("%y = Relu", "%y = Relv", "Change to `Relu`")):
        typed = text.replace(right, wrong)
        found = client.change(typed, MODEL)
        assert found and all(each["severity"] == 1 for each in found), wrong
        offered = actions(client, MODEL, {"line": 0, "character": 0}, {"line": 99, "character": 0})
        if title:
            assert title in [action["title"] for action in offered], (wrong, offered)
            fixed = edited(typed, next(action for action in offered if action["title"] == title)["edit"]["changes"][MODEL])
            assert client.change(fixed, MODEL) == [], fixed
    # What depends on the size of an open dimension is no mistake; what never fits is.
    assert client.change(text.replace("f32[8, 4]", "f32[9, 4]"), MODEL) != []

    # Half written: the statements around it have types.
    for half in (text.replace("%r = Relu(%h)", "%r = Relu("), text.split("  %r = Relu")[0] + "  %r = Re",
                 text.split("  %r = Relu")[0] + "  %r = Gelu(%h) {approx"):
        client.change(half, MODEL)
        assert "%h: f32[batch, 4]" in shown("DEF"), half
    # No model at the moment: what was known before is.
    client.change(text, MODEL)
    client.change(text.replace("model @m", "model @m("), MODEL)
    assert "f32[batch, 4]" in shown("DEF")

    def labels(marked):
        plain, marks = unmark(marked)
        client.change(plain, MODEL)
        return [item["label"] for item in client.at("completion", marks["HERE"], MODEL)]

    head = "model @m(%image: f32[1, 8]) -> (%y: f32[1, 8]) {\n  %hidden = Relu(%image)\n"
    assert labels(head + "  %y = Ge<HERE>")[:1] == ["Gelu"]
    assert labels(head + "  %y = Tanh(%h<HERE>") == ["hidden"]
    assert "const" in labels(head + "  %y = co<HERE>")
    assert "approximate" in labels(head + "  %y = Gelu(%hidden) {<HERE>")
    assert labels(head + "  // Ge<HERE>") == []
    assert client.result("textDocument/formatting", dict(whole(MODEL), options={})) is None
    client.stop()
    print("held: features of the model language")


def language_of(path):
    return "collage-model" if path.endswith(".ir") else "collage-rules"


class Typist:
    """Types a file and asks everything at the end of each prefix."""

    def __init__(self, tool):
        self.client = Client(tool)
        self.limit = None  # milliseconds of the server's own thread, for an answer
        self.legend = start(self.client)["semanticTokensProvider"]["legend"]
        self.times = {}  # method -> milliseconds
        self.busy = {}  # method -> the longest, in milliseconds of the server's own thread, and where

    def busy_so_far(self):
        pid = self.client.server.pid
        with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e6

    def timed(self, method, ask, where):
        """The answer. One that took longer than the limit is asked for again, twice: other work on the machine delays a thread, too."""
        took = []
        while not took or (self.limit and min(took) > self.limit and len(took) < 3):
            begin, busy = time.monotonic(), self.busy_so_far()
            answer = ask()
            self.times.setdefault(method, []).append(1000 * (time.monotonic() - begin))
            took.append(self.busy_so_far() - busy)
        self.busy[method] = max(self.busy.get(method, (0, "")), (min(took), where))
        return answer

    def limit_by_whole_files(self, paths, ratio):
        """No answer may take more than `ratio` times as long as reading the slowest of the files when it is complete."""
        slowest = 0
        for path in paths:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            uri = "file://" + os.path.abspath(path)
            self.client.open("", uri, language_of(path))
            times = []
            for version in range(5):
                before = self.busy_so_far()
                self.client.change(text + "\n" * version, uri)
                times.append(self.busy_so_far() - before)
            slowest = max(slowest, sorted(times)[2])
        self.limit = ratio * slowest

    def ask_everything(self, text, uri, position):
        client = self.client
        where = f"{uri}:{position['line'] + 1}"
        diagnostics = self.timed("didChange", lambda: client.change(text, uri), where)
        lines = text.count("\n") + 1
        for each in diagnostics:
            assert 0 <= each["range"]["start"]["line"] < lines and each["message"], each
        for method in ("hover", "definition", "completion", "prepareRename"):
            self.timed(method, lambda method=method: client.at(method, position, uri), where)
        places = self.timed("references", lambda: client.result("textDocument/references", dict(at(uri, position), context={})), where)
        assert isinstance(places, list)
        for method in ("documentSymbol", "codeLens"):
            assert isinstance(self.timed(method, lambda method=method: client.result("textDocument/" + method, whole(uri)), where), list)
        self.timed("semanticTokens", lambda: list(tokens_of(client, uri, text, self.legend)), where)
        self.timed("codeAction", lambda: actions(client, uri, position), where)
        # Refused where nothing can have another name.
        self.timed("rename", lambda: client.ask("textDocument/rename", dict(at(uri, position), newName="renamed_by_test")), where)

    def type_file(self, path, every):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        uri = "file://" + os.path.abspath(path)
        self.client.open("", uri, language_of(path))
        step = 1 if every else max(1, len(text) // PLACES)
        for end in list(range(0, len(text), step)) + [len(text)]:
            prefix = text[:end]
            line = prefix.rsplit("\n", 1)[-1]
            position = {"line": prefix.count("\n"), "character": len(line.encode("utf-16-le")) // 2}
            self.ask_everything(prefix, uri, position)
            # The same in the middle of the file: the rest of the line is still to be written.
            rest = text[end:].split("\n", 1)
            if not every or end % 50 == 0:
                self.ask_everything(prefix + "\n" + (rest[1] if len(rest) > 1 else ""), uri, position)

    def report(self):
        print(f"{'method':16}{'asked':>8}{'median':>10}{'longest':>10}{'busy':>10}   milliseconds, with what the client does; the server's thread")
        for method, times in sorted(self.times.items()):
            times = sorted(times)
            print(f"{method:16}{len(times):8}{times[len(times) // 2]:10.2f}{times[-1]:10.2f}{self.busy[method][0]:10.2f}")
        late = {method: busy for method, busy in self.busy.items() if self.limit and busy[0] > self.limit}
        assert not late, f"more than {self.limit:.0f} ms: {late}"


def typing(tool, sources, every, limit):
    typist = Typist(tool)
    files = sorted(glob.glob(os.path.join(sources, "rules", "**", "*.rules"), recursive=True))
    assert files, "no rule files"
    files += [os.path.join(sources, name) for name in MODELS]
    if limit:
        typist.limit_by_whole_files(files, limit)
    for path in files:
        typist.type_file(path, every)
        print("typed:", os.path.relpath(path, sources))
    typist.client.stop()
    typist.report()


def hostile(tool):
    """Texts that nobody types."""
    client = Client(tool)
    start(client)
    texts = ["}" * 1000, "{" * 5000, "rule a {" * 2000, "backend a { " * 2000, "rule " * 1000, '"' * 999, "\0\0", "%" * 1000, "%a," * 5000,
             "model @m() -> () { %a = Relu(%a) {" + "x = [" * 500, "model @m(" * 500, "model @m(%x: f32[" + "n, " * 500,
             "model @m(%x: f32[a, b]) -> (%x: f32[b, a]) {" + "%y = Relu(%x)\n" * 500,
             "model @m() -> (%y: f32[]) { %y = const random seed 1 : f32[99999999999, 99999999999] }",
             "model @m() -> (%y: f32[]) { %y = const file \"/dev/zero\" : i64[4] }", "rules 1\ninclude \"/dev/zero\"\n"]
    for text in texts:
        for uri, language in ((RULES, "collage-rules"), (MODEL, "collage-model")):
            client.open(text, uri, language)
            for character in (0, 1, len(text) // 2, len(text)):
                for method in ("hover", "definition", "completion", "prepareRename"):
                    client.at(method, {"line": 0, "character": character}, uri)
            for method in ("documentSymbol", "codeLens", "semanticTokens/full"):
                client.result("textDocument/" + method, whole(uri))
            client.notify("textDocument/didClose", whole(uri))
            client.diagnostics(uri)
    assert client.error("codeAction/resolve", {"title": "?", "data": {"uri": RULES, "offset": 7, "test": "ok"}}) == -32602
    client.stop()
    print("held: texts that nobody types")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("sources")
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--limit", type=float)
    arguments = parser.parse_args()
    said = subprocess.run([arguments.tool, "lsp"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stderr
    if "built without" in said:
        print("skipped: " + said.splitlines()[0])
        sys.exit(77)
    rule_features(arguments.tool)
    model_features(arguments.tool)
    hostile(arguments.tool)
    typing(arguments.tool, arguments.sources, arguments.every, arguments.limit)


if __name__ == "__main__":
    main()
