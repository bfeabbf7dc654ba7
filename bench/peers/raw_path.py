#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A kernel's source, from the call to launchable, each time in a fresh process: cold (to the cubin, beside NVRTC alone) and
as a hit on disk, cubinet beside CuPy's and cuda.core's own caches; without headers, with the half types' and with CUB.
Then two processes that ask for the same at the same moment. A peer whose package is not there is left out."""
import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from rounds import compare, row, run_rounds, write

PROGRAMS = {
    "no headers": """extern "C" __global__ void axpy(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
""",
    "half types": """#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
extern "C" __global__ void axpy(float a, const __half* x, __nv_bfloat16* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2bfloat16(a * __half2float(x[i]) + __bfloat162float(y[i]));
}
""",
    "CUB": """#include <cub/block/block_reduce.cuh>
extern "C" __global__ void axpy(float a, const float* x, float* y, int n) {
  typedef cub::BlockReduce<float, 128> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float sum = Reduce(storage).Sum(i < n ? a * x[i] : 0.0f);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
""",
}
FLAGS = ["--std=c++17"]


def toolkit_folders(toolkit):
    return [os.path.join(toolkit, "include"), os.path.join(toolkit, "include/cccl")]


def time_cupy(item, cache, toolkit):
    os.environ["CUPY_CACHE_DIR"] = cache
    import cupy

    cupy.zeros(1)
    start = time.perf_counter()
    module = cupy.RawModule(code=item["source"], options=tuple(item["flags"]))
    module.get_function("axpy")
    return time.perf_counter() - start


def time_cuda_core(item, cache, toolkit):
    import hashlib

    from cuda.core import Device, ObjectCode, Program, ProgramOptions
    from cuda.core.utils import FileStreamProgramCache, make_program_cache_key

    device = Device(0)
    device.set_current()
    device.allocate(16, stream=device.default_stream)
    start = time.perf_counter()
    options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}", include_path=toolkit_folders(toolkit))
    with FileStreamProgramCache(cache) as store:
        if "#include" not in item["source"]:
            options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
            code = Program(item["source"], "c++", options).compile("cubin", cache=store)
        else:
            # This cache relies on its user's statement about headers: here, that the toolkit does
            # not change.
            key = make_program_cache_key(code=item["source"], code_type="c++", options=options, target_type="cubin",
                                         extra_digest=hashlib.sha256(toolkit.encode()).digest())
            held = store.get(key)
            if held is None:
                code = Program(item["source"], "c++", options).compile("cubin")
                store[key] = code
            else:
                code = ObjectCode.from_cubin(held)
        code.get_kernel("axpy")
    return time.perf_counter() - start


PEERS = {"CuPy": ("cupy", time_cupy), "cuda.core": ("cuda.core", time_cuda_core)}


def have(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", help="the executable cubinet_bench")
    parser.add_argument("--toolkit", default="/usr/local/cuda")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    parser.add_argument("--without-device", action="store_true", help="what needs none: compilations and hits of the cubin")
    parser.add_argument("--worker", nargs=3, metavar=("PEER", "PROGRAM", "CACHE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        name, program, cache = options.worker
        with open(program, encoding="utf-8") as file:
            print(json.dumps({"seconds": PEERS[name][1](json.load(file), cache, options.toolkit)}))
        return 0

    scratch = tempfile.mkdtemp(prefix="cubinet-raw-")
    env = dict(os.environ, CUDA_CACHE_DISABLE="1", CUDA_PATH=options.toolkit)
    ours = [options.bench, "--toolkit-root", options.toolkit, "raw"]
    peers = [] if options.without_device else [name for name, (module, _) in PEERS.items() if have(module)]
    for name in sorted(set(PEERS) - set(peers)):
        print(f"{name}: left out", file=sys.stderr)

    def answer_of(command):
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[-2000:] or f"status {done.returncode}")
        return json.loads(done.stdout.splitlines()[-1])

    def cubinet(program, home, source, load):
        answer = answer_of([*ours, program, "--home", home, *(["--load"] if load else [])])
        if answer["source"] != source:
            raise RuntimeError(f"came from {answer['source']}, not from {source}")
        return answer["seconds"]

    def peer(name, program, cache):
        return answer_of([sys.executable, os.path.abspath(__file__), "--toolkit", options.toolkit,
                          "--worker", name, program, cache])["seconds"]

    def cold(measured):
        folder = tempfile.mkdtemp(dir=scratch)
        try:
            return measured(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    rows = []
    loads = not options.without_device
    for kind, source in PROGRAMS.items():
        program = os.path.join(scratch, "axpy.json")
        with open(program, "w", encoding="utf-8") as file:
            json.dump({"name": "axpy", "source": source, "flags": FLAGS}, file)
        contenders = {
            "cubinet": lambda: cold(lambda home: cubinet(program, home, "compiled", False)),
            "bare NVRTC": lambda: answer_of([*ours, program, "--bare"])["seconds"],
        }
        contenders |= {name: lambda name=name: cold(lambda cache: peer(name, program, cache)) for name in peers}
        values = run_rounds(contenders, options.rounds)
        ratios = compare(values, "cubinet", {name: None for name in contenders if name != "cubinet"})
        if "cubinet" in values and "bare NVRTC" in values:
            # The goal: 1.05 of NVRTC's time and 10 ms.
            over = sorted(a - 1.05 * b for a, b in zip(values["cubinet"], values["bare NVRTC"]))[options.rounds // 2]
            ratios["cubinet - 1.05 bare NVRTC, s"] = {"median": round(over, 5), "goal": 0.01, "met": over <= 0.01}
        rows.append(row(f"cold, {kind}", "s", values, ratios))

        warm = os.path.join(scratch, "warm-" + kind.replace(" ", "-"))
        answer_of([*ours, program, "--home", warm])
        contenders = {"cubinet": lambda: cubinet(program, warm, "registry", loads)}
        contenders |= {name: lambda name=name: peer(name, program, warm + "-" + name) for name in peers}
        values = run_rounds(contenders, options.rounds)
        goal = 0.5 if kind == "no headers" else None
        rows.append(row(f"hit on disk, {kind}", "s", values, compare(values, "cubinet", {name: goal for name in peers})))

    compiled = []
    for _ in range(5):
        home = tempfile.mkdtemp(dir=scratch)
        pair = [subprocess.Popen([*ours, program, "--home", home], stdout=subprocess.PIPE, text=True, env=env)
                for _ in range(2)]
        compiled.append(sum(json.loads(process.communicate()[0])["source"] == "compiled" for process in pair))
    shutil.rmtree(scratch, ignore_errors=True)
    write(options.output, "raw_path", options.commit, rows,
          compilations_of_two_processes={"each": compiled, "goal": 1, "met": set(compiled) == {1}})
    return 0


if __name__ == "__main__":
    sys.exit(main())
