# SPDX-License-Identifier: Apache-2.0
"""The extension of grammar/editors/vscode is whole: vscode_test.py SOURCES. Its files are there, the patterns of its grammars are patterns that
find what they are for, and what it relies on is what the server says. Where node is installed, its script starts and ends the server. Its
package is made without a network: by vsce, where `npm install` has been run, else from the files of the extension alone, as vsce packs
them; both must hold what the manifest names."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
import zipfile

sources = sys.argv[1]
folder = os.path.join(sources, "grammar", "editors", "vscode")
# A line, the part that is found, and its scope.
RULES = [("  where dim(x, 1) % 8 == 0 else \"no\"", "where", "keyword.control"), ("  cost macs * 1.5 GB/s", "1.5 GB/s", "constant.numeric"),
         ("  match y = Relu(x)", "Relu", "entity.name.class"), ("c.group == 1", "group", "variable.other.member"),
         ("  where bytes(x)", "bytes", "support.function"), ("// said", "// said", "comment.line.double-slash")]
MODEL = [('  %"a b" = Relu(%x)', '%"a b"', "variable.other.readwrite"), ("  %y = Relu(%x)", "Relu", "entity.name.class"),
         ("model @m(", "@m", "entity.name.namespace"), ("%x: f32[1, 3]", "f32", "storage.type"), ("cost 3.5us", "3.5us", "constant.numeric"),
         ("{axis = 1}", "axis", "variable.parameter"), ("%w = const random seed 1", "random", "keyword.control")]


# Runs the script in place of VS Code: what it asks for is recorded.
SCRIPT = """
const Module = require("module");
const log = [];
let fails = false;
class LanguageClient {
  constructor(id, name, server, options) { log.push(["new", id, server, options.documentSelector]); this.options = options; }
  async start() { if (fails) throw new Error("no such file"); log.push(["start"]); LanguageClient.last = this; }
  stop() { log.push(["stop"]); }
}
const channel = { appendLine: (line) => log.push(["line", line]), show: () => log.push(["show"]), dispose() {} };
const vscode = {
  window: { createOutputChannel: () => channel, showErrorMessage: (message) => log.push(["error", message]) },
  workspace: { getConfiguration: (section) => ({ get: (key) => section + "." + key }) },
};
const load = Module._load;
Module._load = (name, ...rest) =>
  name === "vscode" ? vscode : name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...rest);
