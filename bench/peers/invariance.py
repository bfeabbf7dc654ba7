#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which implementations of attention keep the bits of a row, and at what price: `cubinet bench invariance` beside FA3 and
FlashInfer, if this Python has them, as they choose splits of KV and with the splits that engines fix for equal bits.
Prints the shares of equal rows and each missed goal on stderr, and writes JSON with --output."""
import argparse
import os
import sys
import tempfile

from attention_table import peers_of, run_tool
from rounds import compare, print_goals, row, write

PEERS = {"FA3": ("flash_attn_interface", "fa3_paged"), "FA3 with one split": ("flash_attn_interface", "fa3_paged_one_split"),
         "FlashInfer": ("flashinfer", "flashinfer_paged"),
         "FlashInfer with fixed splits": ("flashinfer", "flashinfer_paged_fixed_splits")}
OURS = "cubinet, invariant"
GOALS = {"whole prompt": 1.06, "last chunk": 1.06, "decode step": 1.15}  # of the time of fast numerics


def name_of(subject):
    return f"cubinet, {subject}" if subject in ("invariant", "fast") else subject


def bits_row(case, subject):
    """The share of the rows of each stage that have the bits of the whole prompt."""
    shares = {stage["stage"]: stage["equal"] / stage["rows"] for stage in subject["stages"]}
    name = name_of(subject["name"])
    for stage, share in shares.items():
        print(f"{name:26} {stage:26} {share:7.1%} of the rows have the bits of the whole prompt", file=sys.stderr)
    if "error" in subject:
        print(f"{name}: left out: {subject['error']['message']}", file=sys.stderr)
    return {"name": f"rows with equal bits, {name}{case}", "unit": "share", "median": shares, "ratios": {}}


def times_row(case, times):
    values = {OURS: times["rounds"]["invariant"], "cubinet, fast": times["rounds"]["fast"],
              **{peer["name"]: peer["rounds"] for peer in times.get("peers", []) if "rounds" in peer}}
    values = {name: [seconds * 1e6 for seconds in seen] for name, seen in values.items()}
    goal = next((goal for stage, goal in GOALS.items() if times["stage"].startswith(stage)), None)
    peers = {name: goal if name == "cubinet, fast" else None for name in values if name != OURS}
    return row(times["stage"] + case, "us", values, compare(values, OURS, peers))


def rows_of(result, untagged):
    """The rows of a problem, whose names end with its tag or, if it has none, with `untagged`."""
    case = f" ({result['case_tag'] or untagged})" if result["case_tag"] or untagged else ""
    rows = [bits_row(case, subject) for subject in result["implementations"]]
    return [row for row in rows if row["median"]] + [times_row(case, times) for times in result["times"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True, help="the executable cubinet")
    parser.add_argument("--sweep", help="a file of problems, as for `cubinet bench attention`; default: the tool's problem")
    parser.add_argument("--peers", help=f"only these of {','.join(PEERS)}")
    parser.add_argument("--alone", action="store_true", help="without peers")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        peers = peers_of(options, PEERS)
        arguments = ["--iterations", str(options.rounds), *peers, *(["--peer-inputs", folder] if peers else []),
                     *(["--sweep", options.sweep] if options.sweep else [])]
        document, status = run_tool(options, arguments, "invariance")
    rows = []
    results = document.get("results", [document])
    for number, result in enumerate(results, 1):
        if "error" in result:
            print(result["error"]["message"], file=sys.stderr)
        if "implementations" in result:
            rows += rows_of(result, f"problem {number}" if len(results) > 1 else "")
    write(options.output, "invariance", options.commit, rows)
    print_goals(rows)
    return status


if __name__ == "__main__":
    sys.exit(main())
