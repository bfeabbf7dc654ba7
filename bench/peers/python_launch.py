#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches from Python in one process: cubinet, a loop of bare cuLaunchKernelEx in C, cuda.core with the same cubin,
Triton with the same arguments; the conversion of 8 tensors and 8 numbers beside functions without content of tvm-ffi
and of nanobind with its ndarray."""
import argparse
import ctypes
import importlib.util
import os
import statistics
import sys
import tempfile
import time

from rounds import compare, row, run_rounds, write

LAUNCHES_OF_BATCH = 256  # fits the driver's launch queue: no launch waits for room
BATCHES = 40

SOURCE = """
extern "C" __global__ void numbers(int a0, int a1, int a2, int a3, int a4, int a5, int a6, int a7, int a8, int a9,
                                   int a10, int a11, int a12, int a13, int a14, int a15) {}
extern "C" __global__ void mixed(const int* p0, const int* p1, const int* p2, const int* p3, const int* p4,
                                 const int* p5, const int* p6, const int* p7, int a0, int a1, int a2, int a3, int a4,
                                 int a5, int a6, int a7) {}
"""


def time_calls(call, synchronize):
    for _ in range(LAUNCHES_OF_BATCH):
        call()
    synchronize()
    times = []
    for _ in range(BATCHES):
        start = time.perf_counter()
        for _ in range(LAUNCHES_OF_BATCH):
            call()
        times.append((time.perf_counter() - start) / LAUNCHES_OF_BATCH * 1e9)
        synchronize()
    return statistics.median(times)


class Bare:
    """The driver's own launch, from a loop in C."""

    def __init__(self, folder):
        self.loop = ctypes.CDLL(os.path.join(folder, "bench_bare_launch.so")).bare_launches
        self.loop.restype = ctypes.c_double
        self.loop.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int, ctypes.c_void_p]
        self.launch = ctypes.cast(ctypes.CDLL("libcuda.so.1").cuLaunchKernelEx, ctypes.c_void_p)

    def time(self, function, stream, values, synchronize):
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        times = []
        for _ in range(BATCHES + 1):
            nanoseconds = self.loop(self.launch, function.describe()["handle"], stream, LAUNCHES_OF_BATCH, pointers)
            if nanoseconds < 0:
                raise RuntimeError(f"cuLaunchKernelEx failed with {-nanoseconds:.0f}")
            times.append(nanoseconds)
            synchronize()
        return statistics.median(times[1:])


def triton_kernels():
    import triton

    @triton.jit(do_not_specialize=[f"a{i}" for i in range(16)])
    def numbers(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15):
        pass

    return numbers


def load(name, path):
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", help="the executable cubinet_bench; the peers' libraries are in python/ beside it")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    options = parser.parse_args()
    folder = os.path.join(os.path.dirname(os.path.abspath(options.bench)), "python")

    import torch

    import cubinet

    home = tempfile.TemporaryDirectory()
    runtime = cubinet.Runtime(home=home.name)
    kernel = runtime.kernel(cubinet.SourceProgram(SOURCE, kernels=("numbers", "mixed")))
    numbers, mixed = kernel.function(0, "numbers"), kernel.function(0, "mixed")
    torch.zeros(1, device="cuda")
    stream = torch.cuda.current_stream()
    synchronize = torch.cuda.synchronize
    bare = Bare(folder)
    # The calls name every argument, as programs do: a call with *arguments first builds a tuple.
    integers = list(range(2, 18))
    a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15 = integers
    tensors = [torch.zeros(16, dtype=torch.int32, device="cuda") for _ in range(8)]
    t0, t1, t2, t3, t4, t5, t6, t7 = tensors

    def cuda_core():
        import numpy
        from cuda.core import Device, LaunchConfig, ObjectCode, launch

        device = Device(0)
        device.set_current()
        own_stream = device.create_stream()
        cubin = ObjectCode.from_cubin(kernel.image(f"sm_{device.arch}"))
        peer, config = cubin.get_kernel("numbers"), LaunchConfig(grid=1, block=32)
        a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15 = (numpy.int32(i) for i in integers)
        return lambda: launch(own_stream, config, peer, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14,
                              a15), own_stream.sync

    def triton():
        peer = triton_kernels()
        return lambda: peer[(1,)](a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15,
                                  num_warps=1), synchronize

    launches = {
        "bare cuLaunchKernelEx": lambda: bare.time(
            numbers, stream.cuda_stream, [ctypes.c_int(i) for i in integers], synchronize),
        "cubinet": lambda: time_calls(lambda: numbers.launch(
            a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, grid=1, block=32,
            stream=stream), synchronize),
    }
    for name, make in (("cuda.core", cuda_core), ("Triton", triton)):
        try:
            call, wait = make()
            launches[name] = lambda call=call, wait=wait: time_calls(call, wait)
        except Exception as error:  # noqa: BLE001: any failure of a peer must leave the others' results
            print(f"{name}: left out: {error}", file=sys.stderr)
    values = run_rounds(launches, options.rounds)
    rows = [row("launch, 16 numbers", "ns", values,
                compare(values, "cubinet", {"bare cuLaunchKernelEx": 1.4, "cuda.core": 0.8, "Triton": 0.3}))]

    ndarray = load("bench_ndarray_peer", os.path.join(folder, "bench_ndarray_peer.abi3.so")).nothing
    convert = load("bench_conversion", os.path.join(folder, "bench_conversion.abi3.so")).convert
    calls = {
        "cubinet": lambda: time_calls(
            lambda: convert(t0, t1, t2, t3, t4, t5, t6, t7, a0, a1, a2, a3, a4, a5, a6, a7), synchronize),
        "nanobind ndarray": lambda: time_calls(
            lambda: ndarray(t0, t1, t2, t3, t4, t5, t6, t7, a0, a1, a2, a3, a4, a5, a6, a7), synchronize),
    }
    try:
        import tvm_ffi

        nothing = tvm_ffi.load_module(os.path.join(folder, "bench_tvm_ffi_peer.so")).nothing
        calls["tvm-ffi"] = lambda: time_calls(
            lambda: nothing(t0, t1, t2, t3, t4, t5, t6, t7, a0, a1, a2, a3, a4, a5, a6, a7), synchronize)
    except Exception as error:  # noqa: BLE001
        print(f"tvm-ffi: left out: {error}", file=sys.stderr)
    values = run_rounds(calls, options.rounds)
    rows.append(row("conversion of 8 tensors and 8 numbers", "ns", values,
                    compare(values, "cubinet", {"tvm-ffi": 0.6, "nanobind ndarray": 0.05})))
    addresses = [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors] + [ctypes.c_int(i) for i in integers[:8]]
    launches = {
        "bare cuLaunchKernelEx": lambda: bare.time(mixed, stream.cuda_stream, addresses, synchronize),
        "cubinet": lambda: time_calls(
            lambda: mixed.launch(t0, t1, t2, t3, t4, t5, t6, t7, a0, a1, a2, a3, a4, a5, a6, a7, grid=1, block=32),
            synchronize),
    }
    values = run_rounds(launches, options.rounds)
    rows.append(row("launch, 8 tensors and 8 numbers", "ns", values,
                    compare(values, "cubinet", {"bare cuLaunchKernelEx": None})))
    write(options.output, "python_launch", options.commit, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
