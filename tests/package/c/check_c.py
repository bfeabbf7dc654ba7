#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the installed C library.

Usage: check_c.py PREFIX LIBDIR SOURCE_ROOT BINARY_DIR CC CXX CUDA_ROOT

1. The library exports the functions of cubinet.h, each with its version, and nothing else.
2. cubinet.h compiles alone, as C11 with -pedantic and as C++11, without a warning.
3. A C program builds with what pkg-config says, and runs.
4. A C program whose threads compile returns from main, and neither crashes nor hangs.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

prefix, libdir, root, binary_dir, cc, cxx, cuda_root = sys.argv[1:]
library = Path(prefix) / libdir / "libcubinet.so"
header = Path(prefix) / "include/cubinet/cubinet.h"
binary_dir = Path(binary_dir)
shutil.rmtree(binary_dir, ignore_errors=True)
binary_dir.mkdir(parents=True)


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, **options)


def exported():
    lines = run("nm", "--dynamic", "--defined-only", str(library), stdout=subprocess.PIPE).stdout.splitlines()
    symbols = [line.split() for line in lines]
    # The version node itself is an absolute symbol.
    return {symbol[-1] for symbol in symbols if symbol[1] != "A"}


declared = re.findall(r"^CUBINET_EXPORT [^;]*?\b(cubinet_\w+)\(", header.read_text(encoding="utf-8"), re.MULTILINE)
versions = {}
node = None
for line in (Path(root) / "c_api/cubinet.map").read_text(encoding="utf-8").splitlines():
    if found := re.match(r"(CUBINET_[\w.]+) \{", line):
        node = found.group(1)
    elif found := re.match(r"\s+(\w*cubinet_\w+);", line):
        versions[found.group(1)] = node
expected = {f"{name}@@{version}" for name, version in versions.items()}
versions = {name: version for name, version in versions.items() if not name.startswith("__tvm_ffi_")}
if set(declared) != set(versions):
    sys.exit(f"cubinet.h and cubinet.map differ: {sorted(set(declared) ^ set(versions))}")
if (first := list(versions.values()).count("CUBINET_1.0")) > 50:
    sys.exit(f"cubinet.h has {first} functions of its first version; the limit is 50")
if exported() != expected:
    sys.exit(f"the library exports other symbols than cubinet.map: {sorted(exported() ^ expected)}")

for compiler, language, standard in ((cc, "c", "c11"), (cxx, "c++", "c++11")):
    run(compiler, "-x", language, f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
        str(header))

environment = os.environ | {"PKG_CONFIG_PATH": str(Path(prefix) / libdir / "pkgconfig")}
flags = run("pkg-config", "--cflags", "--libs", "cubinet", stdout=subprocess.PIPE, env=environment).stdout.split()
consumer = binary_dir / "consumer"
run(cc, "-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", str(Path(root) / "tests/package/c/consumer.c"), "-o",
    str(consumer), *flags, f"-Wl,-rpath,{Path(prefix) / libdir}")
run(str(consumer), cuda_root)

leaver = binary_dir / "exit_while_compiling"
run(cc, "-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-pthread",
    str(Path(root) / "tests/package/c/exit_while_compiling.c"), "-o", str(leaver), *flags,
    f"-Wl,-rpath,{Path(prefix) / libdir}")
# Not before a kernel is compiled: an exit while NVRTC is being loaded may crash
# (docs/decisions/nvrtc_copies.md).
for compiled in range(1, 13):
    run(str(leaver), cuda_root, str(compiled))
print(f"{len(declared)} functions")
