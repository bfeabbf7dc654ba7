#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A mixed batch: a chunk of 2048 tokens of a prompt, and decode rows of 64 sequences with 8192 tokens each. One launch
is compared with a launch for the decode rows and one for the chunk, in one CUDA graph. With --peers, FlashInfer's POD
attention too. With --plans it only prints our plans, which needs neither PyTorch nor a GPU."""
import argparse
import json
import sys
import tempfile

from graph_timing import time_graph
from rounds import compare, print_goals, row, run_rounds, write

CHUNK, DECODES, KV, HEADS_KV, DIM, PAGE = 2048, 64, 8192, 8, 128, 64
# Query heads, and the tokens that the chunk's sequence has with it.
SHAPES = ((32, 8192), (64, 8192), (32, 10240), (64, 10240))
ONE = "one launch"
TWO = "two launches"


def problems(cubinet, heads_q, chunk_kv):
    """Returns the problems of the whole batch, of its decode rows and of its chunk."""

    def problem(**members):
        return cubinet.AttentionProblem(heads_q=heads_q, heads_kv=HEADS_KV, page_size=PAGE, **members)

    longest = max(KV, chunk_kv)
    return (problem(batch=DECODES + 1, q_len=CHUNK, kv_len=longest, prefill=True, ragged_q=True),
            problem(batch=DECODES, kv_len=KV),
            problem(batch=1, q_len=CHUNK, kv_len=chunk_kv, prefill=True))


class Batch:
    """The tensors of a batch. The decode rows precede the chunk, as engines order them."""

    def __init__(self, torch, heads_q, chunk_kv):
        self.torch = torch
        self.chunk_kv = chunk_kv
        decode_pages, chunk_pages = KV // PAGE, chunk_kv // PAGE
        numbers = torch.randperm(DECODES * decode_pages + chunk_pages, device="cuda").to(torch.int32)
        self.cache = torch.randn(len(numbers), 2, PAGE, HEADS_KV, DIM, device="cuda", dtype=torch.bfloat16)
        self.q = torch.randn(DECODES + CHUNK, heads_q, DIM, device="cuda", dtype=torch.bfloat16)
        self.q *= 4.0  # logits have a standard deviation of 4
        self.decode_table = numbers[:DECODES * decode_pages].view(DECODES, decode_pages)
        self.chunk_table = numbers[DECODES * decode_pages:].view(1, chunk_pages)

    def numbers(self, values):
        return self.torch.tensor(values, dtype=self.torch.int32, device="cuda")

    def table(self):
        """Returns the page table of the whole batch. Entries after a sequence's last page are -1."""
        width = max(self.decode_table.shape[1], self.chunk_table.shape[1])
        table = self.numbers([[-1] * width] * (DECODES + 1))
        table[:DECODES, :self.decode_table.shape[1]] = self.decode_table
        table[DECODES:, :self.chunk_table.shape[1]] = self.chunk_table
        return table


def ours(runtime, cubinet, batch, heads_q):
    """Returns the functions that run the batch in one launch and in two, and their outputs."""
    torch = batch.torch
    k, v = batch.cache.unbind(1)
    outputs = {name: torch.full_like(batch.q, float("nan")) for name in (ONE, TWO)}

    def run(problem, table, lengths, q, o, **more):
        attention = runtime.attention(problem)
        tensors = {"q": q, "k": k, "v": v, "o": o, "page_table": table, "kv_lengths": batch.numbers(lengths),
                   "workspace": attention.workspace()} | more
        return lambda: attention.run(**tensors)

    whole, decode, chunk = problems(cubinet, heads_q, batch.chunk_kv)
    offsets = batch.numbers([*range(DECODES + 1), DECODES + CHUNK])
    one = run(whole, batch.table(), [KV] * DECODES + [batch.chunk_kv], batch.q, outputs[ONE], q_offsets=offsets)
    decodes = run(decode, batch.decode_table, [KV] * DECODES, batch.q[:DECODES], outputs[TWO][:DECODES])
    chunks = run(chunk, batch.chunk_table, [batch.chunk_kv], batch.q[DECODES:].unsqueeze(0),
                 outputs[TWO][DECODES:].unsqueeze(0))

    def two():
        decodes()
        chunks()

    return {ONE: one, TWO: two, "decode alone": decodes, "chunk alone": chunks}, outputs


