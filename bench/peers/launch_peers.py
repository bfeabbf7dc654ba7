#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches with 16 arguments: cubinet beside CuPy and cuda.core with the very same cubin, and Triton with a kernel of
the same arguments. Processes take turns; peers keep theirs, as importing them takes longer than measuring."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from rounds import Worker, compare, row, run_rounds, write

LAUNCHES_OF_BATCH = 256  # fits the driver's launch queue: no launch waits for room
BATCHES = 40


def time_launches(launch, synchronize):
    for _ in range(LAUNCHES_OF_BATCH):
        launch()
    synchronize()
    seconds = 0.0
    for _ in range(BATCHES):
        start = time.perf_counter()
        for _ in range(LAUNCHES_OF_BATCH):
            launch()
        seconds += time.perf_counter() - start
        synchronize()
    return seconds / (LAUNCHES_OF_BATCH * BATCHES) * 1e9


def cupy_launcher(cubin):
    import cupy
    import numpy

    kernel = cupy.RawModule(path=cubin).get_function("bench_arguments")
    arrays = [cupy.zeros(1, dtype=cupy.int32) for _ in range(8)]
    arguments = (*arrays, *(numpy.int32(i) for i in range(2, 10)))
    return lambda: kernel((1,), (32,), arguments), cupy.cuda.Device().synchronize


def cuda_core_launcher(cubin):
    import numpy
    from cuda.core import Device, LaunchConfig, ObjectCode, launch

    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    kernel = ObjectCode.from_cubin(cubin).get_kernel("bench_arguments")
    config = LaunchConfig(grid=1, block=32)
    buffers = [device.allocate(256, stream=stream) for _ in range(8)]
    arguments = (*buffers, *(numpy.int32(i) for i in range(2, 10)))
    return lambda: launch(stream, config, kernel, *arguments), stream.sync


def triton_launcher(_cubin):
    import torch
    import triton

    @triton.jit
    def sixteen_arguments(p0, p1, p2, p3, p4, p5, p6, p7, i0, i1, i2, i3, i4, i5, i6, i7):
        total = i0 + i1 + i2 + i3 + i4 + i5 + i6 + i7
        triton.language.store(p0, triton.language.load(p1) + total)

    tensors = [torch.zeros(1, dtype=torch.int32, device="cuda") for _ in range(8)]
    numbers = list(range(2, 10))
    return lambda: sixteen_arguments[(1,)](*tensors, *numbers, num_warps=1), torch.cuda.synchronize


PEERS = {"CuPy": cupy_launcher, "cuda.core": cuda_core_launcher, "Triton": triton_launcher}


def work(peer, cubin):
    launch, synchronize = PEERS[peer](cubin)
    for _ in sys.stdin:
        print(json.dumps(time_launches(launch, synchronize)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", help="the executable cubinet_bench")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    parser.add_argument("--worker", nargs=2, metavar=("PEER", "CUBIN"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(*options.worker)

    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "launch.json")

        def ours():
            subprocess.run([options.bench, "launch", "--only-launch", "--rounds", "1", "--cubins", folder, "-o", result],
                           check=True, stderr=subprocess.DEVNULL)
            with open(result, encoding="utf-8") as file:
                rows = {row["name"]: row for row in json.load(file)["rows"]}
            return rows["bench_arguments"]["median"]["cubinet, look-up and launch"]

        ours()  # leaves the cubin
        cubin = os.path.join(folder, "bench_arguments.cubin")
        workers = {peer: Worker([sys.executable, os.path.abspath(__file__), "--worker", peer, cubin]) for peer in PEERS}
        contenders = {"cubinet": ours}
        contenders |= {peer: lambda worker=worker: worker.ask("round") for peer, worker in workers.items()}
        values = run_rounds(contenders, options.rounds)
        for worker in workers.values():
            worker.close()
    ratios = compare(values, "cubinet", dict.fromkeys(PEERS))
    write(options.output, "launch_peers", options.commit, [row("launch, 16 arguments", "ns", values, ratios)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
