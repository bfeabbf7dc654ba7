#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the corpus for sm_90a with bare NVRTC and with cubinet, and says where they differ (docs/corpus.md).

usage: run.py FOLDER --cubinet TOOL [--toolkit /usr/local/cuda] [--only TEXT] [--jobs N] [--result FILE]

--result compiles each item also with a toolkit without nvJitLink, so that unused variables stay, and writes sizes, and
times if there is one job, with and without, for bench/tables.py.
"""
import argparse
import collections
import concurrent.futures
import ctypes
import hashlib
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

from machine_code import Cubin, same_code

TARGET = "sm_90a"
# The flags that are tried in this order until bare NVRTC compiles the source: those of the package
# itself, then those that its users know.
STANDARD = ("CCCL's headers in the place of the C++ library's",)
MORE_FLAGS = ((), ("--device-as-default-execution-space",), STANDARD)
SECONDS = 400


class Nvrtc:
    def __init__(self, toolkit):
        found = sorted((toolkit / "lib64").glob("libnvrtc.so.1[23]"))
        if not found:
            sys.exit(f"no libnvrtc.so.12 or .13 in {toolkit / 'lib64'}")
        self.library = ctypes.CDLL(str(found[-1]))

    def _text(self, program, size_of, content_of):
        size = ctypes.c_size_t()
        getattr(self.library, size_of)(program, ctypes.byref(size))
        content = ctypes.create_string_buffer(size.value)
        getattr(self.library, content_of)(program, content)
        return content.raw

    def compile(self, source, name, names, flags):
        """(cubin or None, log)"""
        program = ctypes.c_void_p()
        if self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0, None, None):
            return None, "no program"
        for expression in names:
            self.library.nvrtcAddNameExpression(program, expression.encode())
        options = (ctypes.c_char_p * len(flags))(*[flag.encode() for flag in flags])
        result = self.library.nvrtcCompileProgram(program, len(flags), options)
        log = self._text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").rstrip(b"\0").decode(errors="replace")
        if result:
            return None, log or f"NVRTC error {result}"
        return self._text(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN"), log


class NvJitLink:
    def __init__(self, toolkit):
        self.library = ctypes.CDLL(str(toolkit / "lib64/libnvJitLink.so.13"))

    def _call(self, name, *arguments):
        return getattr(self.library, f"__nvJitLink{name}_13_0")(*arguments)

    def link(self, cubin, files):
        """The cubin, or None."""
        handle = ctypes.c_void_p()
        options = (ctypes.c_char_p * 1)(f"-arch={TARGET}".encode())
        any_input = 10
        failed = self._call("Create", ctypes.byref(handle), 1, options)
        failed = failed or self._call("AddData", handle, any_input, cubin, ctypes.c_size_t(len(cubin)), b"program")
        for file in files:
            failed = failed or self._call("AddFile", handle, any_input, str(file).encode())
        failed = failed or self._call("Complete", handle)
        if failed:
            return None
        size = ctypes.c_size_t()
        self._call("GetLinkedCubinSize", handle, ctypes.byref(size))
        linked = ctypes.create_string_buffer(size.value)
        self._call("GetLinkedCubin", handle, linked)
        return linked.raw


def bare(item, toolkit, output):
    """In a process of its own: it may crash."""
    cccl = toolkit / "include/cccl"
    include = item["include"] + [str(toolkit / "include"), str(cccl)]
    nvrtc = Nvrtc(toolkit)
    first_log = None
    for more in MORE_FLAGS:
        if any(flag in item["flags"] for flag in more):
            continue
        if first_log and more == STANDARD:
            if "cannot open source file" not in first_log and "could not open" not in first_log:
                continue
            include.append(str(cccl / "cuda/std"))
        flags = item["flags"] + [flag for flag in more if more != STANDARD]
        cubin, log = nvrtc.compile(item["source"], item["name"] + ".cu", item["names"],
                                   [f"--gpu-architecture={TARGET}", *flags, "--no-cache"] + [f"-I{path}" for path in include])
        if cubin is not None and item.get("libraries"):
            files = [toolkit / "lib64" / f"lib{library}.a" for library in item["libraries"]]
            cubin, log = NvJitLink(toolkit).link(cubin, files), "nvJitLink does not link it"
        if cubin is not None:
            output.write_bytes(cubin)
            return {"flags": flags}
        first_log = first_log if first_log is not None else log
    return {"log": first_log}


def reason_of(log):
    """Why bare NVRTC does not compile it: one of a closed list."""
    for mark, reason in (("could not open source file", "a header that NVRTC has not: a host's"),
                         ("cannot open source file", "a header that NVRTC has not: a host's"),
                         ("texture", "texture references, which CUDA 12 removed"),
                         ("surface", "texture references, which CUDA 12 removed"),
                         ("#error", "its own #error for NVRTC or this target"),
                         ("cudaDeviceSynchronize", "dynamic parallelism as it was before CUDA 12"),
                         ("SYNTAX ERROR", "wrong on purpose"),
                         ("is undefined", "names that nvcc's own headers declare, or nothing does"),
                         ("name expression", "its name expressions are of another version")):
        if mark in log:
            return reason
    return "not CUDA C++ of this version"


def ask_bare(path, toolkit, cubin):
    """Kept from run to run: it takes most of the time."""
    kept = cubin.with_suffix(".json")
    digest = hashlib.sha256(path.read_bytes() + repr(MORE_FLAGS).encode()).hexdigest()
    if kept.exists() and (known := json.loads(kept.read_text()))["digest"] == digest:
        return known
    try:
        made = subprocess.run([sys.executable, __file__, "--bare", str(path), str(toolkit), str(cubin)],
                              capture_output=True, text=True, timeout=SECONDS)
        answer = json.loads(made.stdout) if made.returncode == 0 else {"log": f"NVRTC ended with {made.returncode}"}
    except subprocess.TimeoutExpired:
        return {"log": f"NVRTC took more than {SECONDS} s"}
    if made.returncode >= 0:
        kept.write_text(json.dumps(answer | {"digest": digest}))
    return answer


def without_linker(command):
    """Returns the command that runs this one in a mount namespace without nvJitLink. Needs unshare."""
    hide = """for library in $(ls /usr/local/cuda*/lib64/libnvJitLink.so* /usr/local/cuda*/lib/libnvJitLink.so*;
                 ldconfig -p | sed -n 's/.*=> //p' | grep libnvJitLink); do
                 [ ! -s "$library" ] || mount --bind /dev/null "$(readlink -f "$library")" || exit 90
               done 2>/dev/null
               exec "$@" """
    return ["unshare", "--mount", "--map-root-user", "sh", "-c", hide, "sh", *command]


def compile_item(command, toolkit):
    """Returns what cubinet printed, whether it compiled, the seconds and those of all cores."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    try:
        made = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS,
                              env={"CUDA_HOME": str(toolkit), "PATH": "/usr/bin:/bin"})
        printed, compiled = made.stderr + made.stdout, made.returncode == 0
    except subprocess.TimeoutExpired:
        printed, compiled = "timeout", False
    seconds = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cores = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return printed, compiled, round(seconds, 3), round(cores, 3)


