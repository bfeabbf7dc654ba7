#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lines of nvcc that DeepGEMM (sgl-deep-gemm 0.2.5) writes for 9.0, with cubinet-nvcc and with NVIDIA's nvcc: names and
parameters of the kernels, seconds and bytes. Needs no GPU.

Usage: deep_gemm_lines.py --cubinet-nvcc FILE --tool FILE --wheel FOLDER [--nvcc FILE] [--wheels FOLDER] [--commit C] [-o FILE]
  --wheel FOLDER    sgl-deep-gemm 0.2.5, unpacked (scripts/corpus/fetch.py)
  --wheels FOLDER   wheels that replace the toolkit for cubinet-nvcc, as pip installs them with --target
  --nvcc FILE       /usr/local/cuda/bin/nvcc; '': without comparison
  --first           only the first kernel of each generator

The sources are the wheel's own: the formats in its `_C.so`, filled with the values of deep_gemm_kernels.json, and each has
the SHA-256 of what its host code wrote (scripts/record_deep_gemm). The run is refused if the formats of the wheel, the
kernels of its headers and the generators of deep_gemm_kernels.json are not the same, if a parameter lacks a value, or if a
boolean has one value and no reason is known. Exits with 1 if a line fails that nvcc compiles, or a kernel differs from
nvcc's."""
import argparse
import hashlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from rounds import row, write

KERNELS = pathlib.Path(__file__).with_name("deep_gemm_kernels.json")
OURS = ("sm90_", "smxx_")
OTHERS = ("sm100_", "sm120_")
# The host code requests one value alone on a device of 9.0.
ONE_VALUE = {
    "kIsContextLens2D": "the host code refuses lengths of one dimension",
    "kIsVarlen": "the host code refuses indices on 9.0",
    "kTransposed": "the header refuses scales that are not transposed",
}
BOUNDS = ("max_threads", "required_threads", "minimum_blocks", "cluster")


# ---- What the wheel can generate -----------------------------------------------------------------


def formats_of(library):
    """Returns the format of each source for 9.0 in the host code, by header and kernel."""
    found = {}
    for text in re.findall(rb"[\n -~]*__instantiate_kernel[\n -~]*", library):
        text = text.decode()
        headers = re.findall(r"#include <(deep_gemm/\S+)>", text)
        kernels = re.findall(r"&([\w:]+)<", text)
        name = pathlib.PurePath(headers[0]).name if len(headers) == 1 else ""
        if name.startswith(OTHERS):
            continue
        if len(kernels) != 1 or not name.startswith(OURS):
            raise SystemExit(f"a format is for an unknown target: {headers}, {kernels}")
        if found.setdefault((headers[0], kernels[0]), text) != text:
            raise SystemExit(f"two formats are for {kernels[0]} of {headers[0]}")
    return found


def kernels_of(include):
    """Returns the kernels that the headers for 9.0 define, by header and name without its namespace."""
    found = set()
    for header in sorted((include / "deep_gemm").rglob("*.cuh")):
        if header.name.startswith(OURS):
            text = re.sub(r"__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)", "", header.read_text(encoding="utf-8"))
            names = re.findall(r"(?:CUTLASS_GLOBAL|__global__)\s+void\s+(\w+)\s*\(", text)
            if len(names) != len(re.findall(r"^\s*(?:CUTLASS_GLOBAL|__global__)\b", text, re.MULTILINE)):
                raise SystemExit(f"{header} defines a kernel in an unknown form")
            found |= {(str(header.relative_to(include)), name) for name in names}
    return found


def check_complete(formats, include, generators):
    recorded = {(each["header"], each["kernel"]) for each in generators}
    if formats.keys() != recorded:
        raise SystemExit(f"formats and recorded generators differ: {sorted(formats.keys() ^ recorded)}")
    plain = {(header, kernel.split("::")[-1]) for header, kernel in recorded}
    if plain != kernels_of(include):
        raise SystemExit(f"formats and kernels of headers differ: {sorted(plain ^ kernels_of(include))}")
    for generator in generators:
        for index, (name, values) in enumerate(generator["values"].items()):
            chosen = {kernel["values"][index] for kernel in generator["kernels"]}
            if isinstance(values, list) and chosen != set(values):
                raise SystemExit(f"{generator['kernel']}: no kernel has {name} = {sorted(set(values) - chosen)}")
            if name.startswith("bool ") and len(values) == 1 and name.split()[1] not in ONE_VALUE:
                raise SystemExit(f"{generator['kernel']}: {name} is always {values[0]}, and nobody knows why")


