# SPDX-License-Identifier: Apache-2.0
"""A language client that plays sessions against `collage-rules lsp`: what an editor asks, and what nobody should send.

    lsp_client.py TOOL SESSION…     sessions are the functions below; each must hold
"""
import json
import os
import subprocess
import sys
import time

URI = "file:///tmp/a%20b.rules"
# `<NAME>` marks a place; the marks are taken out.
TEXT = """rules 1
def act = Relu | Clip
include "common.rules"
backend npu {
  device npu { link host bandwidth 4 GB/s }
  attr lanes: int = 8
  runtime sim
  // ∑𝕏 before a <COMMENT>word
  rule conv for f in {Relu, Tanh} {
    match y = f?(c = Co<OPERATOR>nv(x, w: const, b?: const))
    where c.gr<ATTRIBUTE>oup == 1 and di<FUNCTION>m(x, 1) % lanes == 0 else "𝕏 {c.group} groups"
    cost ma<QUANTITY>cs * 1 ns + by<CALLED>tes(w) / 1 GB/s
    lower "conv"(x, <CAPTURE>w, b, f<VARIABLE>)
    tes<KEYWORD>t ok "%c = Conv(%x, %w)" with x: f32[1, 8, 1, 1], w: f32[1, 8, 1, 1] -> {%c}
    test no "%c = Conv(%x, %w)" with x: f32[1, 3, 1, 1], w: f32[1, 3, 1, 1] because "groups"
  }
}
"""


