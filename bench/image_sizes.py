#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sizes, registers and stacks of the templates' kernels over targets, into bench/results/images.json. Takes the tool."""
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100f", "sm_103f", "sm_120f"]
DIMS = [64, 128, 256]
MATRIX = {"kernels": [
    {"template": "attention_decode", "parameters": {"head_dim_qk": dim, "head_dim_v": dim, "stages": [2, 3]}, "targets": TARGETS}
    for dim in DIMS] + [{"template": "rms_norm", "parameters": {"hidden_size": 8192}, "targets": TARGETS}]}


def cpu():
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next(line.split(": ")[1] for line in lines if line.startswith("model name"))


def main():
    tool = sys.argv[1]

    def run(*words):
        return json.loads(subprocess.run([tool, *words, "--json"], check=True, stdout=subprocess.PIPE).stdout)

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "matrix.json").write_text(json.dumps(MATRIX), encoding="utf-8")
        home = ("--home", str(place / "home"))
        # Not every device has the shared memory of three stages.
        built = run("prebuild", str(place / "matrix.json"), "-o", str(place / "all.bundle"), "--skip-refused", *home)
        for kernel in built["results"]:
            report = run("inspect", kernel["key"], *home)["results"][0]
            rows.append({"template": kernel["template"], "parameters": kernel["parameters"], "target": kernel["target"],
                         "bytes": kernel["bytes"],
                         "kernels": [{name: each[name] for name in ("name", "registers", "stack_bytes")}
                                     for each in report["kernels"]]})
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    document = {"benchmark": "images", "commit": commit.stdout.strip(),
                "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "machine": {"cores": os.cpu_count(), "cpu": cpu(), "gpu": None}, "schema": 1}
    lines = ",\n".join(json.dumps(row, separators=(",", ":"), sort_keys=True) for row in rows)
    head = ",\n".join(f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}" for name, value in document.items())
    (ROOT / "bench" / "results" / "images.json").write_text("{\n" + head + ',\n"rows": [\n' + lines + "\n]}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