def sources_of(formats, generator, first):
    """Returns the sources, checked to be those of the host code."""
    text = formats[generator["header"], generator["kernel"]]
    for kernel in generator["kernels"][:1] if first else generator["kernels"]:
        source = text.format(*kernel["values"])
        if hashlib.sha256(source.encode()).hexdigest() != kernel["sha256"]:
            raise SystemExit(f"the source of {generator['kernel']} is not what the host code wrote")
        yield source


# ---- One line ------------------------------------------------------------------------------------


class Compiler:
    def __init__(self, executable, line, include, environment):
        self.executable, self.line, self.include = executable, line, include
        self.environment = environment
        self.seconds = 0.0

    def compile(self, source):
        """Runs the line in a new folder, as DeepJIT does, and returns the cubin and what was printed."""
        with tempfile.TemporaryDirectory(prefix="deep-jit-") as folder:
            pathlib.Path(folder, "kernel.cu").write_text(source, encoding="utf-8")
            words = [word.replace("{folder}", folder).replace("{include}", str(self.include)) for word in self.line]
            begin = time.monotonic()
            made = subprocess.run(["/bin/sh", "-c", f"cd {folder} && {' '.join([str(self.executable), *words])} 2>&1"],
                                  capture_output=True, text=True, env=self.environment, check=False)
            self.seconds = time.monotonic() - begin
            cubin = pathlib.Path(folder, "kernel.cubin")
            return (cubin.read_bytes() if made.returncode == 0 else None), made.stdout


def plain_name(symbol):
    """Returns the demangled name. nvcc writes int64_t as long, NVRTC as long long."""
    name = subprocess.run(["c++filt", symbol], capture_output=True, text=True, check=True).stdout.strip()
    return name.replace("long long", "long")


class Inspector:
    def __init__(self, tool):
        self.tool = tool

    def kernels(self, image):
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(image)
            file.flush()
            made = subprocess.run([self.tool, "inspect", "--json", file.name], capture_output=True, text=True, check=True)
        return sorted(json.loads(made.stdout)["results"][0]["kernels"], key=lambda kernel: kernel["name"])

    def compare(self, image, other):
        """Returns what is equal in two images of one source."""
        mine, theirs = self.kernels(image), self.kernels(other)
        names = [[kernel["name"] for kernel in each] for each in (mine, theirs)]
        plain = names[0] == names[1] or [list(map(plain_name, each)) for each in names][0] == list(map(plain_name, names[1]))

        def equal(*members):
            return len(mine) == len(theirs) and all([kernel[member] for member in members] == [twin[member] for member in members]
                                                    for kernel, twin in zip(mine, theirs))
        return {"names": names[0] == names[1], "names but for int64_t": plain, "parameters": equal("argument_bytes", "arguments"),
                "launch bounds": equal(*BOUNDS), "static shared memory": equal("static_shared_bytes"), "one kernel": len(mine) == 1}


# ---- The run -------------------------------------------------------------------------------------


def environments(arguments, scratch):
    """Returns the environment of cubinet-nvcc, which finds no nvcc, and that of nvcc."""
    refuses = pathlib.Path(scratch, "no-nvcc")
    refuses.write_text("#!/bin/sh\necho 'a line was passed on'\nexit 99\n", encoding="utf-8")
    refuses.chmod(0o755)
    ours = {"PATH": "/usr/bin:/bin", "HOME": scratch, "CUBINET_HOME": str(pathlib.Path(scratch, "home")),
            "CUBINET_NVCC": str(refuses)}
    if arguments.wheels:
        ours |= {"CUBINET_CUDA_WHEELS": str(arguments.wheels), "CUDA_HOME": str(arguments.wheels / "nvidia/cu13")}
    return ours, {"PATH": os.environ["PATH"], "HOME": scratch}


