#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DeepGEMM (sgl-deep-gemm, unmodified) with cubinet-nvcc and with NVIDIA's nvcc as its compiler: seconds and compilations
until a process has launched five operations, with an empty home, a warm home and a signed bundle; eight such processes
at once; the error of each operation against float32; and the time of DeepGEMM's own launches of ten shapes, in two
processes by turns. With cubinet-nvcc no process can run another nvcc."""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from rounds import Worker, compare, row, run_rounds, write

GOAL = 1.0204  # of nvcc's time: 0.98 of its speed
PROCESSES = 8
CALLS = 20


# ---- A process that runs DeepGEMM ----------------------------------------------------------------


def time_shape(torch, problem):
    """Returns a function that returns microseconds of one launch: a graph of CALLS launches that read the copies of the
    weights in turn."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        problem.launch()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for call in range(CALLS):
                problem.launch(call % len(problem.weights))
        graph.replay()
    torch.cuda.synchronize()

    def measure():
        times = []
        for _ in range(5):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) * 1e3 / CALLS)
        return statistics.median(times)

    return measure


def serve():
    """Answers lines: `prepare` makes the operations, `first` runs them, `check` returns their errors, `compile NAME` launches
    a shape once, `shape NAME` sets one up, and `time` times it."""
    import torch

    import deep_gemm_problems as problems

    # Only answers reach the pipe: DeepGEMM prints to stdout.
    pipe = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.manual_seed(0)
    operations, measure = {}, None
    print(json.dumps("ready"), file=pipe, flush=True)
    for line in sys.stdin:
        word, _, name = line.strip().partition(" ")
        answer = "done"
        if word == "prepare":
            operations = {key: make() for key, (_, make) in problems.OPERATIONS.items()}
            torch.cuda.synchronize()
        elif word == "first":
            start = time.perf_counter()
            for problem in operations.values():
                problem.launch()
            torch.cuda.synchronize()
            answer = time.perf_counter() - start
        elif word == "check":
            answer = {key: problem.check() for key, problem in operations.items()}
        elif word == "compile":
            problems.shape(name, 1).launch()
            torch.cuda.synchronize()
        elif word == "shape":
            measure = None
            torch.cuda.empty_cache()
            measure = time_shape(torch, problems.shape(name))
        elif word == "time":
            answer = measure()
        print(json.dumps(answer), file=pipe, flush=True)


# ---- The processes with one compiler -------------------------------------------------------------


class Compiler:
    """The environment of processes whose DeepGEMM calls one compiler, and how often it compiled."""

    def __init__(self, scratch, compiler, **variables):
        self.cache = tempfile.mkdtemp(dir=scratch)
        self.env = dict(os.environ, DG_JIT_NVCC_COMPILER=str(compiler), DG_JIT_CACHE_DIR=self.cache,
                        CUDA_CACHE_DISABLE="1", **variables)

    def start(self, processes=1):
        workers = [Worker([sys.executable, os.path.abspath(__file__), "--serve"], self.env) for _ in range(processes)]
        for worker in workers:
            worker.answer()  # it is ready
        return workers


