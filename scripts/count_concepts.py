#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what somebody who reads or uses the library has to know, so that two commits can be compared.

Usage: count_concepts.py [ROOT]

  public headers       files under <module>/include/: what is installed
  public types         distinct names of classes, structs, unions and enumerations that a public C++ header (.hpp) defines
                       at namespace scope: 166 at commit 945b6ce
  nested and aliases   types that are defined inside others, and aliases, in the same headers: 33 at that commit
  modules, arrows      the lines of cmake/modules.txt, and the modules that they name behind the first bar
  preprocessed lines   of `#include <cubinet/runtime.hpp>`, as $CXX (g++) -std=c++20 -E -P gives them
  lines                of a module's sources and headers, CUDA sources included, tests and CMake not
"""
import os
import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from check_layout import CODE, read_modules, strip_comments  # noqa: E402

TYPE = re.compile(r"^( *)(?:enum (?:class|struct)|class|struct|union|enum)\s+(?:\[\[\w+\]\]\s+|alignas\(\w+\)\s*)*(\w+)"
                  r"(?:<[^>{;]*>)?(?:\s+final)?\s*(?::(?!:)[^;{]*)?\{", re.MULTILINE)
ALIAS = re.compile(r"^ *using\s+\w+\s*=", re.MULTILINE)


def public_types(headers):
    """The names at namespace scope, and how many types and aliases there are beside them."""
    names, others = set(), 0
    for header in headers:
        code = strip_comments(header.read_text(encoding="utf-8"))
        for indent, name in TYPE.findall(code):
            if indent:
                others += 1
            else:
                names.add(name)
        others += len(ALIAS.findall(code))
    return names, others


def preprocessed_lines(root, modules):
    roots = [f"-I{root / module / 'include'}" for module in modules]
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-E", "-P", *roots, "-x", "c++", "-"]
    done = subprocess.run(command, input="#include <cubinet/runtime.hpp>\n", capture_output=True, text=True, check=True)
    return len(done.stdout.splitlines())


def count(root):
    modules = read_modules(root)
    headers = [path for module in modules for path in sorted((root / module / "include").rglob("*")) if path.is_file()]
    names, others = public_types(path for path in headers if path.suffix == ".hpp")
    figures = {"public headers": len(headers), "public types": len(names), "nested and aliases": others,
               "modules": len(modules), "arrows": sum(len(included) for included, _ in modules.values())}
    if any(path.name == "runtime.hpp" for path in headers):
        figures["preprocessed lines"] = preprocessed_lines(root, modules)
    for module in modules:
        sources = (path for path in (root / module).rglob("*") if path.suffix in CODE)
        figures[f"lines of {module}"] = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in sources)
    figures["lines"] = sum(number for what, number in figures.items() if what.startswith("lines of"))
    return figures


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    for what, number in count(root).items():
        print(f"{what:24} {number:7}")


if __name__ == "__main__":
    main()
