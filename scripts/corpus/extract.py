#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes an item of each kernel of the corpus from the packages that fetch.py unpacked (docs/corpus.md).

An item is a JSON file: what a user of NVRTC would hand to it, or the reason why there is no such request.

usage: extract.py FOLDER
"""
import json
import pathlib
import re
import sys

from kernel_strings import holds, read_modules

HEADERS = pathlib.Path(__file__).with_name("headers.json")
# Name expressions that a test computes from its parameters, so that only running it would reveal
# them.
NAMES = json.loads(pathlib.Path(__file__).with_name("names.json").read_text())
PROJECTS = {
    # CuPy adds these to every RawModule and RawKernel (assemble_cupy_compiler_options,
    # compile_using_nvrtc).
    "cupy": {"include": ["cupy/_core/include/cupy/_cccl/cub", "cupy/_core/include/cupy/_cccl/thrust",
                         "cupy/_core/include/cupy/_cccl/libcudacxx", "cupy/_core/include"],
             "flags": ["--std=c++17", "-ftz=true", "--device-as-default-execution-space"]},
    # PyCUDA runs nvcc, also with C++17, with the folder of its own headers.
    "pycuda": {"include": ["pycuda/cuda"], "flags": ["--std=c++17"]},
    "numba-cuda": {"include": ["numba_cuda/numba/cuda", "numba_cuda/numba/cuda/tests/data/include",
                               "numba_cuda/numba/cuda/tests/doc_examples/ffi/include"],
                   "flags": ["--std=c++17"]},
}


def root_of(sources, project):
    inside = [path for path in (sources / project).iterdir() if path.is_dir()]
    sdist = len(inside) == 1 and not inside[0].name.endswith(".dist-info")
    return inside[0] if sdist and project in ("cupy", "pycuda", "flashinfer-python") else sources / project


def is_kernel(text):
    """Not the word alone, in a message or in a call of replace()."""
    return "{" in text and len(text) > 30 and "{fname}" not in text


def filled_in_later(text):
    return re.search(r"\$\w|\$\{|%\(|%[sdi]\b|\{\{|\{\w+\}", re.sub(r"\{\s+\}|printf\([^;]*", "", text))


def request_of(project, text, used):
    """The request of the first use, with every name that another use of the same source asks for."""
    first = used[0] if used else {"code": text}
    names, flags = [], list(PROJECTS[project]["flags"])
    for use in used:
        if use["code"] == first["code"]:
            expressions = use.get("name_expressions")
            names += [name for name in expressions or [] if isinstance(name, str) and name not in names]
    given = first.get("options")
    for flag in given if isinstance(given, list) and all(isinstance(flag, str) for flag in given) else []:
        if "std=" in flag:
            flags = [kept for kept in flags if "std=" not in kept]
        flags.append(flag)
    source = first["code"]
    if project == "pycuda" and not first.get("no_extern_c") and 'extern "C"' not in source.split("{")[0]:
        source = 'extern "C" {\n%s\n}\n' % source
    made = {"source": source, "names": names, "flags": flags, "include": PROJECTS[project]["include"]}
    # Both link kernels that launch kernels with the device runtime.
    if first.get("maker") == "DynamicSourceModule":
        flags.append("-rdc=true")
    if "-dc" in flags or "-rdc=true" in flags:
        made["libraries"] = ["cudadevrt"]
    return made


def strings_of(project, root, folder):
    modules = read_modules(root / folder, root)
    requests = {path: module.requests for path, module in modules.items()}
    for path, module in modules.items():
        strings = sorted(module.kernel_strings())
        whole = {text for _, text in strings}
        for line, text in strings:
            if not is_kernel(text):
                continue
            used = [use for use in requests[path] if use["code"] == text]
            used = used or [use for use in requests[path] if use["code"] not in whole and holds(use["code"], text)]
            if not used:
                used = [use for uses in requests.values() for use in uses if text in use["code"]]
            item = {"project": project, "part": folder, "file": str(path.relative_to(root)), "line": line}
            if not used and filled_in_later(text):
                item["reason"] = "filled in when the program runs"
            else:
                item.update(request_of(project, text, used))
                item["names"] = NAMES.get(f"{item['file']}:{line}", item["names"])
            yield item


def files_of(project, root):
    for path in sorted(root.rglob("*.cu")):
        yield {"project": project, "part": ".cu", "file": str(path.relative_to(root)), "line": 1,
               "source": path.read_text(), "names": [], "flags": PROJECTS[project]["flags"],
               "include": [str(path.parent.relative_to(root))] + PROJECTS[project]["include"]}


def instantiations():
    for item in json.loads(HEADERS.read_text()):
        includes = "".join(f"#include <{header}>\n" for header in item["headers"])
        yield {"project": item["project"], "part": "headers", "file": item["headers"][-1], "line": 1,
               "source": includes + item.get("text", ""), "names": item["names"], "flags": item["flags"],
               "include": item["include"]}


def main(folder):
    sources, items = folder / "sources", folder / "items"
    items.mkdir(parents=True, exist_ok=True)
    for old in items.glob("*.json"):
        old.unlink()
    found = []
    for project, parts in (("cupy", ("tests", "cupyx")), ("pycuda", ("examples", "test"))):
        for part in parts:
            found += strings_of(project, root_of(sources, project), part)
    found += files_of("numba-cuda", root_of(sources, "numba-cuda"))
    found += instantiations()
    for item in found:
        stem = pathlib.Path(item["file"]).stem.lstrip("_")
        name = re.sub(r"\W+", "_", f"{item['project']}-{item['part'].strip('.')}-{stem}-{item['line']}")
        while (items / (name + ".json")).exists():
            name += "_b"
        root = root_of(sources, item["project"])
        item["include"] = [str(root / path) for path in item.get("include", [])]
        (items / (name + ".json")).write_text(json.dumps({"name": name, **item}, indent=1))
    print(f"{len(found)} items in {items}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]).resolve())