class Setting:
    def __init__(self, options):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="cubinet-deep-gemm-"))
        self.options = options
        self.calls = self.scratch / "calls"
        self.nvcc = self.script("nvcc", f'case "$*" in *-cubin*) echo nvcc >> {self.calls};; esac\nexec {options.nvcc} "$@"')
        self.no_nvcc = self.script("no-nvcc", f'echo passed >> {self.calls}\nexit 99')
        self.warm = None
        self.bundle = None

    def script(self, name, text):
        path = self.scratch / name
        path.write_text("#!/bin/sh\n" + text + "\n")
        path.chmod(0o755)
        return path

    def with_nvcc(self):
        return Compiler(self.scratch, self.nvcc)

    def with_cubinet(self, home=None, **variables):
        home = home or tempfile.mkdtemp(dir=self.scratch)
        path = ":".join(each for each in os.environ["PATH"].split(":") if not os.path.exists(os.path.join(each, "nvcc")))
        compiler = Compiler(self.scratch, self.options.cubinet_nvcc, CUBINET_HOME=str(home), CUBINET_NVCC=str(self.no_nvcc),
                            PATH=path, **variables)
        compiler.home = home
        return compiler

    def with_bundle(self):
        home = tempfile.mkdtemp(dir=self.scratch)
        public = pathlib.Path(f"{self.scratch}/key.pub").read_text(encoding="utf-8").splitlines()[-1]
        policy = {"stores": [{"place": str(self.bundle), "trusted_keys": [public]}], "default": {}}
        pathlib.Path(home, "policy.json").write_text(json.dumps(policy), encoding="utf-8")
        return self.with_cubinet(home, CUBINET_NVCC_BUNDLES=str(self.bundle), CUBINET_COMPILE="never")

    def tool(self, *words):
        done = subprocess.run([self.options.tool, *map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"cubinet {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def make_bundle(self, home):
        self.bundle = self.scratch / "kernels.bundle"
        self.tool("bundle", "create", "--home", home, "-o", self.bundle, "--template", "kernel")
        self.tool("trust", "keygen", self.scratch / "key")
        self.tool("bundle", "sign", self.bundle, "--key", self.scratch / "key")

    def nvcc_calls(self):
        calls = self.calls.read_text(encoding="utf-8").splitlines() if self.calls.exists() else []
        self.calls.unlink(missing_ok=True)
        return calls

    def builds(self, home):
        return len(json.loads(self.tool("registry", "list", "--home", home, "--json"))["entries"])


# ---- The measurements ----------------------------------------------------------------------------


def first_seconds(compiler, processes, errors=None):
    """Starts the processes, lets all run the operations at once, and returns the seconds of the slowest."""
    workers = compiler.start(processes)

    def ask_all(word):
        for worker in workers:
            worker.send(word)
        return [worker.answer() for worker in workers]

    ask_all("prepare")
    seconds = max(ask_all("first"))
    if errors is not None:
        errors.update(workers[0].ask("check"))
    for worker in workers:
        worker.close()
    return seconds


def measure_start(setting, processes, errors):
    """Returns the row of a number of processes. `errors` receives those of nvcc and of cubinet from each of its sources."""
    compilations = {}

    def run(name, make, kept=lambda home: None):
        compiler = make()
        before = setting.builds(compiler.home) if hasattr(compiler, "home") else 0
        setting.nvcc_calls()
        seconds = first_seconds(compiler, processes, errors.setdefault(name, {}))
        calls = setting.nvcc_calls()
        if hasattr(compiler, "home"):
            if calls:
                raise RuntimeError(f"{name}: {len(calls)} lines went to nvcc")
            compilations[name] = setting.builds(compiler.home) - before
            kept(compiler.home)
        else:
            compilations[name] = len(calls)
        print(f"{processes} processes, {name}: {seconds:.2f} s, {compilations[name]} compilations", file=sys.stderr, flush=True)
        return seconds

    def keep(home):
        setting.warm = home
        if setting.bundle is None:
            setting.make_bundle(home)

    rounds = setting.options.rounds if processes == 1 else 1
    warm = {"cubinet, warm home": lambda: setting.with_cubinet(setting.warm), "cubinet, signed bundle": setting.with_bundle}
    values = {"cubinet, empty home": [run("cubinet, empty home", setting.with_cubinet, keep)],
              "nvcc": [run("nvcc", setting.with_nvcc)]}
    for _ in range(rounds):
        for name, make in warm.items():
            values.setdefault(name, []).append(run(name, make))
    ratios = {f"{name} : nvcc": {"median": round(statistics.median(seen) / values["nvcc"][0], 4)}
              for name, seen in values.items() if name != "nvcc"}
    what = "one process" if processes == 1 else f"{processes} processes at once"
    return row(f"five operations, {what}", "s", values, ratios) | {"compilations": compilations}


def error_rows(errors, tolerances):
    rows = []
    for operation, tolerance in tolerances.items():
        found = {name: [each[operation]] for name, each in errors.items() if operation in each}
        worst = max(value for values in found.values() for value in values)
        rows.append(row(f"{operation}, relative error", "", found, {}) | {"tolerance": tolerance, "right": worst <= tolerance})
    return rows


def measure_shapes(setting, names):
    """The caches of both compilers are filled by processes that run side by side."""
    compilers = {"cubinet": setting.with_cubinet(setting.warm), "nvcc": setting.with_nvcc()}
    for compiler in compilers.values():
        makers = compiler.start(len(names))
        for maker, name in zip(makers, names):
            maker.send(f"compile {name}")
        for maker in makers:
            maker.answer()
            maker.close()
    workers = {name: compiler.start()[0] for name, compiler in compilers.items()}
    rows = []
    for name in names:
        for worker in workers.values():
            worker.ask(f"shape {name}")
        values = run_rounds({key: lambda worker=worker: worker.ask("time") for key, worker in workers.items()},
                            setting.options.rounds + 4)
        rows.append(row(name, "us", values, compare(values, "cubinet", {"nvcc": GOAL})))
        print(json.dumps(rows[-1]["median"]), name, file=sys.stderr, flush=True)
    for worker in workers.values():
        worker.close()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cubinet-nvcc", help="the executable cubinet-nvcc")
    parser.add_argument("--tool", help="the executable cubinet")
    parser.add_argument("--nvcc", default="/usr/local/cuda/bin/nvcc")
    parser.add_argument("--part", action="append", choices=["start", "eight", "shapes"])
    parser.add_argument("--rounds", type=int, default=3, help="of warm starts; shapes take four more")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0

    import deep_gemm_problems as problems

    setting = Setting(options)
    errors, starts, shapes = {}, [], []

    def written():
        tolerances = {name: tolerance for name, (tolerance, _) in problems.OPERATIONS.items()}
        rows = starts + (error_rows(errors, tolerances) if errors else []) + shapes
        write(options.output, "deep_gemm", options.commit, rows)
        return rows

    try:
        for part in options.part or ["start", "eight", "shapes"]:
            if part == "shapes":
                shapes += measure_shapes(setting, list(problems.SHAPES))
            else:
                starts.append(measure_start(setting, 1 if part == "start" else PROCESSES, errors))
            rows = written()
    finally:
        shutil.rmtree(setting.scratch, ignore_errors=True)
    return 0 if all(each.get("right", True) for each in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
