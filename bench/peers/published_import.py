#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The import of the published package flashinfer-cubin 0.6.13: its counts beside the known ones, damage in a copy of a
part, and its time beside `sha256sum -c`. Run by scripts/import_published.sh."""
import argparse
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

from rounds import compare, row, run_rounds, write

KINDS = ("missing", "extra", "damaged", "conflicts", "ignored")
# The counts of the published package. The targets are those that attention rows state.
PACKAGE = {
    "folders": 7, "rows": 13452, "plain": 2518, "cubins": 15970, "specifications": 11560,
    "targets": {"sm_100f": 11248, "sm_103a": 1892, "sm_100a": 312},
    "elf_targets": {"sm_100f": 11248 + 1988 + 93 + 317, "sm_103a": 1892 + 60, "sm_100a": 312, "sm_100?": 60},
    "missing": 0, "extra": 0, "damaged": 0, "conflicts": 0, "ignored": 960, "unchecked_names": 0,
}
FOLDERS = {
    "trtllm-gen": {"rows": 13452, "cubins": 13452, "elf_targets": PACKAGE["targets"], "ignored": 0},
    "batched_gemm": {"plain": 2108, "cubins": 2108, "elf_targets": {"sm_100f": 1988, "sm_100?": 60, "sm_103a": 60}},
    "/gemm": {"plain": 93, "cubins": 93, "elf_targets": {"sm_100f": 93}},
    "deep-gemm": {"plain": 317, "cubins": 317, "elf_targets": {"sm_100f": 317}},
    "cute-dsl": {"rows": 0, "cubins": 0, "ignored": 320},
}
DEVICES = {
    "9.0": (0, 0, 0), "10.0": (11560, 312, 11248), "10.3": (11512, 1892, 9620), "12.0": (0, 0, 0),
}
PART = 300  # rows of the copy that is damaged


class Checks:
    def __init__(self):
        self.failed = 0

    def equal(self, what, found, expected):
        self.failed += found != expected
        print(f"{'ok  ' if found == expected else 'FAIL'} {what}: {found}"
              + ("" if found == expected else f", expected {expected}"))


def value(document, name):
    return document[name]["count"] if name in KINDS else document[name]


class Tool:
    def __init__(self, path, home):
        self.path, self.home = path, home

    def run(self, *arguments, status=(0,)):
        done = subprocess.run([self.path, *map(str, arguments), "--home", str(self.home), "--json"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode not in status:
            raise RuntimeError(f"cubinet {arguments[0]} ended with {done.returncode}: {done.stdout} {done.stderr[-2000:]}")
        return json.loads(done.stdout)


def check_package(tool, folder, checks):
    document = tool.run("import-artifacts", folder)
    for name, expected in PACKAGE.items():
        checks.equal(name, value(document, name), expected)
    for part, counts in FOLDERS.items():
        for one in document["imports"]:
            if part in one["folder"]:
                for name, expected in counts.items():
                    checks.equal(f"{pathlib.Path(one['folder']).name} {name}", value(one, name), expected)
    print(f"     {document['seconds']:.2f} s")
    for device, (usable, specific, family) in DEVICES.items():
        stats = tool.run("registry", "stats", "--device", device)
        checks.equal(f"usable on {device}", stats["usable"], usable)
        checks.equal(f"by target on {device}", stats["by_target"],
                     {"specific": specific, "family": family, "baseline": 0})


def copy_part(source, part):
    """The first rows of each target, with their cubins, a header and a list of their own. Returns their functions."""
    header = (source / "include/flashInferMetaInfo.h").read_text(encoding="utf-8").splitlines(keepends=True)
    rows = [line for line in header if line.startswith("{ DATA_TYPE")]
    kept = []
    for target in ("kSM_100f,", "kSM_103,", "kSM_100,"):
        kept += [line for line in rows if f" {target}" in line][:PART // 3]
    (part / "include").mkdir(parents=True)
    wanted = set(kept)
    text = "".join(line for line in header if not line.startswith("{ DATA_TYPE") or line in wanted)
    (part / "include/flashInferMetaInfo.h").write_text(text, encoding="utf-8")
    functions = [re.search(r'"(fmha\w+)"', line).group(1) for line in kept]
    for function in functions:
        shutil.copy(source / f"{function}.cubin", part)
    return functions


def write_list(part):
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(part)}\n"
             for path in sorted(part.rglob("*")) if path.is_file() and path.name != "checksums.txt"]
    (part / "checksums.txt").write_text("".join(lines), encoding="utf-8")


def check_damage(tool, source, work, checks):
    part = work / "part"
    functions = copy_part(source, part)
    write_list(part)
    document = tool.run("import-artifacts", part)
    checks.equal("sound part: rows", document["rows"], len(functions))

    flipped, missing, one, other, forged = (f"{functions[i]}.cubin" for i in (3, 120, 40, 41, 250))
    # The row's target first, so that the list, which names the header too, is true of it.
    header = part / "include/flashInferMetaInfo.h"
    lines = header.read_text(encoding="utf-8").splitlines(keepends=True)
    name = forged.removesuffix(".cubin")
    lines = [line.replace("kSM_100,", "kSM_103,") if f'"{name}"' in line else line for line in lines]
    header.write_text("".join(lines), encoding="utf-8")
    write_list(part)
    content = bytearray((part / flipped).read_bytes())
    content[len(content) // 2] ^= 0x10
    (part / flipped).write_bytes(content)
    (part / missing).unlink()
    (part / one).rename(part / "swap")
    (part / other).rename(part / one)
    (part / "swap").rename(part / other)

    document = tool.run("import-artifacts", part, status=(1,))
    for kind, names in {"damaged": {flipped, one, other}, "missing": {missing}, "conflicts": {forged},
                        "extra": set(), "ignored": set()}.items():
        checks.equal(f"damaged part: {kind}", (document[kind]["count"], sorted(document[kind]["first"])),
                     (len(names), sorted(names)))
        for detail in document[kind]["details"]:
            print(f"       {detail['name']}: {detail['reason']}")
    checks.equal("damaged part: rows", document["rows"], len(functions) - 5)


def check_times(tool_path, source, work, rounds):
    def fresh(*more, keep=False):
        home = work / "timed"
        if not keep:
            shutil.rmtree(home, ignore_errors=True)
        start = time.perf_counter()
        Tool(tool_path, home).run("import-artifacts", source, *more)
        return time.perf_counter() - start

    def sha256sum():
        start = time.perf_counter()
        subprocess.run(["sha256sum", "-c", "--quiet", "checksums.txt"], cwd=source, check=True)
        return time.perf_counter() - start

    def first():
        return fresh()

    def second():
        fresh()
        return fresh(keep=True)

    def again():
        return fresh("--verify", keep=True)

    names = {"sha256sum -c": sha256sum, "first import": first, "second import": second, "second import, --verify": again}
    values = run_rounds(names, rounds)
    ratios = {}
    for name, goal in (("first import", 0.4), ("second import", 0.1), ("second import, --verify", None)):
        ratios |= compare(values, name, {"sha256sum -c": goal})
    return row("fmha/trtllm-gen, 13452 cubins, 1.65 GB, files in the page cache", "s", values, ratios)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()

    checks = Checks()
    source = next(arguments.folder.glob("*/fmha/trtllm-gen"))
    tool = Tool(arguments.tool, arguments.work / "home")
    check_package(tool, arguments.folder, checks)
    check_damage(tool, source, arguments.work, checks)
    timed = check_times(arguments.tool, source, arguments.work, arguments.rounds)
    for name, ratio in timed["ratios"].items():
        if "goal" in ratio:
            checks.equal(f"{name} = {ratio['median']}, at most {ratio['goal']}", ratio["met"], True)
    write(arguments.output, "import", arguments.commit, [timed])
    print(f"{checks.failed} failed" if checks.failed else "all as expected")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
