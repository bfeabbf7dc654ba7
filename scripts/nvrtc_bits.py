#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the bits of kernels that several releases of NVRTC compiled (docs/arithmetic.md, Compilers).

usage: nvrtc_bits.py build [--tool TOOL] -o FOLDER NVRTC NVRTC...
       nvrtc_bits.py compare [--tool TOOL] [-o RESULTS.json] [--commit COMMIT] FOLDER

`build` needs no GPU. It compiles the kernels of bench/sweeps/nvrtc_bits.txt for sm_90a, in bf16 and
fp16, with invariant and with fast numerics, with each libnvrtc file into a bundle, and prints how
many kernels have other code than the first bundle's. `compare` needs a GPU of 9.0. It runs every
problem with the kernels of each bundle alone, without a compiler. Exits with 1 if the output or the
log-sum-exps of a problem with invariant numerics have other bits than those of the first bundle,
or if a problem cannot be run or is wrong. Problems with fast numerics are compared and counted.
TOOL is the cubinet executable; default: that of build/release, for `compare` of build/portable.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROBLEMS = ROOT / "bench/sweeps/nvrtc_bits.txt"
DEVICE = "9.0"
AT_A_TIME = 4  # most of a run's time is that of the reference in double precision


def all_problems(text):
    """The problems of the sweep in every type and numerics, in the options of `cubinet select attention`."""
    lines = [line.strip() for line in text.splitlines()]
    return [f"{line} --dtype-q {dtype} --numerics {numerics}" for line in lines if line and not line.startswith("#")
            for dtype in ("bf16", "fp16") for numerics in ("invariant", "fast")]


def environment():
    """Only the home and the bundle that a command names are searched."""
    return {name: value for name, value in os.environ.items() if not name.startswith("CUBINET_")}


def tool_json(tool, *arguments, **variables):
    """Returns the status and the JSON of a command."""
    try:
        done = subprocess.run([tool, *map(str, arguments), "--json"], env=environment() | variables,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        sys.exit(f"cannot run {tool}: {error.strerror}; build the tool, or name it with --tool")
    try:
        return done.returncode, json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"{tool} {shlex.join(map(str, arguments))} has status {done.returncode} and prints no JSON:\n"
                 f"{done.stdout}{done.stderr}")


def message_of(document):
    return document.get("error", {}).get("message", "the result is wrong")


