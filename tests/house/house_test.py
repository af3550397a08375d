#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks a small house in every way that check_house.py must notice."""
import os
import tempfile
import unittest

import check_house

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
README = """
| floor | folder | does |
| --- | --- | --- |
| 2 | `upper/` | |
| 1 | `lower/`, `beside/` | |

| library | headers | included only in |
| --- | --- | --- |
| LLVM | `llvm/` | `compiler/upper/llvm/` |
"""


def house():
    return {
        "compiler/README.md": README,
        "compiler/upper/a.cpp": SPDX + '#include "compiler/lower/b.h"\n',
        "compiler/upper/llvm/emit.h": SPDX + "#pragma once\n",
        "compiler/upper/llvm/emit.cpp": SPDX + "#include <llvm/IR/Module.h>\n",
        "compiler/lower/b.h": SPDX + '#pragma once\n#include "runtime/core/shape.h"\n',
        "compiler/beside/c.h": SPDX + "#pragma once\n",
        "runtime/CMakeLists.txt": "add_subdirectory(core)\nadd_subdirectory(exec)\n",
        "runtime/core/shape.h": SPDX + "#pragma once\n",
        "runtime/exec/run.h": SPDX + "#pragma once\n",
    }


class HouseTest(unittest.TestCase):
    def expect(self, change, *messages):
        """The house with this change has exactly these violations."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**house(), **change}.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(check_house.violations(root), list(messages))

    def test_sound(self):
        self.expect({})

    def test_prints_by_itself(self):
        self.expect({"compiler/upper/a.cpp": SPDX + 'void f() { fmt::print("{}", name); }\n'},
                    "compiler/upper/a.cpp:2: prints by itself, not by runtime/support/print.h")

    def test_include_upwards(self):
        self.expect({"compiler/lower/d.cpp": SPDX + '#include "compiler/upper/llvm/emit.h"\n'},
                    "compiler/lower/d.cpp (floor 1) includes compiler/upper/llvm/emit.h (floor 2)",
                    "compiler/: cycle lower -> upper -> lower (compiler/lower/d.cpp includes compiler/upper/llvm/emit.h; "
                    "compiler/upper/a.cpp includes compiler/lower/b.h)")

    def test_include_on_one_floor(self):
        self.expect({"compiler/lower/d.cpp": SPDX + '#include "compiler/beside/c.h"\n'},
                    "compiler/lower/d.cpp (floor 1) includes compiler/beside/c.h (floor 1)")

    def test_python_sees_the_interface_alone(self):
        self.expect({"python/src/a.cpp": SPDX + '#include "include/collage/compiler.h"\n#include "compiler/lower/b.h"\n',
                     "include/collage/compiler.h": "/* SPDX-License-Identifier: Apache-2.0 */\n#pragma once\n"},
                    "python/src/a.cpp includes compiler/lower/b.h: python/ does not include compiler/")

    def test_runtime(self):
        self.expect({"runtime/core/d.cpp": SPDX + '#include "runtime/exec/run.h"\n'},
                    "runtime/core/d.cpp (floor 0) includes runtime/exec/run.h (floor 1)")
        self.expect({"runtime/exec/d.cpp": SPDX + '#include "compiler/lower/b.h"\n'},
                    "runtime/exec/d.cpp includes compiler/lower/b.h: runtime/ does not include compiler/")

    def test_folder_without_floor(self):
        self.expect({"compiler/new/d.cpp": SPDX}, "compiler/new/ has no floor: add a row to the table of floors")

    def test_cycle_of_subfolders(self):
        self.expect({"compiler/upper/x/d.h": SPDX + '#pragma once\n#include "compiler/upper/y/e.h"\n',
                     "compiler/upper/y/e.h": SPDX + '#pragma once\n#include "compiler/upper/x/d.h"\n'},
                    "compiler/upper/: cycle x -> y -> x (compiler/upper/x/d.h includes compiler/upper/y/e.h; "
                    "compiler/upper/y/e.h includes compiler/upper/x/d.h)")

    def test_packages(self):
        cmake = {"cmake/Dependencies.cmake": "find_package(fmt REQUIRED)\ncollage_optional_library(PNG PNG::PNG \"pictures `a`\" PNG 1.6)\n",
                 "tests/CMakeLists.txt": "  find_package(GTest ${required})\nfind_program(NOT_THERE not)\n",
                 "cmake/FindPNG.cmake": "find_path(PNG_INCLUDE_DIR png.h)\n"}
        self.expect({**cmake, "packages.txt": "# [x] y\n[build]\ncmake\nlibfmt-dev fmt\n[tests]\nlibpng-dev PNG\nlibgtest-dev GTest NOT_THERE\n"})
        self.expect({**cmake, "packages.txt": "[build]\ncmake gone\ncmake\n[tests]\nlibfmt-dev fmt\nlibpng-dev PNG\nlibgtest-dev GTest\n"},
                    "packages.txt: no CMake file finds gone, which stands beside cmake",
                    "packages.txt: cmake has two rows", "packages.txt: cmake has two rows",
                    "cmake/Dependencies.cmake requires fmt, whose package is in [tests] of packages.txt",
                    "tests/CMakeLists.txt finds NOT_THERE, which packages.txt names beside no package")

    def test_names_of_files_compiled_together(self):
        library = {"compiler/lower/CMakeLists.txt": "collage_library(lower)\n"}
        part = SPDX + "namespace collage::lower {\nnamespace {\n\nconstexpr int kMost = 3;\n\n}  // namespace\n}\n"
        files = {"compiler/lower/d.cpp": part, "compiler/lower/x/e.cpp": part}
        self.expect({**library, **files},
                    "compiler/lower/x/e.cpp: `kMost` is also a name in compiler/lower/d.cpp, and both may be compiled together")
        self.expect({"compiler/lower/CMakeLists.txt": 'collage_library(lower SINGLY "^x/")\n', **files})
        self.expect({"compiler/lower/CMakeLists.txt": 'collage_library(lower SINGLY "^y/")\n', **files},
                    "compiler/lower/x/e.cpp: `kMost` is also a name in compiler/lower/d.cpp, and both may be compiled together")

    def test_door(self):
        self.expect({"compiler/lower/d.cpp": SPDX + "#include <llvm/IR/Module.h>\n"},
                    "compiler/lower/d.cpp sees LLVM through <llvm/IR/Module.h>; it belongs in compiler/upper/llvm/")

    def test_door_through_own_header(self):
        self.expect({"compiler/upper/llvm/emit.h": SPDX + "#pragma once\n#include <llvm/IR/Module.h>\n",
                     "compiler/upper/d.cpp": SPDX + '#include "compiler/upper/llvm/emit.h"\n'},
                    "compiler/upper/d.cpp sees LLVM through compiler/upper/llvm/emit.h; it belongs in compiler/upper/llvm/")

    def test_guards(self):
        self.expect({"compiler/lower/d.h": "#include <vector>\n"}, "compiler/lower/d.h does not start with the SPDX line",
                    "compiler/lower/d.h has no include guard")

    def test_paths(self):
        self.expect({"compiler/lower/README.md": "[b](b.h) [c](c.h) `b.h` `lower/b.h` `gone.h` `rules/NAME.rules`\n\n    `example.h`\n"},
                    "compiler/lower/README.md: the link c.h leads nowhere", "compiler/lower/README.md: `gone.h` does not exist")

    def test_comments(self):
        self.expect({"compiler/lower/d.cpp": SPDX + "// As in b.h, lower/b.h and gone.h.\n"},
                    "compiler/lower/d.cpp:2: gone.h does not exist")

    def test_prose(self):
        path = "compiler/lower/d.cpp"
        begins = ': the comment begins with "Of"'
        for comment in ("// Of one.", "  /// Of one.", "int x = 0;  ///< Of one.", "/* Of one. */", "const char* s = \"// \\\"\";  // Of one.",
                        "// Of one.\n// Of it, more.\n"):
            self.expect({path: SPDX.strip() + "\nint a;\n" + comment + "\n"}, f"{path}:3{begins}")
        self.expect({path: SPDX + "\n// All of them.\n// Of the rest, none.\n// Often.\nconst char* s = \"// Of one.\";\n"})
        self.expect({path: SPDX + "// A.\n//\n// Of one.\n"}, f"{path}:4{begins}")
        self.expect({"tests/a.py": "# Of one.\n", "rules/a.rules": "rules 1  // Of one.\n", "docs/a.md": "# Of one\n"},
                    f"rules/a.rules:1{begins}", f"tests/a.py:1{begins}")

    def test_columns_of_comments(self):
        path = "compiler/lower/d.cpp"
        longest = "// " + "→" * 117
        self.expect({path: SPDX + f"{longest}\nconst char* s = \"{longest}\";\n"})
        for comment in (longest + "x", "int x;  " + longest, "/* a\n" + longest + "x */"):
            self.expect({path: f"{SPDX}\n{comment}\n"},
                        f"{path}:{3 + comment.count(chr(10))}: a comment line of {len(comment.splitlines()[-1])} columns, at most 120")

    def test_words_of_the_rule_language(self):
        words = {"compiler/README.md": README.replace("`beside/`", "`beside/`, `ir/`"),
                 "grammar/rules_keywords.def": SPDX + 'KEYWORD(RULE, "rule", Reserved)\nKEYWORD(INTO, "into", MayBeName)\n',
                 "compiler/ir/rules/functions.def":
                     SPDX + "FUNCTION(abs, abs, Number)\nFUNCTION(at, at, Number)\nFUNCTION(dim, dim, Number)\n"}
        keyword = "grammar/rules_keywords.def: no rule file of rules/ or examples/ uses the keyword `into`"
        function = "compiler/ir/rules/functions.def: no rule file of rules/ or examples/ uses the function `{}`"
        used = 'rule r { where abs(x) else "{dim(x, 1)}" where c.pads[0] into }'
        self.expect({**words, "rules/a.rules": used})
        self.expect({**words, "examples/deeper/a.rules": used.replace("into", "// into")}, keyword)
        self.expect({**words, "rules/a.rules": used.replace("into", '"into"').replace("{dim(x, 1)}", "dim(x, 1)")},
                    keyword, function.format("dim"))
        self.expect({**words, "rules/a.rules": "rule r { x.into into }"},
                    *[function.format(name) for name in ("abs", "at", "dim")])
        self.expect({**words, "tests/a.rules": used},
                    *[f"grammar/rules_keywords.def: no rule file of rules/ or examples/ uses the keyword `{name}`"
                      for name in ("into", "rule")], *[function.format(name) for name in ("abs", "at", "dim")])


if __name__ == "__main__":
    unittest.main()
