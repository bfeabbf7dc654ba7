# SPDX-License-Identifier: Apache-2.0
"""Interleaved rounds of processes, and the JSON that comes of them."""
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys


def run_rounds(contenders, rounds):
    """contenders: {name: callable -> number}. One unmeasured run of each, then `rounds` rounds, forwards and backwards
    in turn. Returns {name: [numbers]}; a contender that raises is left out from then on, and said so on stderr."""
    alive = dict(contenders)
    values = {name: [] for name in contenders}

    def attempt(name):
        try:
            return alive[name]()
        except Exception as error:  # noqa: BLE001: any failure of a peer must leave the others' results
            print(f"{name}: left out: {error}", file=sys.stderr)
            alive.pop(name, None)
            values[name].clear()
            return None

    for name in list(alive):
        attempt(name)
    for index in range(rounds):
        order = list(contenders) if index % 2 == 0 else list(reversed(contenders))
        for name in order:
            if name in alive:
                value = attempt(name)
                if value is not None:
                    values[name].append(value)
    return {name: seen for name, seen in values.items() if len(seen) == rounds}


def compare(values, ours, peers_and_goals):
    """Median of the per-round ratios ours : peer."""
    ratios = {}
    for peer, goal in peers_and_goals.items():
        if ours not in values or peer not in values:
            continue
        ratio = statistics.median(a / b for a, b in zip(values[ours], values[peer]))
        ratios[f"{ours} : {peer}"] = {"median": round(ratio, 4)}
        if goal is not None:
            ratios[f"{ours} : {peer}"] |= {"goal": goal, "met": ratio <= goal}
    return ratios


def row(name, unit, values, ratios):
    return {
        "name": name,
        "unit": unit,
        "median": {key: float(f"{statistics.median(seen):.5g}") for key, seen in values.items()},
        "ratios": ratios,
        "rounds": {key: [float(f"{value:.5g}") for value in seen] for key, seen in values.items()},
    }


def print_goals(rows):
    """Prints each missed goal, and how many are reached."""
    judged = [(f"{row['name']}: {name}", ratio) for row in rows for name, ratio in row["ratios"].items() if "goal" in ratio]
    for name, ratio in judged:
        if not ratio["met"]:
            print(f"missed: {name} is {ratio['median']:.4g}, goal {ratio['goal']}", file=sys.stderr)
    print(f"{sum(ratio['met'] for _, ratio in judged)} of {len(judged)} goals are reached", file=sys.stderr)


def machine():
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        gpu, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0].split(", ")
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError):
        gpu, driver = None, None
    cpu = platform.processor()
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        cpu = next((line.split(": ", 1)[1].strip() for line in info if line.startswith("model name")), cpu)
    return {"gpu": gpu, "driver": driver, "cpu": cpu, "cores": os.cpu_count()}


def write(path, benchmark, commit, rows, **more):
    document = {
        "schema": 1,
        "benchmark": benchmark,
        "commit": commit,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "machine": machine(),
        **more,
    }
    # A row is a line: readable as it is, and a new run shows as few changed lines.
    lines = [f"{json.dumps(name)}: {json.dumps(value)},\n" for name, value in document.items()]
    text = "{\n" + "".join(lines) + '"rows": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]}\n"
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text, end="")


class Worker:
    """A process that answers one line with one line of JSON: what is slow to set up stays set up."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process ended with status {self.process.wait()}")
        return json.loads(line)

    def ask(self, line):
        self.send(line)
        return self.answer()

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it ended before
        self.process.wait()