def compile_before(command, item, cubin, arguments):
    """Returns the members of a row for the image with unused variables. What is linked with a library needs nvJitLink, which
    removes nothing from it."""
    home = command.index("--home") + 1
    elsewhere = [*command[:home], command[home] + "-before", *command[home + 1:]]
    if not item.get("libraries"):
        elsewhere = without_linker(elsewhere)
    _, compiled, seconds, cores = compile_item(elsewhere, arguments.toolkit)
    return {"bytes_before": cubin.stat().st_size, "seconds_before": seconds, "cores_before": cores} if compiled else {}


def run_item(path, arguments, folder):
    item = json.loads(path.read_text())
    row = {"name": item["name"], "project": item["project"], "part": item["part"], "file": item["file"], "line": item["line"]}
    if "reason" in item:
        return row | {"outcome": "no request", "reason": item["reason"]}
    bare_cubin = folder / (item["name"] + ".bare.cubin")
    answer = ask_bare(path, arguments.toolkit, bare_cubin)
    flags = answer.get("flags", item["flags"])
    if "log" in answer:
        row |= {"outcome": "bare fails", "reason": reason_of(answer["log"]), "log": answer["log"][:2000]}
    elif b".nv.info." not in bare_cubin.read_bytes():
        reason = "templates of which none is named" if "template" in item["source"] else "device functions alone: a part to be linked"
        return row | {"outcome": "no kernel", "reason": reason}
    source = folder / (item["name"] + ".cu")
    source.write_text(item["source"])
    cubin = folder / (item["name"] + ".cubin")
    cubin.unlink(missing_ok=True)
    command = [str(arguments.cubinet), "compile", "--source", str(source), "--target", TARGET, "-o", str(cubin),
               "--home", str(folder / "home")]
    for word, values in (("--name", item["names"]), ("-I", item["include"]), ("--library", item.get("libraries", []))):
        command += [part for value in values for part in (word, value)]
    command += ["--flag=" + flag for flag in flags]
    if arguments.result:
        row |= compile_before(command, item, cubin, arguments)
        cubin.unlink(missing_ok=True)
    told, compiled, row["seconds"], row["cores"] = compile_item(command, arguments.toolkit)
    if compiled:
        image = cubin.read_bytes()
        row |= {"bytes": len(image), "variables": Cubin(image).variables}
    if "outcome" in row:
        return row | {"beyond": compiled, "cubinet_log": "" if compiled else told[:2000]}
    if not compiled:
        return row | {"outcome": "cubinet fails", "log": told[:4000]}
    bare_image = bare_cubin.read_bytes()
    return row | {"outcome": "both", "bare_bytes": len(bare_image), "same_code": same_code(bare_image, image)}