def unmark(marked):
    """The text without marks, and {name: position}."""
    places, plain = {}, ""
    while "<" in marked and ">" in marked:
        before, rest = marked.split("<", 1)
        name, behind = rest.split(">", 1)
        if not (name.isupper() and name.isalpha()):
            plain += before + "<"
            marked = rest
            continue
        plain += before
        line = plain.rsplit("\n", 1)[-1]
        places[name] = {"line": plain.count("\n"), "character": len(line.encode("utf-16-le")) // 2}
        marked = behind
    return plain + marked, places


class Client:
    def __init__(self, tool):
        self.server = subprocess.Popen([tool, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last_id = 0
        self.version = 0

    def send_bytes(self, data):
        self.server.stdin.write(data)
        self.server.stdin.flush()

    def send(self, message):
        body = json.dumps(message, ensure_ascii=False).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def read(self):
        length = None
        while (line := self.server.stdout.readline().strip()):
            name, value = line.split(b":")
            if name == b"Content-Length":
                length = int(value)
        assert length is not None, "the server is gone"
        return json.loads(self.server.stdout.read(length))

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method, params=None):
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params or {}})
        answer = self.read()
        while "method" in answer:  # what the server tells by itself: warnings, found after the errors
            answer = self.read()
        assert answer["id"] == self.last_id and answer["jsonrpc"] == "2.0", answer
        return answer

    def result(self, method, params=None):
        answer = self.ask(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method, params=None):
        return self.ask(method, params)["error"]["code"]

    def start(self):
        return self.result("initialize", {"processId": None, "rootUri": None, "capabilities": {}})

    def open(self, text, uri=URI, language="collage-rules"):
        self.version += 1
        document = {"uri": uri, "languageId": language, "version": self.version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return self.diagnostics(uri, self.version)

    def change(self, text, uri=URI):
        self.version += 1
        self.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": self.version}, "contentChanges": [{"text": text}]})
        return self.diagnostics(uri, self.version)

    def diagnostics(self, uri, version=None):
        """Those of this version of the text that come next."""
        while True:
            message = self.read()
            assert message["method"] == "textDocument/publishDiagnostics", message
            if message["params"]["uri"] == uri and message["params"].get("version") == version:
                return message["params"]["diagnostics"]

    def at(self, what, position, uri=URI):
        return self.result("textDocument/" + what, {"textDocument": {"uri": uri}, "position": position})

    def labels(self, marked):
        """Completion at `<HERE>`."""
        text, places = unmark(marked)
        self.change(text)
        return [item["label"] for item in self.at("completion", places["HERE"])]

    def stop(self):
        assert self.result("shutdown") is None
        assert self.error("textDocument/hover") == -32600
        self.notify("exit", None)
        assert self.server.wait(timeout=10) == 0


def diagnostics(client):
    capabilities = client.start()["capabilities"]
    assert capabilities["textDocumentSync"]["change"] == 1 and capabilities["hoverProvider"]
    good = unmark(TEXT)[0].replace('include "common.rules"\n', "").replace("def act = Relu | Clip\n", "")
    found = client.open(good)
    assert found == [], found
    bad = good.replace("c.group ==", "c.groop ==").replace("macs", "mecs")
    found = client.change(bad)
    assert len(found) >= 2, found
    assert all(d["severity"] == 1 and d["source"] == "collage-rules" for d in found)
    line = next(i for i, text in enumerate(bad.split("\n")) if "groop" in text)
    start = bad.split("\n")[line].index("groop")
    assert any(d["range"] == {"start": {"line": line, "character": start}, "end": {"line": line, "character": start + 5}}
               for d in found), found
    assert any("did you mean" in d["message"] for d in found), found
    # Many syntax errors at once, and what else belongs to an error.
    found = client.change("rules 1\nbackend a {\n  runtime )\n  attr ]\n}\nbackend a { }\n")
    assert len(found) >= 2 and {d["code"] for d in found} == {"CG0101"}, found
    found = client.change("rules 1\nbackend a {\n  runtime sim\n  runtime sim\n  device d { link host bandwidth 1 GB/s }\n"
                          "  rule r { match y = Relu(x) cost 1 us }\n  rule r { match y = Relu(x) cost 1 us }\n}\n")
    twice = next(d for d in found if "declared twice" in d["message"])
    assert twice["relatedInformation"][0]["location"]["uri"] == URI, twice
    assert twice["relatedInformation"][0]["location"]["range"]["start"] == {"line": 5, "character": 7}, twice
    # A column counts UTF-16 units.
    found = client.change('rules 1\n// 𝕏\ninclude "𝕏" ?')
    assert found[0]["range"]["start"] == {"line": 2, "character": 13}, found
    # Definitions of an included file, which is beside the document.
    uri = "file://" + os.path.join(os.path.dirname(os.path.abspath(__file__)), "opened.rules")
    using = 'rules 1\ninclude "lsp_common.rules"\nbackend a {\n  runtime host_jit\n  rule r {\n    match y = act(x)\n    cost 1 us\n' \
            '    test ok "%y = Tanh(%x)" with x: f32[1] -> {%y}\n  }\n}\n'
    assert client.open(using, uri) == []
    [found] = [d for d in client.change(using.replace("lsp_common", "lsp_none"), uri) if d["code"] == "CG0001"]
    assert found["range"]["start"] == {"line": 1, "character": 8}, found
    client.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
    assert client.diagnostics(URI) == []
    assert client.error("textDocument/hover", {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}) == -32602
    client.stop()


def hover(client):
    client.start()
    text, places = unmark(TEXT)
    client.open(text)

    def shown(name):
        answer = client.at("hover", places[name])
        return answer and answer["contents"]["value"]

    assert shown("OPERATOR").startswith("**Conv**: 2 to 3 operands, 1 result; out_fusable\n- "), shown("OPERATOR")
    assert "- `group`: int" in shown("OPERATOR")
    assert shown("ATTRIBUTE") == "`group`: attribute of `Conv`, int"
    assert shown("FUNCTION").startswith("`dim(") and "number" in shown("FUNCTION"), shown("FUNCTION")
    assert shown("QUANTITY") == "multiply-accumulates of the match, or candidate"
    assert shown("CALLED").startswith("`bytes("), shown("CALLED")
    assert shown("CAPTURE") == "`w`: a constant value"
    assert shown("VARIABLE") == "`f`: one of Relu, Tanh"
    assert shown("KEYWORD").startswith("test ok ")
    assert shown("COMMENT") is None
    word = text.split("\n")[places["ATTRIBUTE"]["line"]]
    begin = word.index("group")
    answer = client.at("hover", places["ATTRIBUTE"])
    assert answer["range"]["start"]["character"] == begin and answer["range"]["end"]["character"] == begin + 5
    # Half written: what stands there is still known.
    client.change(text.split("cost")[0])
    assert shown("ATTRIBUTE") == "`group`: attribute of `Conv`, int"
    text, places = unmark("rules 1\nbackend a { runtime host_jit <LIMIT>max <WORD>partitions 8 }\n")
    client.change(text)
    assert "all its instances together" in shown("LIMIT") and "all its instances together" in shown("WORD")
    client.stop()


NAMES = r"""rules 1
def act = Relu | Clip
backend npu {
  device npu { link host bandwidth 4 GB/s }
  attr lanes: int = 8
  runtime sim
  let width(of, n) = dim(o<PARAMETER>f, 1) % n
  semantics "conv"(x, w, b?) = Conv(x, w, b)
  rule conv for f in {Relu, Tanh} {
    match y = f?(c = Conv(x, w<CONST>: const, b?: const))
    where width(x, la<ATTR>nes) == 0 else "{dim(w, 1)} of {c.group}, \{w} {lanes}"
    cost bytes(w) / 1 GB/s
    lower "conv"(x, encode(w, "OHWI"), w<ARGUMENT> = b)
    kernel other { cost 1 us  lower "other"(w, f) }
    test ok "%c = Conv(%x, %w)" with x: f32[1, 8, 1, 1], w<TEST>: f32[1, 8, 1, 1] -> {%c}
  }
  rule plain { match Conv(x, w: const) cost 1 us test ok "%c = Conv(%x, %w)" with x: f32[1, 8, 1, 1], w: f32[1, 8, 1, 1] -> {%c} }
}
"""


def edited(text, edits):
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda e: (e["range"]["start"]["line"], e["range"]["start"]["character"]), reverse=True):
        start, end = edit["range"]["start"], edit["range"]["end"]
        line = lines[start["line"]]
        lines[start["line"]] = line[: start["character"]] + edit["newText"] + line[end["character"] :]
    return "\n".join(lines)


