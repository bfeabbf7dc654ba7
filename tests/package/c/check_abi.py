#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the ABI of cubinet.h with that of its first version, tests/package/c/first.

Usage: check_abi.py PREFIX LIBDIR SOURCE_ROOT BINARY_DIR CC

1. abidiff finds no change but added functions. It compares two small libraries, which define the functions of either
   header with full debug information. The header and the map are the stored ABI, so no compiler changes it.
2. Changes that break a client are found: a removed function, a widened structure, another type of an argument, a moved
   symbol version and another value of a constant.
3. A client that is compiled with the first header runs against the installed library.

Exits with 77 if abidiff (Debian's abigail-tools) is missing.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

prefix, libdir, root, binary_dir, cc = sys.argv[1:]
root, binary_dir, library_dir = Path(root), Path(binary_dir), Path(prefix) / libdir
first = root / "tests/package/c/first"
if shutil.which("abidiff") is None:
    print("abidiff is missing: install abigail-tools")
    sys.exit(77)
shutil.rmtree(binary_dir, ignore_errors=True)
binary_dir.mkdir(parents=True)


def run(*command, check=True):
    return subprocess.run([str(word) for word in command], check=check, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


def build(name, header, version_script):
    """Compiles a library with the functions of a header, which do nothing, and returns its path."""
    folder = binary_dir / name
    (folder / "cubinet").mkdir(parents=True)
    (folder / "cubinet/cubinet.h").write_text(header, encoding="utf-8")
    (folder / "cubinet.map").write_text(version_script, encoding="utf-8")
    declarations = re.findall(r"^CUBINET_EXPORT ([^;]+);", header, re.MULTILINE)
    definitions = "".join(f"{declaration} {{ __builtin_trap(); }}\n" for declaration in declarations)
    (folder / "functions.c").write_text(f"#include <cubinet/cubinet.h>\n{definitions}", encoding="utf-8")
    run(cc, "-std=c11", "-g", "-fPIC", "-shared", f"-I{folder}", folder / "functions.c", "-o", folder / "libcubinet.so",
        f"-Wl,-soname,libcubinet.so.1,--version-script={folder / 'cubinet.map'}")
    return folder / "libcubinet.so"


def constants(header):
    """Returns the enumerators and their values."""
    return re.findall(r"\b(CUBINET_[A-Z0-9_]+) = (-?\w+)", header)


def changes(name, header, version_script):
    """Returns what a client of the first header would notice; an empty text if nothing."""
    compared = run("abidiff", "--no-added-syms", oldest, build(name, header, version_script), check=False)
    if compared.returncode & 3:
        sys.exit(f"abidiff failed:\n{compared.stdout}")
    checks = binary_dir / name / "constants.c"
    checks.write_text("#include <cubinet/cubinet.h>\n" + "".join(
        f'_Static_assert({constant} == {value}, "{constant}");\n' for constant, value in constants(first_header)),
        encoding="utf-8")
    values = run(cc, "-std=c11", "-fsyntax-only", f"-I{binary_dir / name}", checks, check=False)
    return (compared.stdout if compared.returncode else "") + (values.stdout if values.returncode else "")


def expect_change(name, words, header=None, version_script=None):
    """Checks that a mutation of the first header or map is found, and that the report names it."""
    header, version_script = header or first_header, version_script or first_map
    if (header, version_script) == (first_header, first_map):
        sys.exit(f"the mutation '{name}' changes nothing")
    found = changes(name, header, version_script)
    if words not in found:
        sys.exit(f"the mutation '{name}' is not found; the report is:\n{found or 'empty'}")


def without_function(header, name):
    return re.sub(rf"^CUBINET_EXPORT [^;]*\b{name}\([^;]*;\n", "", header, flags=re.MULTILINE)


first_header = (first / "cubinet/cubinet.h").read_text(encoding="utf-8")
first_map = (first / "cubinet.map").read_text(encoding="utf-8")
oldest = build("first", first_header, first_map)

if found := changes("today", (root / "c_api/include/cubinet/cubinet.h").read_text(encoding="utf-8"),
                    (root / "c_api/cubinet.map").read_text(encoding="utf-8")):
    sys.exit(f"cubinet.h breaks clients of its first version:\n{found}\n"
             "Until that version is released, a change that is meant is copied to tests/package/c/first.")

expect_change("removed_function", "cubinet_kernel_forget", without_function(first_header, "cubinet_kernel_forget"),
              first_map.replace("    cubinet_kernel_forget;\n", ""))
expect_change("widened_structure", "cubinet_tensor",
              first_header.replace("} cubinet_tensor;", "  int64_t added;\n} cubinet_tensor;"))
expect_change("other_type", "cubinet_merge_run", first_header.replace("uint32_t tokens,", "uint64_t tokens,"))
expect_change("moved_version", "cubinet_abi_version", None, "CUBINET_0.9 {\n  global:\n    cubinet_abi_version;\n};\n" +
              first_map.replace("    cubinet_abi_version;\n", ""))
expect_change("other_constant", "CUBINET_BUSY", first_header.replace("CUBINET_BUSY = 9,", "CUBINET_BUSY = 19,"))

client = binary_dir / "client"
run(cc, "-std=c11", f"-I{first}", root / "tests/package/c/consumer.c", "-o", client, f"-L{library_dir}", "-lcubinet",
    f"-Wl,-rpath,{library_dir}")
run(client)
print(f"{len(constants(first_header))} constants and the functions of the first version are unchanged")