def table(rows):
    lines = ["| | items | bare NVRTC | of these cubinet | same code | cubinet alone |",
             "|---|---:|---:|---:|---:|---:|"]
    groups = {}
    for row in rows:
        groups.setdefault((row["project"], row["part"]), []).append(row)
    for (project, part), group in [*groups.items(), (("all", ""), rows)]:
        count = collections.Counter(row["outcome"] for row in group)
        same = sum(row.get("same_code", False) for row in group)
        beyond = sum(row.get("beyond", False) for row in group)
        lines.append(f"| {project} {part} | {len(group)} | {count['both'] + count['cubinet fails']} | {count['both']} | "
                     f"{same} | {beyond} |")
    reasons = collections.Counter(row["reason"] for row in rows
                                  if row["outcome"] in ("no request", "no kernel", "bare fails") and not row.get("beyond"))
    lines += ["", "| what neither compiles | items |", "|---|---:|"]
    lines += [f"| {reason} | {number} |" for reason, number in reasons.most_common()]
    return "\n".join(lines)


def sizes(rows, timed):
    """For each part of the corpus: the images that got smaller, and sizes and times of all."""
    groups = {}
    for row in rows:
        if "bytes" in row and "bytes_before" in row:
            groups.setdefault(f"{row['project']} {row['part']}", []).append(row)
    images = [row for group in groups.values() for row in group]
    smaller = [row for row in images if row["bytes"] < row["bytes_before"]]
    both = [row for row in images if row["outcome"] == "both"]
    result = {"compared": len(both), "same_code": sum(row["same_code"] for row in both), "rows": []}
    for name, group in [*groups.items(), ("all", images), ("smaller ones", smaller)]:
        total = {"name": name, "items": len(group), "smaller": sum(row["bytes"] < row["bytes_before"] for row in group)}
        for member in ("bytes", *(("seconds", "cores") if timed else ())):
            for each in (f"{member}_before", member):
                total[each] = round(sum(row[each] for row in group), 1)
        result["rows"].append(total)
    return result


def main():
    if sys.argv[1:2] == ["--bare"]:
        item = json.loads(pathlib.Path(sys.argv[2]).read_text())
        print(json.dumps(bare(item, pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--cubinet", type=pathlib.Path, required=True)
    parser.add_argument("--toolkit", type=pathlib.Path, default=pathlib.Path("/usr/local/cuda"))
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--result", type=pathlib.Path)
    arguments = parser.parse_args()
    items = [path for path in sorted((arguments.folder / "items").glob("*.json")) if arguments.only in path.name]
    output = arguments.folder.resolve() / "output"
    output.mkdir(exist_ok=True)
    for home in ("home", "home-before"):
        shutil.rmtree(output / home, ignore_errors=True)  # everything is compiled
    if arguments.result:
        doctor = subprocess.run(without_linker([arguments.cubinet, "doctor"]), capture_output=True, text=True, check=False)
        if "NVRTC" not in doctor.stdout or re.search(r"^linker +nvJitLink", doctor.stdout, re.MULTILINE):
            sys.exit(f"cannot hide nvJitLink: {doctor.stderr}")
    rows = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(lambda path: run_item(path, arguments, output), items):
            rows.append(row)
            if row["outcome"] == "cubinet fails" or row.get("same_code") is False:
                print(row["name"], row["outcome"], row.get("log", "other code").splitlines()[0], flush=True)
    if not arguments.only:
        (arguments.folder / "report.json").write_text(json.dumps(rows, indent=1))
    else:
        print(json.dumps(rows, indent=1))
    print(table(rows))
    if arguments.result:
        result = sizes(rows, arguments.jobs == 1)
        arguments.result.write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(any(row["outcome"] == "cubinet fails" for row in rows))


if __name__ == "__main__":
    main()