def build(options):
    if len(options.nvrtc) < 2:
        sys.exit("one NVRTC has nothing to be compared with: give two or more")
    folder = pathlib.Path(options.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.exit(f"cannot make the folder '{folder}': {error.strerror}")
    problems = folder / "problems.txt"
    problems.write_text("\n".join(all_problems(PROBLEMS.read_text())) + "\n")
    bundles = []
    for number, nvrtc in enumerate(options.nvrtc):
        with tempfile.TemporaryDirectory() as home:
            common = ["--home", home, "--nvrtc", nvrtc]
            _, seen = tool_json(options.tool, "doctor", *common)
            if not seen.get("compiler"):
                sys.exit(f"{nvrtc}: {message_of(seen)}")
            release = re.match(r"NVRTC ([0-9.]+)", seen["compiler"]["identity"]).group(1)
            bundle = folder / f"{number}-nvrtc-{release}.bundle"
            status, built = tool_json(options.tool, "prebuild", *common, "-o", bundle, "--profile", "archive",
                                      "--channel", "nvrtc-bits", "--device", DEVICE, "--problems", problems)
        if status != 0:
            sys.exit(f"{nvrtc}: {built.get('unserved') or message_of(built)}")
        print(f"{bundle}: {len(built['results'])} kernels, {bundle.stat().st_size} bytes")
        bundles.append(bundle)
    for bundle in bundles[1:]:
        _, seen = tool_json(options.tool, "bundle", "diff", "--code", bundles[0], bundle)
        code = sum(any("code" in difference["parts"] for difference in kernel["differences"])
                   for kernel in seen["changed"])
        print(f"{bundle.name}: {code} of {len(seen['same']) + len(seen['changed'])} kernels have other instructions "
              f"than in {bundles[0].name}")
    return 0


def run(tool, bundle, problem):
    """Returns the outcome of a problem: its digests and its kernel, or an error."""
    words = shlex.split(problem)
    operation = "decode"
    if words[0] == "--op":
        operation, words = words[1], words[2:]
    with tempfile.TemporaryDirectory() as folder:
        none = pathlib.Path(folder, "none")
        none.touch()  # an empty file stands for no compiler
        status, seen = tool_json(tool, "run", operation, *words, "--lengths", "borders", "--lse", "--iterations", 1,
                                 "--backend", "templates", "--home", pathlib.Path(folder, "home"), "--nvrtc", none,
                                 "--bundle", bundle, CUBINET_COMPILE="never")
    if status != 0:
        return {"error": message_of(seen)}
    kernel = {name: seen[name] for name in ("template", "parameters", "splits")}
    return {"output": seen["output"], "kernel": kernel, "time": seen["seconds"]}


def judge(problem, outcomes):
    """Returns the row of a problem: whether all bundles gave the same bits, and the error, if any."""
    row = {"name": problem, "equal": False, "outcomes": outcomes}
    first = next(iter(outcomes.values()))
    for bundle, outcome in outcomes.items():
        if "error" in outcome:
            return row | {"error": f"{bundle}: {outcome['error']}"}
        if outcome["kernel"] != first["kernel"]:
            return row | {"error": f"{bundle}: another kernel than with the first bundle was chosen"}
    row["equal"] = all(outcome["output"] == first["output"] for outcome in outcomes.values())
    if not row["equal"] and "--numerics invariant" in problem:
        row["error"] = "the bits differ"
    return row


def compare(options):
    folder = pathlib.Path(options.folder)
    bundles = sorted(folder.glob("*.bundle"))
    if len(bundles) < 2:
        sys.exit(f"'{folder}' has fewer than two bundles: run `nvrtc_bits.py build` first")
    if len({hashlib.sha256(bundle.read_bytes()).digest() for bundle in bundles}) < len(bundles):
        sys.exit(f"two bundles of '{folder}' are equal: give `nvrtc_bits.py build` different releases of NVRTC")
    problems = (folder / "problems.txt").read_text().splitlines()
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        jobs = [{bundle.stem: pool.submit(run, options.tool, bundle, problem) for bundle in bundles}
                for problem in problems]
        rows = [judge(problem, {name: job.result() for name, job in each.items()})
                for problem, each in zip(problems, jobs)]
    for row in rows:
        if "error" in row:
            print(f"{row['name']}: {row['error']}")
    for numerics in ("invariant", "fast"):
        those = [row for row in rows if f"--numerics {numerics}" in row["name"]]
        equal = sum(row["equal"] for row in those)
        print(f"{numerics} numerics: {equal} of {len(those)} problems have equal bits with {len(bundles)} compilers")
    if options.output:
        document = {"schema": 1, "benchmark": "nvrtc_bits", "commit": options.commit, "rows": rows}
        pathlib.Path(options.output).write_text(json.dumps(document, indent=1) + "\n")
    return 1 if any("error" in row for row in rows) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("build", help="needs no GPU")
    verb.add_argument("--tool", default=str(ROOT / "build/release/cli/cubinet"))
    verb.add_argument("-o", "--output", required=True, metavar="FOLDER")
    verb.add_argument("nvrtc", nargs="+", metavar="NVRTC")
    verb.set_defaults(call=build)
    verb = verbs.add_parser("compare", help="needs a GPU of 9.0")
    verb.add_argument("--tool", default=str(ROOT / "build/portable/cli/cubinet"))
    verb.add_argument("-o", "--output", metavar="RESULTS.json")
    verb.add_argument("--commit", default="unknown")
    verb.add_argument("folder", metavar="FOLDER")
    verb.set_defaults(call=compare)
    options = parser.parse_args()
    return options.call(options)


if __name__ == "__main__":
    sys.exit(main())