def references(client):
    client.start()
    text, places = unmark(NAMES)
    client.open(text)

    def words(name, **context):
        found = client.result("textDocument/references",
                              {"textDocument": {"uri": URI}, "position": places[name], "context": context})
        lines = text.split("\n")
        for each in found:
            start, end = each["range"]["start"], each["range"]["end"]
            yield lines[start["line"]][start["character"] : end["character"]], start["line"]

    assert list(words("CONST")) == [("w", 9), ("w", 10), ("w", 11), ("w", 12), ("w", 13)], list(words("CONST"))
    assert list(words("CONST", includeDeclaration=False)) == [("w", 10), ("w", 11), ("w", 12), ("w", 13)]
    assert list(words("ATTR")) == [("lanes", 4), ("lanes", 10), ("lanes", 10)], list(words("ATTR"))
    assert list(words("PARAMETER")) == [("of", 6), ("of", 6)], list(words("PARAMETER"))
    assert list(words("TEST")) == []
    client.stop()


def rename(client):
    client.start()
    text, places = unmark(NAMES)
    client.open(text)

    def renamed(name, to):
        answer = client.result("textDocument/rename",
                               {"textDocument": {"uri": URI}, "position": places[name], "newName": to})
        return edited(text, answer["changes"][URI])

    new = renamed("CONST", "weights")
    for line in ('    match y = f?(c = Conv(x, weights: const, b?: const))',
                 r'    where width(x, lanes) == 0 else "{dim(weights, 1)} of {c.group}, \{w} {lanes}"',
                 '    cost bytes(weights) / 1 GB/s',
                 '    lower "conv"(x, w = encode(weights, "OHWI"), w = b)',
                 '    kernel other { cost 1 us  lower "other"(w = weights, f) }',
                 '    test ok "%c = Conv(%x, %w)" with x: f32[1, 8, 1, 1], w: const f32[1, 8, 1, 1] -> {%c}',
                 text.split("\n")[16]):
        assert line in new.split("\n"), (line, new)
    assert "let width(size, n) = dim(size, 1) % n" in renamed("PARAMETER", "size")
    assert "attr width_: int" in renamed("ATTR", "width_") and "{width_}" in renamed("ATTR", "width_")

    def refused(name, to):
        return client.error("textDocument/rename",
                            {"textDocument": {"uri": URI}, "position": places[name], "newName": to})

    for to in ("b", "rule", "Relu", "dim", "macs", "f32", "true", "none", "_", "2x", "", "a b"):
        assert refused("CONST", to) == -32803, to
    assert refused("TEST", "weights") == -32803
    client.stop()


