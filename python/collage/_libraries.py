# SPDX-License-Identifier: Apache-2.0
"""Why the native part of the package cannot be loaded: which libraries of the system are missing, and what has them."""
import ctypes
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
# In a wheel, and in an installation from the archive: lines `LIBRARY PACKAGE`.
LISTS = (HERE / "native/share/collage/libraries.txt", HERE.parents[3] / "share/collage/libraries.txt")


def _is_there(library):
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def why_not(error):
    """Returns the text of an ImportError of the module, with the Debian packages to install where libraries are missing."""
    text = str(error)
    listed = next((path for path in LISTS if path.is_file()), None)
    if listed is None or "cannot open shared object file" not in text:
        return text
    rows = [line.split() for line in listed.read_text().splitlines()]
    missing = [(library, package) for library, package in rows if not _is_there(library)]
    if not missing:
        return text
    packages = " ".join(sorted({package for _, package in missing if package != "-"}))
    return (f"collage needs libraries that are not installed: {', '.join(library for library, _ in missing)}\n"
            f"on Debian 12: apt-get install --no-install-recommends {packages}")
