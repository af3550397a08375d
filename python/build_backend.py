# SPDX-License-Identifier: Apache-2.0
"""What pip calls to make a wheel (PEP 517), with nothing but Python and CMake.

    python3 -m pip install .
    python3 -m pip install . --config-settings build-dir=build/release     # takes what is built there already

The wheel holds the package, both libraries, `collage-measure` and the rules. It is for the Python and the system that built
it. What it needs of that system, pip cannot install: `Requires-External` in its METADATA names the Debian packages,
`collage/native/share/collage/libraries.txt` the libraries, too, and an import that fails reads that.
"""
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "collage"
REQUIRES = ("numpy",)


def _version():
    return re.search(r'COLLAGE_VERSION "([^"]+)"', (ROOT / "include/collage/version.h").read_text()).group(1)


def _tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{re.sub('[-.]', '_', sysconfig.get_platform())}"


def _about(packages):
    """Files of the .dist-info folder but for RECORD, by name. `packages`: of Debian."""
    metadata = ["Metadata-Version: 2.1", f"Name: {NAME}", f"Version: {_version()}",
                "Summary: Compiles deep-learning models for several backends at once, and runs them", "License: Apache-2.0",
                f"Requires-Python: =={sys.version_info.major}.{sys.version_info.minor}.*"]
    metadata += [f"Requires-Dist: {name}" for name in REQUIRES]
    metadata += [f"Requires-External: {name}" for name in packages]
    wheel = ["Wheel-Version: 1.0", "Generator: collage", "Root-Is-Purelib: false", f"Tag: {_tag()}"]
    return {"METADATA": "\n".join(metadata) + "\n", "WHEEL": "\n".join(wheel) + "\n"}


def _info_folder():
    return f"{NAME}-{_version()}.dist-info"


def _run(*command):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, cwd=ROOT)


def _is_for_this_python(cache):
    """Modules that are built there fit this Python, even if it is another one: a virtual environment."""
    found = re.search(r"^COLLAGE_PYTHON_EXECUTABLE:\w+=(\S+)$", cache, re.M)
    if not found or not os.access(found.group(1), os.X_OK):
        return False
    asked = [found.group(1), "-c", "import sysconfig; print(sysconfig.get_config_var('SOABI'))"]
    return subprocess.run(asked, check=True, stdout=subprocess.PIPE, text=True).stdout.strip() == sysconfig.get_config_var("SOABI")


def build(folder):
    """Builds the package in `folder`, which may hold a build of Collage already."""
    configure = ["cmake", "-S", ROOT, "-B", folder, "-DCOLLAGE_PYTHON=ON"]
    cache = folder / "CMakeCache.txt"
    if not cache.exists():
        configure += ["--preset", "release"]
    if not cache.exists() or not _is_for_this_python(cache.read_text()):
        configure.append(f"-DCOLLAGE_PYTHON_EXECUTABLE={sys.executable}")
    _run(*configure)
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or os.cpu_count() or 1
    _run("cmake", "--build", folder, "--target", "collage_python", "--parallel", jobs)


def _files(folder):
    """Names in the wheel and their files. Wheels have no links: of a library only the name that programs ask for."""
    links = {path: path.resolve() for path in folder.rglob("*") if path.is_symlink()}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path not in links.values():
            yield path.relative_to(folder).as_posix(), path.resolve()


def _list_libraries(folder):
    """Writes which libraries of the system are needed. Returns the Debian packages that have them."""
    lines = subprocess.run([ROOT / "cmake/package/needed_libraries.sh", folder], check=True, stdout=subprocess.PIPE, text=True).stdout
    (folder / "collage/native/share/collage/libraries.txt").write_text(lines)
    return sorted({line.split()[1] for line in lines.splitlines()} - {"-"})


def pack(folder, wheel_directory):
    """Makes a wheel of what was built in `folder`. Returns its name."""
    name = f"{NAME}-{_version()}-{_tag()}.whl"
    with tempfile.TemporaryDirectory() as scratch:
        _run("cmake", "--install", folder, "--component", "wheel", "--strip", "--prefix", scratch)
        packages = _list_libraries(pathlib.Path(scratch))
        with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
            record = []

            def add(path, content, mode):
                entry = zipfile.ZipInfo(path)
                entry.external_attr = (0o100000 | mode) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                wheel.writestr(entry, content)
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                record.append(f"{path},sha256={digest},{len(content)}")

            for path, file in _files(pathlib.Path(scratch).resolve()):
                add(path, file.read_bytes(), 0o755 if os.access(file, os.X_OK) else 0o644)
            for path, text in _about(packages).items():
                add(f"{_info_folder()}/{path}", text.encode(), 0o644)
            record.append(f"{_info_folder()}/RECORD,,")
            wheel.writestr(f"{_info_folder()}/RECORD", "\n".join(record) + "\n")
    return name


# --- what pip calls: not prepare_metadata_for_build_wheel, for which libraries are needed is known when they are built ---


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    folder = pathlib.Path((config_settings or {}).get("build-dir", ROOT / "build/python")).resolve()
    build(folder)
    return pack(folder, wheel_directory)


class UnsupportedOperation(Exception):
    pass


def build_sdist(sdist_directory, config_settings=None):
    raise UnsupportedOperation("the sources are the repository")