def only_of(generator, refused):
    """Returns the number of kernels that nvcc refuses, too, and the values that no other kernel has."""
    kernels = [set(zip(generator["values"], kernel["values"])) for kernel in generator["kernels"]]
    compiled = set().union(*(each for number, each in enumerate(kernels) if number not in refused))
    only = set().union(*(kernels[number] for number in refused)) - compiled
    return {"kernels": len(refused), "values": [f"{name} = {value}" for name, value in sorted(only)]}


def replay(generator, formats, compilers, inspector, first):
    """Returns a row of the results page, and the failures."""
    values, equal, sizes, failures, refused = {}, [], {}, [], []
    for number, source in enumerate(sources_of(formats, generator, first)):
        images, seconds = {}, {}
        for name, compiler in compilers.items():
            images[name], printed = compiler.compile(source)
            seconds[name] = compiler.seconds
            if name == "nvcc" and images[name] is None:
                refused.append(number)
            elif (images[name] is None) != (number in refused):
                failures.append(f"{generator['kernel']} {number}, {name}: {printed.strip()[-600:] or 'nvcc refuses it'}")
        if None in images.values():
            continue
        for name, image in images.items():
            values.setdefault(name, []).append(seconds[name])
            sizes.setdefault(name, []).append(len(image))
        if images["cubinet"] != images["cubinet, hit"]:
            failures.append(f"{generator['kernel']} {number}: a hit gives another image")
        if "nvcc" in images:
            equal.append(inspector.compare(images["cubinet"], images["nvcc"]))
            wrong = [what for what, same in equal[-1].items() if not same and what != "names"]
            failures += [f"{generator['kernel']} {number}: {what}" for what in wrong]
        print(f"{generator['kernel']} {number}: " + ", ".join(f"{each:.1f}" for each in seconds.values()), file=sys.stderr,
              flush=True)
    counts = {what: sum(each[what] for each in equal) for what in (equal[0] if equal else {})}
    made = row(generator["kernel"], "s", values, {})
    made |= {"header": generator["header"], "requested": generator["requested"], "kernels": number + 1, "equal": counts,
             "refused": only_of(generator, refused),
             "bytes": {name: round(statistics.median(each)) for name, each in sizes.items()}}
    return made, failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cubinet-nvcc", required=True, type=pathlib.Path)
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    parser.add_argument("--wheel", required=True, type=pathlib.Path)
    parser.add_argument("--nvcc", default="/usr/local/cuda/bin/nvcc")
    parser.add_argument("--wheels", type=pathlib.Path)
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    document = json.loads(KERNELS.read_text(encoding="utf-8"))
    include = arguments.wheel.resolve() / "deep_gemm/include"
    formats = formats_of((arguments.wheel / "deep_gemm/_C.so").read_bytes())
    check_complete(formats, include, document["generators"])
    rows, failures = [], []
    with tempfile.TemporaryDirectory(prefix="deep-gemm-lines-") as scratch:
        ours, theirs = environments(arguments, scratch)
        cubinet = Compiler(arguments.cubinet_nvcc.resolve(), document["line"], include, ours)
        compilers = {"nvcc": Compiler(arguments.nvcc, document["line"], include, theirs)} if arguments.nvcc else {}
        compilers |= {"cubinet": cubinet, "cubinet, hit": cubinet}
        for generator in document["generators"]:
            made, failed = replay(generator, formats, compilers, Inspector(arguments.tool.resolve()), arguments.first)
            rows.append(made)
            failures += failed
            write(arguments.output, "deep_gemm_lines", arguments.commit, rows, package=document["package"], line=document["line"],
                  requested=sum(each["requested"] for each in rows), failures=failures)
        if failures:
            passed = subprocess.run([cubinet.executable, "--cubinet-passed"], capture_output=True, text=True, env=ours, check=False)
            failures += [f"passed on: {reason}" for reason in passed.stdout.splitlines()]
            write(arguments.output, "deep_gemm_lines", arguments.commit, rows, package=document["package"], failures=failures)
    print("\n".join(failures), file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