def flashinfer_pods(batch, heads_q, outputs):
    """Returns the functions that time FlashInfer's two wrappers of POD attention. Keeps their outputs. A wrapper that
    fails is left out."""
    torch = batch.torch
    k, v = batch.cache.unbind(1)
    decode_q, chunk_q = batch.q[:DECODES], batch.q[DECODES:]
    tokens = batch.numbers(list(range(DECODES + 1)))
    decode_pages = tokens * batch.decode_table.shape[1]
    chunk_pages = batch.numbers([0, batch.chunk_table.shape[1]])
    decode_indices, chunk_indices = batch.decode_table.reshape(-1), batch.chunk_table.reshape(-1)
    decode_ends, chunk_end = (torch.full((count,), PAGE, dtype=torch.int32) for count in (DECODES, 1))
    common = {"num_qo_heads": heads_q, "num_kv_heads": HEADS_KV, "head_dim": DIM, "page_size": PAGE,
              "q_data_type": torch.bfloat16, "kv_data_type": torch.bfloat16}
    workspace = torch.empty(512 << 20, dtype=torch.uint8, device="cuda")

    def batched(flashinfer):
        wrapper = flashinfer.BatchPODWithPagedKVCacheWrapper(workspace, "NHD")
        wrapper.plan(batch.numbers([0, CHUNK]), chunk_pages, chunk_indices, chunk_end,
                     tokens, decode_pages, decode_indices, decode_ends, **common)
        return lambda: wrapper.run(chunk_q, (k, v), decode_q, (k, v), causal_p=True)

    def single(flashinfer):
        wrapper = flashinfer.PODWithPagedKVCacheWrapper(workspace.clone(), "NHD")
        wrapper.plan(decode_pages, decode_indices, decode_ends, **common)
        # This wrapper has no pages for the chunk.
        chunk_k, chunk_v = (part[batch.chunk_table[0].long()].reshape(-1, HEADS_KV, DIM) for part in (k, v))
        return lambda: wrapper.run(chunk_q, chunk_k, chunk_v, decode_q, (k, v), causal_p=True)

    steps = {}
    for name, wrapper in (("FlashInfer batch POD", batched), ("FlashInfer POD", single)):
        try:
            import flashinfer

            run = wrapper(flashinfer)
            chunk_o, decode_o = run()
            output = torch.cat((decode_o.view_as(decode_q), chunk_o.view_as(chunk_q)))
            steps[name], outputs[name] = time_graph(torch, run), output
        except Exception as error:  # noqa: BLE001: any failure of a peer must leave the others
            print(f"{name}: left out: {error}", file=sys.stderr)
    return steps


def check(outputs, steps, what):
    """Compares chunk and decode rows of every output with those of two launches, which tests compare with float64.
    Removes the steps of a peer that differs."""
    for name, o in outputs.items():
        for part, begin, end in (("decode", 0, DECODES), ("chunk", DECODES, DECODES + CHUNK)):
            reference = outputs[TWO][begin:end].float()
            difference = ((o[begin:end].float() - reference).norm() / reference.norm()).item()
            print(f"{what}: {name}: {part} differs from two launches by {difference:.2g}", file=sys.stderr)
            if not difference < 1e-2:
                if name in (ONE, TWO):
                    raise SystemExit(f"{what}: {name} has another result than two launches")
                steps.pop(name, None)


def measure(torch, cubinet, runtime, heads_q, chunk_kv, options):
    batch = Batch(torch, heads_q, chunk_kv)
    calls, outputs = ours(runtime, cubinet, batch, heads_q)
    steps = {name: time_graph(torch, call) for name, call in calls.items()}
    if options.peers:
        steps |= flashinfer_pods(batch, heads_q, outputs)
    name = f"chunk of {CHUNK} over {chunk_kv}, {DECODES} decodes of {KV}, {heads_q}/{HEADS_KV} heads"
    check(outputs, steps, name)
    values = run_rounds(steps, options.rounds)
    goals = {TWO: 1.0, "FlashInfer batch POD": 1.0, "FlashInfer POD": 1.0}
    return row(name, "us", values, compare(values, ONE, goals))


def print_plans(cubinet, runtime):
    for heads_q, chunk_kv in SHAPES:
        for problem in problems(cubinet, heads_q, chunk_kv):
            plan = runtime.attention_plan(problem, sm_count=132)
            print(json.dumps({"heads_q": heads_q, "chunk_kv": chunk_kv, "batch": problem.batch, "plan": plan}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", help="not used")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--peers", action="store_true", help="FlashInfer too, which compiles its kernels first")
    parser.add_argument("--plans", action="store_true", help="print our plans for an H200 and measure nothing")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    options = parser.parse_args()

    import cubinet

    with tempfile.TemporaryDirectory() as home:
        runtime = cubinet.Runtime(home=home)
        if options.plans:
            print_plans(cubinet, runtime)
            return 0

        import torch

        torch.manual_seed(0)
        rows = []
        for heads_q, chunk_kv in SHAPES:
            rows.append(measure(torch, cubinet, runtime, heads_q, chunk_kv, options))
            write(options.output, "mixed", options.commit, rows)  # of the shapes so far
        print_goals(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
