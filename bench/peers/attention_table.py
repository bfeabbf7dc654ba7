#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention beside the peers that this Python has: `cubinet bench attention` over files of cases, whose goals it judges,
or over a sample of serving problems, written as the other results are. Prints each missed goal."""
import argparse
import importlib.util
import json
import os
import secrets
import shlex
import subprocess
import sys
import tempfile
import time

from rounds import write
from sample_judge import print_sample, sample_summary

PEERS = {"FlashInfer": ("flashinfer", "flashinfer"), "XQA": ("flashinfer", "xqa"), "FlashMLA": ("flash_mla", "flash_mla"),
         "cuDNN": ("torch", "cudnn"), "FA3": ("flash_attn_interface", "fa3")}
CHUNK = 30  # cases of a sample in one process: what a crash may cost


def short(value):
    """Five digits of what was measured; sizes stay exact."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, list):
        return [short(item) for item in value]
    if isinstance(value, dict):
        return {name: short(item) for name, item in value.items()}
    return value


def peers_of(options, peers=None):
    """Returns the options of the peers that are wanted and installed; names the others."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "attention_peer.py")
    arguments = []
    for name, (module, peer) in (peers or PEERS).items():
        if options.alone or (options.peers is not None and name.lower() not in options.peers.lower().split(",")):
            continue
        if importlib.util.find_spec(module) is None:
            print(f"{name}: left out, python3 has no {module}", file=sys.stderr)
            continue
        arguments += ["--peer", f"{name}={shlex.join([sys.executable, script, peer])}"]
    return arguments


def run_tool(options, arguments, verb="attention"):
    """Returns the document that a verb of `cubinet bench` prints, and its status."""
    ran = subprocess.run([options.tool, "--json", "bench", verb, *arguments], stdout=subprocess.PIPE, text=True,
                         check=False)
    try:
        return json.loads(ran.stdout), ran.returncode
    except ValueError:
        return {"error": {"message": f"the tool ended with status {ran.returncode} and without a result"}}, 1


def measure(options, sweep, peers, folder):
    more = ["--peer-inputs", folder] if options.errors else []
    document, status = run_tool(options, ["--iterations", str(options.rounds), *peers, "--sweep", sweep, *more])
    if "results" not in document:
        print(document["error"]["message"], file=sys.stderr)
    return [short(row) for row in document.get("results", [])], status


def resumed_rows(options):
    """Returns the rows of an earlier result, and takes its seed."""
    if options.resume is None:
        return []
    with open(options.resume, encoding="utf-8") as file:
        document = json.load(file)
    options.seed = document["sample"]["seed"]
    return document["rows"]


def chunks_of_sample(options, folder, known):
    """Yields files with the cases of the sample that have no row yet, until the time is up."""
    document, _ = run_tool(options, ["--sample", str(options.sample), "--seed", str(options.seed), "--list"])
    if "sample" not in document:
        raise SystemExit(document["error"]["message"])
    done = {row["case_tag"] for row in known}
    lines = [line for line in document["sample"] if line.split()[1] not in done]
    begin = last = time.monotonic()
    for first in range(0, len(lines), CHUNK):
        now = time.monotonic()
        if first > 0 and now - begin + (now - last) > options.seconds:
            print(f"the time is up after {first} of {len(lines)} cases; --resume measures the others", file=sys.stderr)
            return
        last = now
        path = os.path.join(folder, "sample.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines[first:first + CHUNK])
        yield path


def print_goals(rows):
    goals = [goal for row in rows for goal in row.get("goals", [])]
    for row in rows:
        for goal in row.get("goals", []):
            if not goal["met"]:
                reached = "nothing" if goal["reached"] is None else f"{goal['reached']:.4g}"
                print(f"missed: {row['case_tag']}: {goal['goal']}, reached {reached}", file=sys.stderr)
    print(f"{sum(goal['met'] for goal in goals)} of {len(goals)} goals are reached", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True, help="the executable cubinet")
    parser.add_argument("--bench", help=argparse.SUPPRESS)  # the other scripts' executable
    cases = parser.add_mutually_exclusive_group(required=True)
    cases.add_argument("--sweep", action="append", help="a file of cases; may be repeated")
    cases.add_argument("--sample", type=int, metavar="N", help="N problems as servers have them")
    parser.add_argument("--seed", type=int, help="of the sample; default: another one each time")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end the sample after about so many")
    parser.add_argument("--resume", metavar="FILE", help="an earlier result of the sample, whose rows are kept")
    parser.add_argument("--errors", action="store_true", help="what each computes of the same inputs is compared, too")
    parser.add_argument("--peers", help=f"only these of {','.join(PEERS)}")
    parser.add_argument("--alone", action="store_true", help="without peers")
    parser.add_argument("--name", help="of the result; default: attention_table or attention_sample")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = secrets.randbelow(10**6)
    name = options.name or ("attention_sample" if options.sample else "attention_table")
    peers = peers_of(options)
    rows, status = resumed_rows(options), 0
    with tempfile.TemporaryDirectory() as folder:
        for sweep in chunks_of_sample(options, folder, rows) if options.sample else options.sweep:
            measured, ended = measure(options, sweep, peers, folder)
            rows += measured
            status = max(status, ended)
            # As far as it has come: a file of cases may take minutes.
            summary = {"sample": sample_summary(options.sample, options.seed, rows)} if options.sample else {}
            write(options.output, name, options.commit, rows, **summary)
    if options.sample:
        print_sample(sample_summary(options.sample, options.seed, rows), rows)
    else:
        print_goals(rows)
    return status


if __name__ == "__main__":
    sys.exit(main())
