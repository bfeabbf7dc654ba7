#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention beside the peers that this Python has: `cubinet bench attention` over files of cases, whose goals it judges,
written as the other results are."""
import argparse
import importlib.util
import json
import os
import shlex
import subprocess
import sys
import tempfile

from rounds import write

PEERS = {"FlashInfer": ("flashinfer", "flashinfer"), "FlashMLA": ("flash_mla", "flash_mla"), "cuDNN": ("torch", "cudnn"),
         "FA3": ("flash_attn_interface", "fa3")}


def short(value):
    """Five digits of what was measured; sizes stay exact."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, list):
        return [short(item) for item in value]
    if isinstance(value, dict):
        return {name: short(item) for name, item in value.items()}
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True, help="the executable cubinet")
    parser.add_argument("--bench", help=argparse.SUPPRESS)  # the other scripts' executable
    parser.add_argument("--sweep", action="append", required=True, help="a file of cases; may be repeated")
    parser.add_argument("--errors", action="store_true", help="what each computes of the same inputs is compared, too")
    parser.add_argument("--alone", action="store_true", help="without peers")
    parser.add_argument("--name", default="attention_table", help="of the result")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    options = parser.parse_args()
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "attention_peer.py")
    command = [options.tool, "--json", "bench", "attention", "--iterations", str(options.rounds)]
    for name, (module, peer) in PEERS.items():
        if not options.alone and importlib.util.find_spec(module) is not None:
            command += ["--peer", f"{name}={shlex.join([sys.executable, script, peer])}"]
    rows, status = [], 0
    for sweep in options.sweep:
        with tempfile.TemporaryDirectory() as folder:
            more = ["--peer-inputs", folder] if options.errors else []
            ran = subprocess.run([*command, "--sweep", sweep, *more], stdout=subprocess.PIPE, text=True, check=False)
        document = json.loads(ran.stdout)
        if "results" not in document:
            print(document, file=sys.stderr)
            return 1
        status = max(status, ran.returncode)
        rows += [short(row) for row in document["results"]]
        # As far as it has come: a file of cases may take minutes.
        write(options.output, options.name, options.commit, rows)
    goals = [goal for row in rows for goal in row.get("goals", [])]
    for row in rows:
        for goal in row.get("goals", []):
            if not goal["met"]:
                reached = "nothing" if goal["reached"] is None else f"{goal['reached']:.4g}"
                print(f"missed: {row['case_tag']}: {goal['goal']}, reached {reached}", file=sys.stderr)
    print(f"{sum(goal['met'] for goal in goals)} of {len(goals)} goals are reached", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