const extension = require(process.argv[1]);
(async () => {
  const context = { subscriptions: [] };
  await extension.activate(context);
  const tests = [{ backend: "npu", rule: "conv", passed: false, message: "it matches", range: { start: { line: 4 } } }];
  const result = { passed: 0, failed: 1, tests };
  await LanguageClient.last.options.middleware.executeCommand("collage.runTests", [], async () => result);
  await extension.deactivate();
  fails = true;
  await extension.activate(context);
  console.log(JSON.stringify(log));
})();
"""


def read_json(name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def check_script(node, script):
    subprocess.run([node, "--check", script], check=True, timeout=60)
    ran = subprocess.run([node, "-e", SCRIPT, script], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=60)
    made = ["new", "collage", {"command": "collage.rulesTool", "args": ["lsp"]}, [{"language": "collage-rules"}, {"language": "collage-model"}]]
    log = json.loads(ran.stdout)
    assert log[:-1] == [made, ["start"], ["line", "FAILED  npu conv, line 5: it matches"], ["line", "0 passed, 1 failed"], ["show"], ["stop"],
                        made], log
    assert log[-1][0] == "error" and "collage.rulesTool" in log[-1][1], log
    print("held: the script starts the server, and ends it")


def check_manifest(package):
    """What vsce refuses, beside what it needs flags for."""
    for key in ("name", "version", "publisher", "engines", "main"):
        assert package.get(key), key
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", package["name"]) and re.fullmatch(r"\d+\.\d+\.\d+", package["version"])
    # From this version on, an extension is activated by the languages that it contributes.
    minor = int(re.fullmatch(r"\^1\.(\d+)\.\d+", package["engines"]["vscode"])[1])
    assert minor >= 74 or package.get("activationEvents")
    with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    # Without a repository, relative links lead nowhere; pictures in SVG are refused.
    links = re.findall(r"\]\(([^)]+)\)", readme)
    assert all(link.startswith("https://") and not link.endswith(".svg") for link in links), links


def pack(package, to):
    """The package as vsce makes it, without the packages of npm that it needs."""
    names = {entry["configuration"] for entry in package["contributes"]["languages"]} | {package["main"], "package.json"}
    names |= {entry["path"] for entry in package["contributes"]["grammars"]}
    types = {".json": "application/json", ".js": "application/javascript", ".md": "text/markdown", ".vsixmanifest": "text/xml"}
    manifest = f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata><Identity Language="en-US" Id="{package['name']}" Version="{package['version']}" Publisher="{package['publisher']}"/></Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/readme.md" Addressable="true"/>
  </Assets>
</PackageManifest>
"""
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("extension.vsixmanifest", manifest)
        rows = "".join(f'<Default Extension="{end}" ContentType="{kind}"/>' for end, kind in types.items())
        archive.writestr("[Content_Types].xml", '<?xml version="1.0" encoding="utf-8"?>\n'
                         f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{rows}</Types>')
        archive.write(os.path.join(folder, "README.md"), "extension/readme.md")
        for name in sorted(os.path.normpath(name) for name in names):
            archive.write(os.path.join(folder, name), "extension/" + name)


def check_package(package, path, is_whole):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        held = set(archive.namelist())
        manifest = ElementTree.fromstring(archive.read("extension.vsixmanifest").strip())
        inner = json.loads(archive.read("extension/package.json"))
        types = ElementTree.fromstring(archive.read("[Content_Types].xml").strip())
    space = {"x": "http://schemas.microsoft.com/developer/vsx-schema/2011"}
    identity = manifest.find("x:Metadata/x:Identity", space)
    assert [identity.get(key) for key in ("Id", "Version", "Publisher")] == [package[key] for key in ("name", "version", "publisher")]
    assert {asset.get("Path") for asset in manifest.findall("x:Assets/x:Asset", space)} == {"extension/package.json", "extension/readme.md"}
    named = [inner["main"]] + [entry["path"] for entry in inner["contributes"]["grammars"]]
    named += [entry["configuration"] for entry in inner["contributes"]["languages"]]
    for name in named:
        assert "extension/" + os.path.normpath(name) in held, name
    endings = {entry.get("Extension") for entry in types}
    assert {os.path.splitext(name)[1] for name in held if name != "[Content_Types].xml"} - {""} <= endings, endings
    assert not any("node_modules/@vscode" in name for name in held), "what packs it is in it"
    if is_whole:
        assert all(f"extension/node_modules/{name}/package.json" in held for name in inner["dependencies"]), sorted(held)[:20]


def main():
    package = read_json("package.json")
    names = [entry["configuration"] for entry in package["contributes"]["languages"]] + [package["main"]]
    grammars = {entry["language"]: entry for entry in package["contributes"]["grammars"]}
    for name in names + [entry["path"] for entry in grammars.values()]:
        assert os.path.isfile(os.path.join(folder, name)), name
    read_json("language-configuration.json")
    for language, lines in (("collage-rules", RULES), ("collage-model", MODEL)):
        grammar = read_json(grammars[language]["path"])
        assert grammar["scopeName"] == grammars[language]["scopeName"]
        patterns = {pattern["name"].rsplit(".", 1)[0]: re.compile(pattern["match"]) for pattern in grammar["patterns"] if "match" in pattern}
        for line, part, scope in lines:
            assert part in [found.group(0) for found in patterns[scope].finditer(line)], (line, part, scope)
        print("held:", language)
    with open(os.path.join(sources, "compiler", "rules_tool", "lsp", "server.cpp"), encoding="utf-8") as file:
        server = file.read()
    assert all(f'"{language}"' in server for language in grammars), "the server knows the languages by other names"
    node = shutil.which("node")
    if node:
        check_script(node, os.path.join(folder, package["main"]))
    check_manifest(package)
    vsce = os.path.join(folder, "node_modules", ".bin", "vsce")
    is_whole = node is not None and os.path.exists(vsce)
    with tempfile.TemporaryDirectory() as scratch:
        packed = os.path.join(scratch, "collage.vsix")
        if is_whole:
            command = package["scripts"]["package"].replace("vsce", vsce, 1).replace("collage.vsix", packed)
            subprocess.run(command.split(), cwd=folder, stdin=subprocess.DEVNULL, check=True, timeout=100)
        else:
            pack(package, packed)
        check_package(package, packed, is_whole)
    print("held: the extension, packed by", "vsce" if is_whole else "zip: without `npm install` there is no vsce")


if __name__ == "__main__":
    main()
