#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the structure of the source tree: check_house.py [ROOT]. Prints each violation; exit 1 if there is one.

  floors   a folder of compiler/ includes lower floors only (the table in compiler/README.md), a folder of runtime/ only folders
           before it (the order in runtime/CMakeLists.txt); runtime/ never includes compiler/, include/ nothing of the project, python/
           include/ alone
  cycles   the folders within one folder do not include each other in a cycle, at any depth
  doors    headers of a library are included, directly or through a header of ours, only where the table of doors in
           compiler/README.md permits
  guards   every source file starts with the SPDX line, every header has `#pragma once`
  names    constants and types of unnamed namespaces differ within a library, whose files are compiled in groups
  paths    every path that a .md file names exists, and every source file that a comment names
  prose    no comment, and no paragraph of one, begins with "Of …", which is half a sentence; no comment line of a source file is longer than 120 columns
  words    every keyword and every function of the rule language stands in a rule file of rules/ or examples/
  packages what CMake files find has a package in packages.txt, in its part [build] where cmake/Dependencies.cmake requires it;
           what that file says is found is found
"""
import os
import re
import sys
from collections import defaultdict

SOURCES = (".h", ".hpp", ".c", ".cpp", ".def", ".ll", ".yy")
FOLDERS = ("include", "runtime", "compiler", "grammar", "python", "tests", "bench", "examples", "rules", "cmake", "docs")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")', re.M)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def tree(root):
    """Paths of all files, relative to the root."""
    paths = [name for name in os.listdir(root) if not name.endswith(SOURCES) and os.path.isfile(os.path.join(root, name))]
    for top in FOLDERS:
        for folder, names, files in os.walk(os.path.join(root, top)):
            names[:] = [name for name in names if name not in ("Output", "__pycache__", "node_modules")]
            paths += [os.path.relpath(os.path.join(folder, name), root) for name in files]
    return sorted(paths)


class House:
    def __init__(self, root):
        self.root = root
        self.paths = set(tree(root))
        self.sources = [path for path in sorted(self.paths) if path.endswith(SOURCES)]
        self.ours = {}     # file -> files of the project that it includes
        self.foreign = {}  # file -> <headers> that it includes
        for path in self.sources:
            found = INCLUDE.findall(read(root, path))
            self.ours[path] = [target for _, name in found if name for target in [self.resolve(path, name)] if target]
            self.foreign[path] = [name for name, _ in found if name]

    def resolve(self, path, name):
        """The file that `#include "name"` in `path` means; None for a generated one."""
        for candidate in (name, os.path.normpath(os.path.join(os.path.dirname(path), name)), "include/" + name):
            if candidate in self.paths:
                return candidate
        return None


def table(text, first_heading):
    """Rows of the Markdown table whose first column has this heading."""
    rows, inside = [], False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if cells and cells[0] == first_heading:
            inside = True
        elif inside and not cells:
            return rows
        elif inside and not set(line) <= set("|- "):
            rows.append(cells)
    return rows


def backticked(cell):
    return re.findall(r"`([^`]+)`", cell)


# --- floors ---


def compiler_floors(house):
    """Folder -> floor, from the table in compiler/README.md; None if there is no such table."""
    floors = {}
    for cells in table(read(house.root, "compiler/README.md"), "floor"):
        for name in backticked(cells[1]):
            if not name.startswith(".."):
                floors["compiler/" + name.strip("/")] = int(cells[0])
    return floors


def runtime_floors(house):
    order = re.findall(r"add_subdirectory\((\w+)\)", read(house.root, "runtime/CMakeLists.txt"))
    return {"runtime/" + name: floor for floor, name in enumerate(order)}


def room(path):
    """`compiler/place` for compiler/place/exact/search.h."""
    return "/".join(path.split("/")[:2])


# What each top folder may include of the others.
BELOW = {"include": (), "runtime": ("include",), "compiler": ("include", "runtime", "grammar"), "grammar": ("compiler", "runtime"),
         "python": ("include",)}


def check_floors(house):
    floors = {**compiler_floors(house), **runtime_floors(house)}
    rooms = {room(path) for path in house.sources if path.split("/")[0] in ("compiler", "runtime") and path.count("/") > 1}
    for name in sorted(rooms - set(floors)):
        yield f"{name}/ has no floor: add a row to the table of floors"
    for name in sorted(set(floors) - rooms):
        yield f"{name}/ is in the table of floors and does not exist"
    for path in house.sources:
        top = path.split("/")[0]
        for target in house.ours[path]:
            other = target.split("/")[0]
            if top in BELOW and other != top and other not in BELOW[top]:
                yield f"{path} includes {target}: {top}/ does not include {other}/"
            is_table = target.endswith(".def")  # keywords and units: plain rows, for everyone
            if target.startswith("grammar/") and not is_table and top not in ("grammar", "tests") and room(path) != "compiler/syntax":
                yield f"{path} includes {target}: only compiler/syntax/ includes grammar/ sources"
            here, there = floors.get(room(path)), floors.get(room(target))
            if top == other and None not in (here, there) and room(path) != room(target) and there >= here:
                yield f"{path} (floor {here}) includes {target} (floor {there})"


# --- cycles ---


def sibling_arrows(house):
    """folder -> child -> child -> one include that makes the arrow. Files directly in a folder belong to no child."""
    arrows = defaultdict(lambda: defaultdict(dict))
    for path in house.sources:
        for target in house.ours[path]:
            here, there = path.split("/")[:-1], target.split("/")[:-1]
            depth = 0
            while depth < min(len(here), len(there)) and here[depth] == there[depth]:
                depth += 1
            if depth and depth < len(here) and depth < len(there):
                arrows["/".join(here[:depth])][here[depth]].setdefault(there[depth], f"{path} includes {target}")
    return arrows


def find_cycle(arrows):
    """Names along a cycle, the first one repeated at the end; empty if there is none."""
    done = set()

    def visit(name, way):
        if name in way:
            return way[way.index(name):] + [name]
        if name in done:
            return []
        done.add(name)
        for other in sorted(arrows.get(name, ())):
            cycle = visit(other, way + [name])
            if cycle:
                return cycle
        return []

    for name in sorted(arrows):
        cycle = visit(name, [])
        if cycle:
            return cycle
    return []


def check_cycles(house):
    for folder, arrows in sorted(sibling_arrows(house).items()):
        cycle = find_cycle(arrows)
        if cycle:
            reasons = "; ".join(arrows[a][b] for a, b in zip(cycle, cycle[1:]))
            yield f"{folder}/: cycle {' -> '.join(cycle)} ({reasons})"


# --- doors ---


def read_doors(house):
    """(library, prefixes of its headers, places that may include them)"""
    return [(cells[0], backticked(cells[1]), tuple(backticked(cells[2])))
            for cells in table(read(house.root, "compiler/README.md"), "library")]


def check_doors(house):
    doors = read_doors(house)
    if not doors:
        yield "compiler/README.md has no table of doors"
    readers = defaultdict(list)
    for path in house.sources:
        for target in house.ours[path]:
            readers[target].append(path)
    for library, prefixes, places in doors:
        seen = {path: f"<{name}>" for path in house.sources for name in house.foreign[path] if name.startswith(tuple(prefixes))}
        if not seen:
            yield f"no file includes a header of {library}: its row in the table of doors is stale"
        waiting = list(seen)
        while waiting:
            path = waiting.pop()
            for reader in readers[path]:
                if reader not in seen:
                    seen[reader] = path
                    waiting.append(reader)
        for path in sorted(seen):
            if not path.startswith(places):
                yield f"{path} sees {library} through {seen[path]}; it belongs in {' or '.join(places)}"


# --- guards ---


def check_guards(house):
    for path in house.sources:
        text = read(house.root, path)
        if "SPDX-License-Identifier" not in "".join(text.splitlines(True)[:2]):
            yield f"{path} does not start with the SPDX line"
        if path.endswith((".h", ".hpp")) and "#pragma once" not in text and "#ifndef" not in text:
            yield f"{path} has no include guard"


# --- names ---

LOCAL = re.compile(r"(?:(?:inline )?(?:static )?(?:constexpr|const) [^=({]*?\b(k[A-Z]\w*)\b|(?:struct|class|enum class) (\w+)(?: :[^:].*)? \{)")


def grouped_libraries(house):
    """(folder, regex of the files in it that are compiled alone or None)"""
    for path in house.paths:
        if os.path.basename(path) == "CMakeLists.txt" and path.startswith(("compiler/", "runtime/")):
            text = read(house.root, path)
            if re.search(r"collage_(library|executable|compiler_program|shared_library)\(", text):
                singly = re.search(r'SINGLY "(.*?)"', text)
                yield os.path.dirname(path) + "/", singly and singly.group(1)


def local_names(house, path):
    space, inside = "", False
    for line in read(house.root, path).splitlines():
        opened = re.match(r"namespace (\S+) \{$", line)
        space = opened.group(1) if opened else space
        inside = (inside or line == "namespace {") and not line.startswith("}  // namespace")
        found = LOCAL.match(line) if inside else None
        if found:
            yield space, found.group(1) or found.group(2)


def check_names(house):
    libraries = sorted(grouped_libraries(house), key=lambda library: len(library[0]), reverse=True)
    first = {}
    for path in house.sources:
        library, singly = next((one for one in libraries if path.startswith(one[0])), (None, None))
        if library is None or not path.endswith(".cpp") or singly and re.search(singly, path.removeprefix(library)):
            continue
        for space, name in local_names(house, path):
            other = first.setdefault((library, space, name), path)
            if other != path:
                yield f"{path}: `{name}` is also a name in {other}, and both may be compiled together"


# --- paths ---

NAMED = (".h", ".hpp", ".cpp", ".c", ".def", ".ll", ".yy", ".md", ".py", ".cmake")  # always ours
SHARED = (".rules", ".ir", ".test", ".txt", ".js", ".sh")                          # ours where a folder is named, too


def is_path(text):
    """Whether backticked text names a file or folder of ours. NAME, `name` and `mine` stand for a name that the reader chooses."""
    if not re.fullmatch(r"[\w./-]+", text) or text.startswith(("/", "build/")) or text.split("/")[-1].startswith("."):
        return False
    if re.search(r"(^|/)(NAME|name|[A-Z]|mine|my\w*)\b", text):
        return False
    return text.endswith(NAMED) or ("/" in text and text.endswith(SHARED + ("/",)))


def check_paths(house):
    folders = {os.path.dirname(path) + "/" for path in house.paths}
    folders |= {"/".join(folder.split("/")[:depth]) + "/" for folder in folders for depth in range(1, folder.count("/"))}
    known = house.paths | folders | {prefix for _, prefixes, _ in read_doors(house) for prefix in prefixes}
    for path in sorted(house.paths):
        if not path.endswith(".md"):
            continue
        text = read(house.root, path)
        text = re.sub(r"^(```.*?^```|    .*?$)", "", text, flags=re.M | re.S)  # examples name files of the reader
        here = os.path.dirname(path)
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            if not os.path.exists(os.path.join(house.root, here, link)):
                yield f"{path}: the link {link} leads nowhere"
        for name in backticked(text):
            target = os.path.normpath(os.path.join(here, name)) + ("/" if name.endswith("/") else "")
            suffix = "/" + re.sub(r"^(\.\./)+", "", name)
            if is_path(name) and not {name, target} & known and not any(("/" + one).endswith(suffix) for one in known):
                yield f"{path}: `{name}` does not exist"


def check_comments(house):
    endings = defaultdict(list)
    for path in house.paths:
        endings[os.path.basename(path)].append("/" + path)
    for path in house.sources:
        for number, line in enumerate(read(house.root, path).splitlines(), 1):
            _, slashes, comment = line.partition("//")
            if not slashes or "." not in comment:
                continue
            for name in re.findall(r"(?<![\w./<-])(?:[\w-]+/)*[\w-]+\.(?:h|cpp|def|ll|yy)\b", comment):
                if is_path(name) and not any(end.endswith("/" + name) for end in endings[os.path.basename(name)]):
                    yield f"{path}:{number}: {name} does not exist"


# --- prose of comments ---

COLUMNS = 120
COMMENT = re.compile(r'(?:[^"\'\n]|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')*?(//+|/\*+)<?[ \t]*(.*)')
HASH_COMMENT = re.compile(r"(?:.*\s)?(#+)[ \t]*(.*)")


def comment_lines(house, path):
    """(number, line, text of the comment in it, whether a paragraph begins there) of every line with a comment."""
    is_source = path.endswith(SOURCES + (".js", ".rules"))
    pattern = COMMENT if is_source else HASH_COMMENT
    inside, before = "", ""
    for number, line in enumerate(read(house.root, path).splitlines(), 1):
        found = None if inside else pattern.match(line)
        if inside:
            yield number, line, line.strip(), False
        elif found:
            is_whole = line.lstrip().startswith(found[1])
            yield number, line, found[2], not (is_whole and before == "//")
        opened = inside or (found and found[1].startswith("/*"))
        inside = "/*" if opened and "*/" not in line[(found.start(1) + 2) if found else 0:] else ""
        before = "//" if found and found[2] and line.lstrip().startswith(found[1]) else ""


def check_prose(house):
    for path in sorted(house.paths):
        is_source = path in house.sources
        if not is_source and not path.endswith((".js", ".rules", ".py", ".cmake", "CMakeLists.txt")):
            continue
        for number, line, text, begins in comment_lines(house, path):
            if re.match(r"Of\b", text) and begins:
                yield f'{path}:{number}: the comment begins with "Of"'
            if is_source and len(line) > COLUMNS:
                yield f"{path}:{number}: a comment line of {len(line)} columns, at most {COLUMNS}"


# --- what is printed ---

PRINT = re.compile(r"(?:fmt|std)::(?:v?print(?:ln)?|puts)\(|std::(?:cout|cerr) *<<")
PRINTERS = "runtime/support/print.h"


def check_prints(house):
    """Texts of others reach a terminal through one header, which shows their control characters."""
    for path in sorted(house.sources):
        if not path.startswith(("compiler/", "runtime/")) or path == PRINTERS:
            continue
        for number, line in enumerate(read(house.root, path).splitlines(), 1):
            if PRINT.search(line):
                yield f"{path}:{number}: prints by itself, not by {PRINTERS}"


# --- words of the rule language ---

LITERAL = re.compile(r'"""(.*?)"""|"((?:\\.|[^"\\\n])*)"|//[^\n]*', re.S)


def without_literals(text):
    """The text of a rule file without comments and strings; of a message, `{expressions}` stay."""
    return LITERAL.sub(lambda found: " ".join(re.findall(r"(?<!\\)\{[^{}]*\}", found[1] or found[2] or "")), text)


def check_words(house):
    shipped = [path for path in house.paths if path.endswith(".rules") and path.startswith(("rules/", "examples/"))]
    text = "\n".join(without_literals(read(house.root, path)) for path in sorted(shipped))
    # `at` is written `list[i]`.
    uses = {"keyword": r"(?<![.\w])%s\b", "function": r"(?<![.\w])%s\(", "at": r"[\w)\]]\["}
    tables = (("keyword", "grammar/rules_keywords.def", r'^KEYWORD\(\w+, "(\w+)"'),
              ("function", "compiler/ir/rules/functions.def", r"^FUNCTION\((\w+)"))
    for kind, path, row in tables:
        if path not in house.paths:
            continue
        for word in sorted(set(re.findall(row, read(house.root, path), re.M))):
            use = uses["at"] if (kind, word) == ("function", "at") else uses[kind] % word
            if not re.search(use, text):
                yield f"{path}: no rule file of rules/ or examples/ uses the {kind} `{word}`"


# --- packages ---

FIND = re.compile(r"^\s*(?:find_(?:package|program|path|file|library)\(|collage_optional_library\(\S+ \S+ \"[^\n]*\" )(\w+)([^\n]*)", re.M)


def read_packages(house):
    """(part, package, names that CMake files find by it)"""
    part, rows = "", []
    for line in read(house.root, "packages.txt").splitlines():
        words = line.split()
        if line.startswith("["):
            part = line.strip("[]")
        elif words and words[0] != "#":
            rows.append((part, words[0], words[1:]))
    return rows


def found_by_cmake(house):
    """Name => (file, whether every build needs it). The files cmake/Find*.cmake are parts of what others find."""
    found = {}
    for path in sorted(house.paths):
        if path == "cmake/Dependencies.cmake" or path.startswith(("python/", "tests/")) and path.endswith(("CMakeLists.txt", ".cmake")):
            for name, rest in FIND.findall(read(house.root, path)):
                is_needed = path == "cmake/Dependencies.cmake" and "REQUIRED" in rest
                found.setdefault(name, (path, is_needed))
    return found


def check_packages(house):
    if "packages.txt" not in house.paths:
        return
    rows, found = read_packages(house), found_by_cmake(house)
    parts = defaultdict(set)
    for part, package, names in rows:
        for name in names:
            parts[name].add(part)
            if name not in found:
                yield f"packages.txt: no CMake file finds {name}, which stands beside {package}"
        if sum(other == package for _, other, _ in rows) > 1:
            yield f"packages.txt: {package} has two rows"
    for name, (path, is_needed) in found.items():
        if name not in parts:
            yield f"{path} finds {name}, which packages.txt names beside no package"
        elif is_needed and "build" not in parts[name]:
            yield f"{path} requires {name}, whose package is in [{', '.join(parts[name])}] of packages.txt"


CHECKS = (check_floors, check_cycles, check_doors, check_guards, check_names, check_paths, check_comments, check_prose, check_prints, check_words, check_packages)


def violations(root):
    house = House(root)
    return [line for check in CHECKS for line in check(house)]


def main():
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    found = violations(sys.argv[1] if len(sys.argv) > 1 else default)
    for line in found:
        print(line)
    print(f"{len(found)} violations" if found else "the house holds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