def definition(client):
    client.start()
    marked = TEXT.replace("f?(c", "ac<DEF>t?(c").replace("% lanes", "% la<ATTR>nes").replace("link host", "link n<DEVICE>pu")
    marked = marked.replace('"common', '"co<INCLUDE>mmon')
    text, places = unmark(marked)
    client.open(text)
    lines = text.split("\n")

    def target(name):
        found = client.at("definition", places[name])
        if found is None:
            return None
        start, end = found["range"]["start"], found["range"]["end"]
        return start["line"], lines[start["line"]][start["character"]:end["character"]]

    def line_of(part):
        return next(i for i, line in enumerate(lines) if part in line)

    assert target("CAPTURE") == (line_of("match y"), "w")
    assert target("DEF") == (1, "act")
    assert target("ATTR") == (line_of("attr lanes"), "lanes")
    assert target("DEVICE") == (line_of("device npu"), "npu")
    assert target("VARIABLE") == (line_of("rule conv"), "f")
    assert target("OPERATOR") is None
    assert client.at("definition", places["INCLUDE"])["uri"] == "file:///tmp/common.rules"
    client.stop()


def completion(client):
    client.start()
    client.open("")
    top = client.labels("<HERE>")
    assert {"backend", "def", "include"} <= set(top) and "where" not in top, top
    head = "rules 1\nbackend npu {\n  attr lanes: int = 8\n  rule r for f in {Relu, Tanh} {\n    match y = f(c = Conv(x, w))\n"
    assert client.labels(head + "    wh<HERE>") == ["where"], client.labels(head + "    wh<HERE>")
    words = client.labels(head + "    <HERE>")
    assert {"cost", "format", "lower", "match", "test", "where"} <= set(words) and "device" not in words, words
    assert {"device", "rule", "runtime"} <= set(client.labels("rules 1\nbackend npu {\n  <HERE>\n}\n"))
    assert client.labels(head + "    where c.gr<HERE>") == ["group"]
    assert {"group", "strides", "pads"} <= set(client.labels(head + "    where c.<HERE> == 1\n  }\n}\n"))
    assert client.labels(head + "    where la<HERE>") == ["lanes"]
    assert {"dim", "c", "x", "w", "y", "f32", "lanes"} <= set(
        client.labels(head + "    where dim(<HERE>"))
    assert {"Conv", "ConvTranspose"} <= set(client.labels("rules 1\nbackend a {\n  rule r {\n    match y = Co<HERE>"))
    assert "NHWC" in client.labels(head + "    format x: N<HERE>")
    assert client.labels("rules 1\nbackend a {\n  runtime h<HERE>") == ["host_jit"]
    assert "dim" not in words and "Conv" not in words, words
    # What cannot end a statement goes on in the next line.
    assert "dim" in client.labels(head + "    where c.group == 1 and\n      <HERE>")
    assert {"OHWI", "bf16"} <= set(client.labels(head + '    lower "f"(encode(w, "<HERE>'))
    assert client.labels(head + '    lower "f"(encode(w, "OHWI", "b<HERE>') == ["bf16"]
    named = head.replace("  rule r", '  let cycles(n) = n / 2\n  def where whole(x) = rank(x) == 4 else "rank"\n  rule r')
    assert "cycles" in client.labels(named + "    let half = cy<HERE>") and "let" in words
    assert client.labels(named + "    where who<HERE>") == ["whole"]
    with_memory = head.replace("  attr lanes", "  device npu { memory 1 MiB memory tcm 64 KiB }\n  attr lanes")
    assert client.labels(with_memory + "    where tc<HERE>") == ["tcm"]
    assert client.labels(with_memory + "    workspace tcm = byt<HERE>") == ["bytes"]
    assert client.labels(head + "    // wh<HERE>") == []
    assert client.labels(head + '    test ok "wh<HERE>') == []
    client.stop()


def formatting(client):
    client.start()
    client.open("rules 1 backend a{runtime sim  rule r{match y=Relu(x)}}")
    [edit] = client.result("textDocument/formatting", {"textDocument": {"uri": URI}, "options": {}})
    assert edit["range"] == {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 55}}, edit
    wanted = "rules 1\nbackend a {\n  runtime sim\n  rule r {\n    match y = Relu(x)\n  }\n}\n"
    assert edit["newText"] == wanted, edit
    client.change(wanted)
    assert client.result("textDocument/formatting", {"textDocument": {"uri": URI}, "options": {}}) == []
    client.change("rules 1 backend")
    assert client.error("textDocument/formatting", {"textDocument": {"uri": URI}, "options": {}}) == -32600
    client.stop()


