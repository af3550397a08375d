# SPDX-License-Identifier: Apache-2.0
"""The package itself: wheel, stubs, and the document."""
import ast
import os
import re
import subprocess
import sys
import zipfile

from conftest import ROOT


def test_wheel(build, tmp_path, digits_path):
    """A wheel of what is built has all that it needs, wherever it is unpacked."""
    sys.path.insert(0, str(ROOT / "python"))
    try:
        import build_backend
    finally:
        sys.path.pop(0)
    name = build_backend.pack(build, tmp_path)
    with zipfile.ZipFile(tmp_path / name) as wheel:
        names = wheel.namelist()
        wheel.extractall(tmp_path / "site")
        metadata = wheel.read(next(one for one in names if one.endswith(".dist-info/METADATA"))).decode()
    assert "collage/py.typed" in names and "collage/native/share/collage/rules/host.rules" in names
    assert [one for one in names if "libcollage" in one] == [
        "collage/native/lib/libcollage_compiler.so.1", "collage/native/lib/libcollage_runtime.so.1"]
    assert sum(one.endswith(".dist-info/RECORD") for one in names) == 1
    os.chmod(tmp_path / "site/collage/native/bin/collage-measure", 0o755)  # pip does it
    program = ("import collage, numpy\n"
               f"program = collage.compile({str(digits_path)!r}, costs='estimate', cache='')\n"
               "maps = open('/proc/self/maps').read()\n"
               "print(collage.__file__, program(numpy.zeros((1, 1, 8, 8), 'float32')).shape)\n"
               "print(sorted({line.split()[-1] for line in maps.splitlines() if 'libcollage' in line}))\n"
               "print(program.placement.backends.column('backend'))\n")
    environment = dict(os.environ, PYTHONPATH=str(tmp_path / "site"))
    environment.pop("COLLAGE_RULES", None)
    said = subprocess.run([sys.executable, "-B", "-c", program], cwd=tmp_path, env=environment, check=True,
                          stdout=subprocess.PIPE, text=True).stdout.splitlines()
    assert said[0] == f"{tmp_path}/site/collage/__init__.py (1, 10)"
    assert said[1].count(f"{tmp_path}/site/collage/native/lib/") == 2 and str(build) not in said[1]
    assert "npu" in said[2]
    check_missing_libraries(tmp_path / "site", metadata)


def check_missing_libraries(site, metadata):
    """The wheel names the packages that it needs; where a library is missing, an import says which package has it."""
    listed = site / "collage/native/share/collage/libraries.txt"
    rows = dict(line.split() for line in listed.read_text().splitlines())
    assert "libc.so.6" in rows and not any("collage" in library for library in rows)
    assert {package for package in rows.values() if package != "-"} == set(re.findall(r"(?m)^Requires-External: (\S+)$", metadata))
    with open(listed, "a") as lines:
        lines.write("libcollage_runtime.so.1 lost-and-found\n")
    next(site.rglob("libcollage_runtime.so.1")).unlink()
    imported = subprocess.run([sys.executable, "-B", "-c", "import collage"], cwd=site.parent, env=dict(os.environ, PYTHONPATH=str(site)),
                              stderr=subprocess.PIPE, text=True)
    assert imported.returncode == 1
    assert imported.stderr.splitlines()[-2:] == [
        "ImportError: collage needs libraries that are not installed: libcollage_runtime.so.1",
        "on Debian 12: apt-get install --no-install-recommends lost-and-found"]


def members(node):
    return {one.name for one in node.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))}


def test_stubs_name_what_there_is():
    from collage import _collage

    tree = ast.parse((ROOT / "python/collage/_collage.pyi").read_text())
    stubs = members(tree) | {one.target.id for one in tree.body if isinstance(one, ast.AnnAssign)}
    assert stubs == {name for name in vars(_collage) if not name.startswith("__")}
    inherited = set(dir(object)) | {"__module__", "__annotations__", "_pybind11_conduit_v1_"}
    for stub in tree.body:
        if isinstance(stub, ast.ClassDef) and stub.name != "Failure":
            there = {name for name in vars(getattr(_collage, stub.name)) if name not in inherited}
            assert members(stub) - {"__init__"} == there - {"__init__"}, stub.name


def test_quickstart(build, tmp_path, digits_path):
    """The first Python of the document runs as it is written."""
    text = (ROOT / "python/README.md").read_text()
    code = re.search(r"```python\n(.*?)```", text, re.S).group(1)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    environment = dict(os.environ, PYTHONPATH=str(build / "python"), COLLAGE_COSTS="estimate", HOME=str(tmp_path))
    said = subprocess.run([sys.executable, "-B", "-c", code], cwd=ROOT, env=environment, check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    assert "accuracy 99.2 %" in said
