#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs PROGRAM, which links the runtime alone, and checks what it loads (ldd) and what it holds (nm).

    check_links.py NM PROGRAM [ARGUMENT…]
"""
import re
import subprocess
import sys

LIBRARIES = re.compile(r"lib(LLVM|protobuf|onnx|fl\b|sqlite)", re.IGNORECASE)
SYMBOLS = re.compile(r"\b(llvm|google::protobuf|onnx|collage::(syntax|sema|ir|import|place|codegen|plan|match|driver))::|\byy(lex|parse)|Lexer\b|bison")


def lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")


def main():
    nm, program, *arguments = sys.argv[1:]
    print(*lines(program, *arguments))
    loaded = [line.split()[0] for line in lines("ldd", program) if line.strip()]
    symbols = lines(nm, "--demangle", "--defined-only", program)
    print(f"{len(symbols)} symbols; loads", *loaded)
    if not any("collage::runtime::" in symbol for symbol in symbols):
        sys.exit("no symbol of the runtime: was the program stripped?")
    wrong = [name for name in loaded if LIBRARIES.search(name)] + [symbol for symbol in symbols if SYMBOLS.search(symbol)]
    if wrong:
        sys.exit("\n".join(["this does not belong to the runtime:", *wrong[:20]]))


main()
