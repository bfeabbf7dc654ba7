#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that executables run on another Linux: the newest glibc symbol they need, and the libraries they name.

Usage: check_portable.py --glibc 2.34 FILE...
"""
import argparse
import re
import subprocess
import sys

# glibc's own parts, and the unwinder that is installed with every glibc.
ALLOWED_LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2",
                     "libgcc_s.so.1", "ld-linux-aarch64.so.1"}


def readelf(option, path):
    run = subprocess.run(["readelf", "--wide", option, path], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{path}: {run.stderr.strip()}")
    return run.stdout


def version(text):
    return tuple(int(part) for part in text.split("."))


def problems(path, floor):
    needed = set(re.findall(r"\(NEEDED\).*\[(.*?)\]", readelf("--dynamic", path)))
    for library in sorted(needed - ALLOWED_LIBRARIES):
        yield f"{path}: needs {library}, which another Linux may not have"
    versions = set(re.findall(r"\bGLIBC_([0-9]+(?:\.[0-9]+)+)\b", readelf("--version-info", path)))
    if not versions:
        yield f"{path}: names no glibc version at all, so it is not what was to be checked"
        return
    highest = max(versions, key=version)
    print(f"{path}: needs glibc {highest}, libraries {' '.join(sorted(needed))}")
    if version(highest) > version(floor):
        yield f"{path}: needs glibc {highest}, above the stated floor {floor}"
    if ".symtab" in readelf("--sections", path):
        yield f"{path}: is not stripped"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--glibc", required=True, help="the stated floor")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    found = [problem for path in arguments.files for problem in problems(path, arguments.glibc)]
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
