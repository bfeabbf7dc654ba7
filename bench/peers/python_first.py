#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fresh Python process to the end of its first launch, with warm caches on disk. The context exists before the clock
starts, made by the driver alone or by PyTorch; the import of the package counts. cubinet with a source beside CuPy and
Triton, cubinet's attention beside FlashInfer's decode. Every measurement is a process of its own; they take turns. FlashInfer
compiles its module for minutes: FLASHINFER_WORKSPACE_BASE may name a folder that has it."""
import argparse
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from rounds import compare, row, run_rounds, write

SOURCE = """
extern "C" __global__ void axpy(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
"""


class Buffer:
    """Device memory without a library: its address, and the attribute that describes 1,000 floats."""

    def __init__(self, address):
        self.address = address
        self.__cuda_array_interface__ = {"shape": (1000,), "typestr": "<f4", "data": (address, False), "version": 3}


def driver_context():
    """Makes the primary context current with the driver alone, and returns a buffer of 4,000 bytes."""
    cuda = ctypes.CDLL("libcuda.so.1")
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4000)) == 0
    return Buffer(address.value), cuda.cuCtxSynchronize


def torch_context():
    import torch

    tensor = torch.ones(1000, device="cuda")
    torch.cuda.synchronize()
    return tensor, torch.cuda.synchronize


def cubinet_launch(buffer, synchronize, stream):
    start = time.perf_counter()
    import cubinet

    runtime = cubinet.Runtime(home=os.environ["BENCH_HOME"])
    axpy = runtime.kernel(cubinet.SourceProgram(SOURCE, kernels=("axpy",))).function(0)
    axpy.launch(2.0, buffer, buffer, 1000, grid=4, block=256, **stream)
    synchronize()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "compiled": runtime.counters().compiled}


def cubinet_source():
    buffer, synchronize = driver_context()
    return cubinet_launch(buffer, synchronize, {"stream": 0})


def cubinet_source_with_torch():
    tensor, synchronize = torch_context()
    return cubinet_launch(tensor, synchronize, {})


def cupy_source():
    buffer, synchronize = driver_context()
    start = time.perf_counter()
    import cupy

    axpy = cupy.RawKernel(SOURCE, "axpy")
    axpy((4,), (256,), (cupy.float32(2), buffer.address, buffer.address, cupy.int32(1000)))
    synchronize()
    return {"seconds": time.perf_counter() - start}


def triton_source():
    tensor, synchronize = torch_context()
    start = time.perf_counter()
    import triton_axpy

    triton_axpy.axpy[(4,)](2.0, tensor, tensor, 1000, block=256)
    synchronize()
    return {"seconds": time.perf_counter() - start}


TRITON = '''
import triton
import triton.language as tl


@triton.jit
def axpy(a, x, y, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    mask = i < n
    tl.store(y + i, tl.load(y + i, mask) + a * tl.load(x + i, mask), mask)
'''

BATCH, KV_LEN, HEADS_Q, HEADS_KV, DIM, PAGE = 16, 2048, 32, 8, 128, 16


def decode_tensors():
    import torch

    pages = BATCH * KV_LEN // PAGE
    cache = torch.randn(pages, 2, PAGE, HEADS_KV, DIM, device="cuda", dtype=torch.bfloat16)
    q = torch.randn(BATCH, HEADS_Q, DIM, device="cuda", dtype=torch.bfloat16)
    table = torch.arange(pages, device="cuda").to(torch.int32).view(BATCH, KV_LEN // PAGE)
    lengths = torch.full((BATCH,), KV_LEN, dtype=torch.int32, device="cuda")
    torch.cuda.synchronize()
    return torch, cache, q, torch.empty_like(q), table, lengths


def cubinet_decode():
    torch, cache, q, o, table, lengths = decode_tensors()
    start = time.perf_counter()
    import cubinet

    runtime = cubinet.Runtime(home=os.environ["BENCH_HOME"])
    problem = cubinet.AttentionProblem(batch=BATCH, kv_len=KV_LEN, heads_q=HEADS_Q, heads_kv=HEADS_KV, page_size=PAGE)
    attention = runtime.attention(problem)
    attention.run(q=q, k=cache[:, 0], v=cache[:, 1], o=o, page_table=table, kv_lengths=lengths,
                  workspace=attention.workspace())
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "compiled": runtime.counters().compiled}


def flashinfer_decode():
    torch, cache, q, _, table, _ = decode_tensors()
    start = time.perf_counter()
    import flashinfer

    wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(torch.empty(128 << 20, dtype=torch.uint8, device="cuda"), "NHD")
    indptr = torch.arange(BATCH + 1, dtype=torch.int32, device="cuda") * (KV_LEN // PAGE)
    last = torch.full((BATCH,), PAGE, dtype=torch.int32, device="cuda")
    wrapper.plan(indptr, table.view(-1), last, HEADS_Q, HEADS_KV, DIM, PAGE, q_data_type=torch.bfloat16,
                 kv_data_type=torch.bfloat16)
    wrapper.run(q, cache)
    torch.cuda.synchronize()
    return {"seconds": time.perf_counter() - start}


# Ours, the peer and the goal of each row.
ROWS = {
    "a source, context made by the driver": ("cubinet", cubinet_source, "CuPy", cupy_source, 0.5),
    "a source, context made by PyTorch": ("cubinet", cubinet_source_with_torch, "Triton", triton_source, 0.3),
    "decode attention, context made by PyTorch": ("cubinet", cubinet_decode, "FlashInfer", flashinfer_decode, 0.1),
}


def worker(name):
    functions = {function.__name__: function for _, ours, _, theirs, _ in ROWS.values() for function in (ours, theirs)}
    print(json.dumps(functions[name]()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", help="not used")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker)
        return 0
    scratch = tempfile.mkdtemp(prefix="cubinet-first-")
    with open(os.path.join(scratch, "triton_axpy.py"), "w", encoding="utf-8") as module:
        module.write(TRITON)
    env = dict(os.environ, BENCH_HOME=os.path.join(scratch, "home"), CUPY_CACHE_DIR=os.path.join(scratch, "cupy"),
               TRITON_CACHE_DIR=os.path.join(scratch, "triton"), FLASHINFER_DISABLE_VERSION_CHECK="1")
    env.setdefault("FLASHINFER_WORKSPACE_BASE", os.path.join(scratch, "flashinfer"))
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (scratch, os.environ.get("PYTHONPATH"))))

    def measure(function, warm=[]):  # noqa: B006: remembers across the calls what has filled its cache
        command = [sys.executable, os.path.abspath(__file__), "--worker", function.__name__]
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[-2000:] or f"status {done.returncode}")
        answer = json.loads(done.stdout.splitlines()[-1])
        if function.__name__ in warm and answer.get("compiled"):
            raise RuntimeError(f"{function.__name__} compiled with a warm home")
        warm.append(function.__name__)
        return answer["seconds"] * 1e3

    rows = []
    for name, (ours, our_function, peer, peer_function, goal) in ROWS.items():
        contenders = {ours: lambda f=our_function: measure(f), peer: lambda f=peer_function: measure(f)}
        values = run_rounds(contenders, options.rounds)
        rows.append(row(name, "ms", values, compare(values, ours, {peer: goal})))
        print(json.dumps({key: rows[-1][key] for key in ("name", "median", "ratios")}), file=sys.stderr)
    shutil.rmtree(scratch, ignore_errors=True)
    write(options.output, "python_first", options.commit, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
