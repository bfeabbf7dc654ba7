#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the kernels that DeepGEMM's own host code requests on a device of 9.0, without a GPU.

Usage: record.py COUNT SEED OUTPUT

Run it with a Python that has sgl-deep-gemm 0.2.5, and PyTorch 2.15 with its libraries of CUDA. calls.py makes COUNT random
calls of each operation. The host code is the wheel's, unchanged; the driver and the runtime are those of device.c, and the
compiler is a script that keeps the line and the source. OUTPUT gets, for each generator of the host code, every value of
each template parameter that was requested, and as many kernels as have all values of parameters with few of them. The same
arguments give the same file."""
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FEW = 16
KEEPER = """#!/bin/sh
[ "$1" = --version ] && { echo "Cuda compilation tools, release 13.0, V13.0.88"; exit 0; }
kept=$(mktemp -d "$KEPT_LINES/line.XXXXXXXX")
cp "$1" "$kept/source"
printf '%s\\n' "$@" > "$kept/words"
while [ "$1" != --output-file ]; do shift; done
echo cubin > "$2"
"""


def folder_of(module):
    return pathlib.Path(importlib.util.find_spec(module).origin).parent


def imported_functions(files):
    """Returns the functions of CUDA that these libraries import, or find by name."""
    names = set()
    for file in files:
        symbols = subprocess.run(["nm", "-D", "--undefined-only", file], capture_output=True, text=True, check=True).stdout
        names |= {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
        names |= {word.decode() for word in re.findall(rb"\0(cu[A-Z][A-Za-z0-9_]{4,60})(?=\0)", file.read_bytes())}
    return {name for name in names if re.match(r"cuda[A-Z]|cublasLt|cu[A-Z]", name)}


def build_device(folder, files):
    """Builds the library that stands for the driver and, preloaded, for the runtime."""
    source = HERE / "device.c"
    own = set(re.findall(r"^[a-z][\w *]*\b(cu\w+)\(", source.read_text(), re.MULTILINE))
    others = sorted(imported_functions(files) - own)
    (folder / "imported.h").write_text("".join(f"SUCCEEDS({name})\n" for name in others))
    toolkit = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    library = folder / "libcuda.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", f"-I{folder}", f"-I{toolkit / 'include'}",
                    "-Wl,-soname,libcuda.so.1", "-o", library, source], check=True)
    return library


def run_host(folder, device, count, seed):
    """Makes the calls. Returns their report and the folders of the lines."""
    keeper = folder / "nvcc"
    keeper.write_text(KEEPER)
    keeper.chmod(0o755)
    lines = folder / "lines"
    lines.mkdir()
    environment = dict(os.environ, LD_PRELOAD=str(device), DG_JIT_NVCC_COMPILER=str(keeper), KEPT_LINES=str(lines),
                       DG_JIT_CACHE_DIR=str(folder / "cache"), CUDA_HOME=os.environ.get("CUDA_HOME", "/usr/local/cuda"),
                       LD_LIBRARY_PATH=f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}")
    made = subprocess.run([sys.executable, HERE / "calls.py", count, seed], env=environment, capture_output=True, text=True,
                          check=False)
    if made.returncode != 0:
        sys.exit(f"calls.py ended with {made.returncode}: {made.stderr[-2000:]}")
    return json.loads(made.stdout), sorted(lines.iterdir())


def parameters_of(header, kernel):
    """Returns the names of a kernel's template parameters, with their types."""
    text = re.sub(r"//[^\n]*", "", header.read_text())
    before = text[:re.search(rf"\b{kernel}\s*\(", text).start()]
    listed = re.search(r"template\s*<(.*?)>\s*(?:CUTLASS_GLOBAL|__)", before[before.rindex("template"):], re.DOTALL)
    return [" ".join(part.split("=")[0].split()) for part in listed[1].split(",")]


def line_of(kept, include):
    """Returns the line of nvcc, without its folders."""
    words = (kept / "words").read_text().splitlines()
    folder = os.path.dirname(words[0])
    return [word.replace(folder, "{folder}").replace(str(include), "{include}") for word in words]


def kernels_of(sources, include):
    """Groups the sources by generator: the header and the kernel."""
    generators = {}
    for source in sorted(sources):
        header = re.search(r"#include <(.*)>", source)[1]
        kernel, values = re.search(r"&([\w:]+)<(.*)>\)", source, re.DOTALL).groups()
        generators.setdefault((header, kernel), []).append((tuple(part.strip() for part in values.split(",")), source))
    for (header, kernel), made in sorted(generators.items()):
        names = parameters_of(include / header, kernel.split("::")[-1])[:len(made[0][0])]
        yield header, kernel, names, made


def few_values(names, made):
    """Returns the values of each parameter, or their number if there are many."""
    seen = [sorted({values[index] for values, _ in made}, key=lambda text: (len(text), text)) for index in range(len(names))]
    return {name: values if len(values) <= FEW else len(values) for name, values in zip(names, seen)}


def covering(names, made):
    """Chooses kernels, one after the other, that have most values that are still missing."""
    values = few_values(names, made)
    missing = {(index, value) for index, name in enumerate(names) if isinstance(values[name], list) for value in values[name]}
    chosen = []
    while missing or not chosen:
        best = max(made, key=lambda each: len(missing & set(enumerate(each[0]))))
        missing -= set(enumerate(best[0]))
        chosen.append(best)
    return chosen


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    torch, include = folder_of("torch") / "lib", folder_of("deep_gemm") / "include"
    libraries = [torch / f"lib{name}.so" for name in ("c10_cuda", "torch_cuda", "torch_cuda_linalg", "torch_python")]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        device = build_device(folder, [*libraries, folder_of("deep_gemm") / "_C.so"])
        report, lines = run_host(folder, device, *sys.argv[1:3])
        written = {json.dumps(line_of(line, include)) for line in lines}
        sources = {(line / "source").read_text() for line in lines}
    if len(written) != 1:
        sys.exit(f"the host code wrote {len(written)} different lines: {written}")
    generators = [{"header": header, "kernel": kernel, "requested": len(made), "values": few_values(names, made),
                   "kernels": [{"values": list(values), "sha256": hashlib.sha256(source.encode()).hexdigest()}
                               for values, source in covering(names, made)]}
                  for header, kernel, names, made in kernels_of(sources, include)]
    document = {"package": f"sgl-deep-gemm {importlib.metadata.version('sgl-deep-gemm')}",
                "torch": importlib.metadata.version("torch"), "count": int(sys.argv[1]), "seed": int(sys.argv[2]),
                "line": json.loads(written.pop()), "calls": report, "generators": generators}
    text = json.dumps(document, indent=1)
    # One line for the values of one kernel or parameter.
    text = re.sub(r"\[\n\s+([^][{}]*?)\n\s+\]", lambda found: "[" + " ".join(found[1].split("\n")).replace("  ", "") + "]", text)
    pathlib.Path(sys.argv[3]).write_text(text + "\n")
    print(f"{len(sources)} kernels of {len(generators)} generators, {sum(len(each['kernels']) for each in generators)} chosen")


if __name__ == "__main__":
    main()
