#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Paged decode attention beside FlashInfer: Llama-3-70B's shape (64/8 heads of 128, bf16), a CUDA graph of 20 calls that
read KV caches of 256 MB and more in turn. Two processes keep their tensors and take turns."""
import argparse
import json
import os
import sys
import tempfile

from rounds import Worker, compare, row, run_rounds, write

CALLS_OF_GRAPH = 20
GRAPH_LAUNCHES = 5
COLD_BYTES = 256 << 20
SHAPES = [(batch, kv_len, page) for batch in (1, 16, 64) for kv_len in (4096, 16384) for page in (16, 64)]


def shape_name(batch, kv_len, page):
    return f"batch {batch}, KV {kv_len}, page {page}"


def copies_for(kv_bytes):
    """As in timed_runs.cpp: a divisor of the graph's calls, so that the turns go on evenly from one launch of the
    graph to the next."""
    copies = max(1, min(CALLS_OF_GRAPH, -(-COLD_BYTES // kv_bytes)))
    while CALLS_OF_GRAPH % copies:
        copies += 1
    return copies


def flashinfer_graph(batch, kv_len, page):
    import flashinfer
    import torch

    pages = batch * (kv_len // page)
    kv_bytes = pages * page * 2 * 8 * 128 * 2
    copies = copies_for(kv_bytes)
    cache = torch.randn(copies * pages, 2, page, 8, 128, dtype=torch.bfloat16, device="cuda")
    query = torch.randn(batch, 64, 128, dtype=torch.bfloat16, device="cuda") * 4
    indptr = torch.arange(batch + 1, dtype=torch.int32) * (kv_len // page)
    last = torch.full((batch,), page, dtype=torch.int32)
    output = torch.empty_like(query)
    wrappers = []
    for copy in range(copies):
        workspace = torch.zeros(128 << 20, dtype=torch.uint8, device="cuda")
        indices = (torch.randperm(pages) + copy * pages).to(torch.int32).cuda()
        wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD", use_tensor_cores=True, backend="fa2")
        wrapper.plan(indptr, indices, last, 64, 8, 128, page, q_data_type=torch.bfloat16,
                     kv_data_type=torch.bfloat16)
        wrapper.run(query, cache, out=output)
        wrappers.append((wrapper, workspace, indices))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in range(CALLS_OF_GRAPH):
            wrappers[call % copies][0].run(query, cache, out=output)
    return graph, (cache, query, output, wrappers)


def work():
    import torch

    graphs = {shape_name(*shape): flashinfer_graph(*shape) for shape in SHAPES}
    for _ in sys.stdin:
        answer = {}
        for name, (graph, _tensors) in graphs.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            graph.replay()
            start.record()
            for _ in range(GRAPH_LAUNCHES):
                graph.replay()
            end.record()
            end.synchronize()
            answer[name] = start.elapsed_time(end) * 1e3 / (CALLS_OF_GRAPH * GRAPH_LAUNCHES)
        print(json.dumps(answer), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", help="the executable cubinet_bench")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work()

    env = dict(os.environ, FLASHINFER_DISABLE_VERSION_CHECK="1")
    env.setdefault("FLASHINFER_WORKSPACE_BASE", tempfile.mkdtemp(prefix="cubinet-flashinfer-"))
    workers = {"cubinet": Worker([options.bench, "decode-times"]),
               "FlashInfer": Worker([sys.executable, os.path.abspath(__file__), "--worker"], env=env)}
    collected = {name: [] for name in workers}

    def ask(name):
        answer = workers[name].ask("round")
        collected[name].append(answer)
        return sum(answer.values())

    total = run_rounds({name: lambda name=name: ask(name) for name in workers}, options.rounds)
    rows = []
    for shape in SHAPES:
        name = shape_name(*shape)
        # The first answer is the unmeasured one.
        values = {worker: [answer[name] for answer in collected[worker][1:]] for worker in total}
        measured = row(name, "us", values, compare(values, "cubinet", {"FlashInfer": None}))
        kv_bytes = shape[0] * shape[1] * 2 * 8 * 128 * 2
        measured["kv_terabytes_per_second"] = {
            worker: float(f"{kv_bytes / median / 1e6:.4g}") for worker, median in measured["median"].items()}
        rows.append(measured)
    for worker in workers.values():
        worker.close()
    write(options.output, "decode_peers", options.commit, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