def protocol(client):
    """What is against the rules is answered, and the server goes on."""
    assert client.error("textDocument/hover") == -32002
    client.notify("textDocument/didOpen", {})
    client.start()
    assert client.error("initialize") == -32600
    assert client.error("textDocument/nothing") == -32601
    assert client.error("textDocument/hover", {"textDocument": 5}) == -32602
    assert client.error("textDocument/hover", [1]) == -32602

    def answer(body, header=None):
        client.send_bytes((header or b"Content-Length: %d\r\n\r\n" % len(body)) + body)
        message = client.read()
        assert message["id"] is None, message
        return message["error"]["code"]

    assert answer(b"{") == -32700
    assert answer(b"\xff\xfe\x00") == -32700
    assert answer(b"[]") == -32600
    assert answer(b"7") == -32600
    assert answer(b"{}") == -32600
    assert answer(b'{"method": 5}') == -32600
    assert answer(b'{"method": "initialize", "id": {"a": 1}}') == -32600
    assert answer(b"", b"Content-Length: many\r\n\r\n") == -32700
    assert answer(b"", b"Content-Length: -5\r\n\r\n") == -32700
    assert answer(b"", b"Content-Length: 99999999999999999999999999\r\n\r\n") == -32700
    assert answer(b"", b"no colon\r\n\r\n") == -32700
    assert answer(b"", b"Content-Type: text\r\n\r\n") == -32700
    assert answer(b"", b"X: " + b"a" * 100000 + b"\r\n\r\n") == -32700
    assert answer(b"[" * 1000000) == -32700
    for params in (None, 3, {}, {"textDocument": {}}, {"textDocument": {"uri": URI}, "contentChanges": []},
                   {"textDocument": {"uri": URI}, "contentChanges": [{}]}, {"textDocument": {"uri": 4, "text": 4}}):
        for method in ("textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "$/unknown"):
            client.notify(method, params)
            if method == "textDocument/didClose" and URI in str(params):
                assert client.diagnostics(URI) == []
    client.open("rules 1\n")
    for position in ({"line": -1, "character": -1}, {"line": 10**9, "character": 10**9}, {"line": 0, "character": 10**18}):
        for method in ("hover", "definition", "completion"):
            client.at(method, position)
    assert client.error("textDocument/hover", {"textDocument": {"uri": URI}, "position": {"line": "a"}}) == -32602
    # A string is an id too.
    client.send({"jsonrpc": "2.0", "id": "seven", "method": "no"})
    assert client.read()["id"] == "seven"
    client.stop()


def texts(client):
    """Broken texts: every prefix of a file, asked at every place that it has; answers come at once."""
    client.start()
    text = unmark(TEXT)[0]
    client.open("")
    started = time.time()
    for end in range(0, len(text), 7):
        client.change(text[:end])
        lines = text[:end].split("\n")
        position = {"line": len(lines) - 1, "character": len(lines[-1].encode("utf-16-le")) // 2}
        for method in ("hover", "definition", "completion"):
            client.at(method, position)
    for text in ("}" * 1000, "{" * 1000, "rule " * 1000, "match " * 500 + "(" * 5000, '"' * 999, "\0\0rule", "a.b.c." * 300,
                 "rules 1 backend a { rule r for in { match y = = c.", "rules 1 backend { phase { never after rewrite"):
        client.change(text)
        for character in (0, 1, 50, len(text)):
            for method in ("hover", "definition", "completion"):
                client.at(method, {"line": 0, "character": character})
    assert time.time() - started < 60
    client.stop()


def goodbye(client):
    """Without `shutdown`, the end of the input and `exit` are failures."""
    client.start()
    client.notify("exit", None)
    assert client.server.wait(timeout=10) == 1
    other = Client(client.server.args[0])
    other.send_bytes(b"Content-Length: 100\r\n\r\n{")
    other.server.stdin.close()
    assert other.server.wait(timeout=10) == 1


def main():
    tool, sessions = sys.argv[1], sys.argv[2:]
    for name in sessions:
        globals()[name](Client(tool))
        print("held:", name)


if __name__ == "__main__":
    main()
