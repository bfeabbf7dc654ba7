#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One eager decode step from Python: the host's time of Attention.run() and of FlashInfer's run(), in one process, with
the same cache. And the first result of a process: from `import cubinet` to the end of the first attention."""
import argparse
import statistics
import sys
import tempfile
import time

from rounds import compare, row, run_rounds, write

BATCH, KV_LEN, HEADS_Q, HEADS_KV, DIM, PAGE = 16, 2048, 32, 8, 128, 16
CALLS = 64  # fit the driver's launch queue
BATCHES = 40


def time_calls(call, synchronize):
    for _ in range(CALLS):
        call()
    synchronize()
    times = []
    for _ in range(BATCHES):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - start) / CALLS * 1e6)
        synchronize()
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", help="not used")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    options = parser.parse_args()

    import torch

    torch.manual_seed(0)
    pages = BATCH * KV_LEN // PAGE
    cache = torch.randn(pages, 2, PAGE, HEADS_KV, DIM, device="cuda", dtype=torch.bfloat16)
    k, v = cache[:, 0], cache[:, 1]
    q = torch.randn(BATCH, HEADS_Q, DIM, device="cuda", dtype=torch.bfloat16)
    o, peer_o = torch.empty_like(q), torch.empty_like(q)
    table = torch.randperm(pages, device="cuda").to(torch.int32).view(BATCH, KV_LEN // PAGE)
    lengths = torch.full((BATCH,), KV_LEN, dtype=torch.int32, device="cuda")
    torch.cuda.synchronize()

    start = time.perf_counter()
    import cubinet

    with tempfile.TemporaryDirectory() as home:
        runtime = cubinet.Runtime(home=home)
        problem = cubinet.AttentionProblem(batch=BATCH, kv_len=KV_LEN, heads_q=HEADS_Q, heads_kv=HEADS_KV, page_size=PAGE)
        attention = runtime.attention(problem)
        workspace = attention.workspace()

        def ours():
            attention.run(q=q, k=k, v=v, o=o, page_table=table, kv_lengths=lengths, workspace=workspace)

        ours()
        torch.cuda.synchronize()
        first = time.perf_counter() - start
        compiled = runtime.counters().compiled
        steps = {"cubinet": lambda: time_calls(ours, torch.cuda.synchronize)}
        try:
            import flashinfer

            wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(
                torch.empty(128 << 20, dtype=torch.uint8, device="cuda"), "NHD")
            indptr = torch.arange(BATCH + 1, dtype=torch.int32, device="cuda") * (KV_LEN // PAGE)
            last = torch.full((BATCH,), PAGE, dtype=torch.int32, device="cuda")
            wrapper.plan(indptr, table.view(-1), last, HEADS_Q, HEADS_KV, DIM, PAGE, q_data_type=torch.bfloat16,
                         kv_data_type=torch.bfloat16)

            def theirs():
                wrapper.run(q, cache, out=peer_o)

            theirs()
            torch.cuda.synchronize()
            print(f"largest difference {(o - peer_o).abs().max().item():.2g}", file=sys.stderr)
            steps["FlashInfer"] = lambda: time_calls(theirs, torch.cuda.synchronize)
        except Exception as error:  # noqa: BLE001: any failure of a peer must leave ours
            print(f"FlashInfer: left out: {error}", file=sys.stderr)
        values = run_rounds(steps, options.rounds)
        rows = [row("decode step, host time", "us", values, compare(values, "cubinet", {"FlashInfer": 0.5})),
                {"name": "first attention of a process", "unit": "ms", "median": {"cubinet": round(first * 1e3, 1)},
                 "ratios": {}, "compiled": compiled}]
    write(options.output, "python_decode", options.commit, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
