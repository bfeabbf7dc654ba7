#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which implementations of attention keep the bits of a row, and at what price. A prompt is computed whole, then in
chunks, beside other sequences, by verification and by decode, and the rows are compared bit by bit. The times are those
of the whole prompt and of a decode step, in the same rounds. FA3 (flash_attn_interface) and FlashInfer are measured if
they are installed, as they choose splits of KV and with the splits that engines fix for equal bits. Prints a table on
stderr and writes JSON with --output."""
import argparse
import statistics
import sys
import tempfile

from rounds import compare, print_goals, row, run_rounds, write

HEADS_Q, HEADS_KV, DIM, PAGE = 32, 8, 128, 64
LENGTH = 2611  # of the prompt; no multiple of a tile or a split
OTHERS = (37, 4096, 900, 1500, 64, 2048, 3001)  # the sequences beside it
BATCH, KV_LEN = 16, 4096  # of the decode step
SPLIT_PAGES = 2048 // PAGE  # of FlashInfer's fixed splits


class Cache:
    """A paged cache of sequences whose pages are in a random order."""

    def __init__(self, torch, lengths):
        self.torch = torch
        self.lengths = list(lengths)
        self.width = max(-(-length // PAGE) for length in lengths)
        pages = len(lengths) * self.width
        self.k, self.v = (torch.randn(pages, PAGE, HEADS_KV, DIM, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        self.table = torch.randperm(pages, device="cuda").to(torch.int32).view(len(lengths), self.width)


class Call:
    """Query tokens of some sequences of a cache: `parts` are (sequence, tokens, KV tokens up to the last of them)."""

    def __init__(self, cache, q, parts, decodes):
        torch = cache.torch
        self.cache, self.q, self.decodes = cache, q, decodes
        self.counts = [count for _, count, _ in parts]
        self.ends = [end for _, _, end in parts]
        width = max(-(-end // PAGE) for end in self.ends)
        self.table = cache.table[[sequence for sequence, _, _ in parts], :width].contiguous()
        self.lengths = torch.tensor(self.ends, dtype=torch.int32, device="cuda")
        starts = [0]
        for count in self.counts:
            starts.append(starts[-1] + count)
        self.starts = torch.tensor(starts, dtype=torch.int32, device="cuda")


class Cubinet:
    def __init__(self, torch, home, numerics):
        import cubinet

        self.cubinet, self.torch, self.numerics = cubinet, torch, numerics
        self.runtime = cubinet.Runtime(home=home)

    def prepare(self, call):
        problem = self.cubinet.AttentionProblem(
            batch=len(call.counts), q_len=max(call.counts), kv_len=max(call.ends), heads_q=HEADS_Q, heads_kv=HEADS_KV,
            page_size=PAGE, prefill=not call.decodes, ragged_q=True, numerics=self.numerics)
        attention = self.runtime.attention(problem)
        workspace = attention.workspace()
        o = self.torch.empty_like(call.q)

        def run():
            attention.run(q=call.q, k=call.cache.k, v=call.cache.v, o=o, page_table=call.table, kv_lengths=call.lengths,
                          q_offsets=call.starts, workspace=workspace)
            return o

        return run


class FlashAttention3:
    def __init__(self, splits):
        from flash_attn_interface import flash_attn_with_kvcache

        self.attend, self.splits = flash_attn_with_kvcache, splits

    def prepare(self, call):
        def run():
            return self.attend(call.q, call.cache.k, call.cache.v, cache_seqlens=call.lengths, page_table=call.table,
                               cu_seqlens_q=call.starts, max_seqlen_q=max(call.counts), causal=True,
                               num_splits=self.splits)

        return run


class FlashInfer:
    def __init__(self, torch, split_pages):
        import flashinfer

        self.flashinfer, self.torch, self.split_pages = flashinfer, torch, split_pages

    def prepare(self, call):
        torch = self.torch
        pages = [-(-end // PAGE) for end in call.ends]
        starts = [0]
        for count in pages:
            starts.append(starts[-1] + count)
        starts = torch.tensor(starts, dtype=torch.int32, device="cuda")
        used = torch.cat([table[:count] for table, count in zip(call.table, pages)])
        last = torch.tensor([(end - 1) % PAGE + 1 for end in call.ends], dtype=torch.int32, device="cuda")
        space = torch.empty(512 << 20, dtype=torch.uint8, device="cuda")
        options = {"q_data_type": torch.bfloat16, "kv_data_type": torch.bfloat16, "fixed_split_size": self.split_pages}
        # Only these kernels have fixed splits. Those of fa3 would take a minute to compile.
        if call.decodes and max(call.counts) == 1:
            wrapper = self.flashinfer.BatchDecodeWithPagedKVCacheWrapper(space, "NHD", use_tensor_cores=True,
                                                                         backend="fa2")
            wrapper.plan(starts, used, last, HEADS_Q, HEADS_KV, DIM, PAGE, **options)
        else:
            wrapper = self.flashinfer.BatchPrefillWithPagedKVCacheWrapper(space, "NHD", backend="fa2")
            wrapper.plan(call.starts, starts, used, last, HEADS_Q, HEADS_KV, DIM, PAGE, causal=True, **options)
        return lambda: wrapper.run(call.q, (call.cache.k, call.cache.v))


def stages(cache, q):
    """Yields (name, call, the tokens of the prompt that the first rows of the call compute). `q` is that of the prompt."""
    torch = cache.torch

    def call(parts, decodes=False):
        rows = []
        for sequence, count, end in parts:
            own = q[end - count : end] if sequence == 0 else torch.randn(count, HEADS_Q, DIM, device="cuda", dtype=q.dtype)
            rows.append(own)
        return Call(cache, torch.cat(rows), parts, decodes)

    beside = [(sequence, min(length, 300), length) for sequence, length in enumerate(cache.lengths) if sequence > 0]
    for size in (512, 1000):
        for begin in range(0, LENGTH, size):
            end = min(begin + size, LENGTH)
            yield f"chunks of {size}", call([(0, end - begin, end)]), range(begin, end)
    yield "beside other prompts", call([(0, LENGTH, LENGTH), *beside]), range(LENGTH)
    for end in range(8, LENGTH + 1, 500):
        yield "verification of 8 tokens", call([(0, 8, end)], decodes=True), range(end - 8, end)
    single = [(sequence, 1, length) for sequence, _, length in beside]
    for end in (1, 100, 511, 512, 513, 1025, 2000, LENGTH):
        yield "decode alone", call([(0, 1, end)], decodes=True), range(end - 1, end)
        yield "decode in a batch", call([(0, 1, end), *single], decodes=True), range(end - 1, end)


def kept_bits(implementation, cache, q):
    """Returns {stage: the share of the compared rows whose bits are those of the whole prompt}."""
    torch = cache.torch
    whole = implementation.prepare(Call(cache, q, [(0, LENGTH, LENGTH)], False))().clone()
    seen = {}
    for name, call, tokens in stages(cache, q):
        rows = implementation.prepare(call)()[: len(tokens)].view(torch.int16)
        equal = (rows == whole[tokens.start : tokens.stop].view(torch.int16)).all(dim=-1)
        kept, all_rows = seen.get(name, (0, 0))
        seen[name] = (kept + int(equal.sum()), all_rows + equal.numel())
    return {name: kept / all_rows for name, (kept, all_rows) in seen.items()}


def timer(torch, implementation, call):
    """Returns a function that times one run of the call in a CUDA graph, in microseconds."""
    run = implementation.prepare(call)
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(10):
            run()

    def measure():
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3 / 10

    measure.tensors = run, call  # the graph does not own what it reads
    return measure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", help="not used")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    options = parser.parse_args()

    import torch

    torch.manual_seed(0)
    rows = []
    with tempfile.TemporaryDirectory() as home, torch.no_grad():
        makers = {"cubinet": lambda: Cubinet(torch, home, "fast"),
                  "cubinet invariant": lambda: Cubinet(torch, home, "invariant"),
                  "FA3": lambda: FlashAttention3(0), "FA3, one split": lambda: FlashAttention3(1),
                  "FlashInfer": lambda: FlashInfer(torch, None),
                  "FlashInfer, fixed splits": lambda: FlashInfer(torch, SPLIT_PAGES)}
        cache = Cache(torch, (LENGTH, *OTHERS))
        prompt = torch.randn(LENGTH, HEADS_Q, DIM, device="cuda", dtype=torch.bfloat16)
        batch = Cache(torch, [KV_LEN] * BATCH)
        step = torch.randn(BATCH, HEADS_Q, DIM, device="cuda", dtype=torch.bfloat16)
        prefill, decode = {}, {}
        for name, make in makers.items():
            try:
                implementation = make()
                kept = kept_bits(implementation, cache, prompt)
                calls = (Call(cache, prompt, [(0, LENGTH, LENGTH)], False),
                         Call(batch, step, [(sequence, 1, KV_LEN) for sequence in range(BATCH)], True))
                prefill[name], decode[name] = (timer(torch, implementation, call) for call in calls)
            except Exception as error:  # noqa: BLE001: any failure of a peer must leave the others
                print(f"{name}: left out: {error}", file=sys.stderr)
                continue
            for stage, share in kept.items():
                print(f"{name:24} {stage:26} {share:7.1%} of the rows have the bits of the whole prompt", file=sys.stderr)
            rows.append({"name": f"rows with equal bits, {name}", "unit": "share", "median": kept, "ratios": {}})
        for name, timers, goal in (("prefill of the prompt", prefill, 1.06), ("decode step", decode, 1.15)):
            values = run_rounds(timers, options.rounds)
            goals = {peer: goal if peer == "cubinet" else None for peer in makers if peer != "cubinet invariant"}
            rows.append(row(name, "us", values, compare(values, "cubinet invariant", goals)))
            print(name, {key: round(statistics.median(seen), 2) for key, seen in values.items()}, file=sys.stderr)
    write(options.output, "invariance", options.commit, rows)
    print_goals(rows)
    ours = [entry["median"] for entry in rows if entry["name"].endswith(", cubinet invariant")]
    return 0 if ours and all(share == 1 for share in ours[0].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
