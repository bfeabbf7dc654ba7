#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A decode step of 64 sequences that share a prefix of 32768 tokens and have 1024 tokens of their own: attention over
the shared prefix, beside plain decode over the same pages. With --peers, FlashInfer's cascade too."""
import argparse
import sys
import tempfile

from graph_timing import time_graph
from rounds import compare, print_goals, row, run_rounds, write

SEQUENCES, PREFIX, OWN, HEADS_KV, DIM, PAGE = 64, 32768, 1024, 8, 128, 16


def measure(torch, cubinet, runtime, heads_q, rounds, peers):
    pages, own_pages = PREFIX // PAGE, OWN // PAGE
    cache = torch.randn(pages + SEQUENCES * own_pages, 2, PAGE, HEADS_KV, DIM, device="cuda", dtype=torch.bfloat16)
    numbers = torch.randperm(cache.shape[0], device="cuda").to(torch.int32)
    shared, own = numbers[:pages].view(1, pages), numbers[pages:].view(SEQUENCES, own_pages)
    k, v = cache.unbind(1)
    q = torch.randn(SEQUENCES, heads_q, DIM, device="cuda", dtype=torch.bfloat16)
    outputs = {}

    def lengths(count, length):
        return torch.full((count,), length, dtype=torch.int32, device="cuda")

    def contender(name, table, kv_len, tensors, **members):
        problem = cubinet.AttentionProblem(batch=SEQUENCES, kv_len=kv_len, heads_q=heads_q, heads_kv=HEADS_KV,
                                           page_size=PAGE, **members)
        attention = runtime.attention(problem)
        workspace, outputs[name] = attention.workspace(), torch.empty_like(q)
        given = {"q": q, "k": k, "v": v, "o": outputs[name], "page_table": table,
                 "kv_lengths": lengths(SEQUENCES, kv_len), "workspace": workspace} | tensors
        return time_graph(torch, lambda: attention.run(**given))

    group = torch.tensor([0, SEQUENCES], dtype=torch.int32, device="cuda")
    steps = {
        "shared prefix": contender(
            "shared prefix", own, OWN,
            {"prefix_page_table": shared, "prefix_lengths": lengths(1, PREFIX), "group_offsets": group},
            prefix_groups=1, prefix_len=PREFIX),
        "plain decode": contender("plain decode", torch.cat((shared.expand(SEQUENCES, -1), own), 1).contiguous(),
                                  PREFIX + OWN, {}),
    }
    if peers:
        try:
            import flashinfer

            wrapper = flashinfer.MultiLevelCascadeAttentionWrapper(
                2, torch.empty(256 << 20, dtype=torch.uint8, device="cuda"), "NHD")
            steps_of = torch.arange(SEQUENCES + 1, dtype=torch.int32, device="cuda")
            wrapper.plan([group, steps_of], [group // SEQUENCES * pages, steps_of * own_pages],
                         [shared.view(-1), own.reshape(-1)], [lengths(1, PAGE), lengths(SEQUENCES, PAGE)], heads_q,
                         HEADS_KV, DIM, PAGE, q_data_type=torch.bfloat16)

            def theirs():
                outputs["FlashInfer cascade"] = wrapper.run(q, cache)

            steps["FlashInfer cascade"] = time_graph(torch, theirs)
        except Exception as error:  # noqa: BLE001: any failure of a peer must leave ours
            print(f"FlashInfer: left out: {error}", file=sys.stderr)
    reference = outputs["plain decode"].float()
    for name, o in outputs.items():
        difference = ((o.float() - reference).norm() / reference.norm()).item()
        print(f"{heads_q} heads, {name}: differs from plain decode by {difference:.2g}", file=sys.stderr)
        if not difference < 1e-2:
            if name in ("shared prefix", "plain decode"):
                raise SystemExit(f"{name} has another result than plain decode")
            steps.pop(name)  # a peer must not end ours
    values = run_rounds(steps, rounds)
    return row(f"{SEQUENCES} sequences, {PREFIX} shared, {OWN} own, {heads_q}/{HEADS_KV} heads", "us", values,
               compare(values, "shared prefix", {"plain decode": 0.25, "FlashInfer cascade": None}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", help="not used")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peers", action="store_true", help="FlashInfer too, which compiles its kernels first")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    options = parser.parse_args()

    import torch

    import cubinet

    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as home:
        runtime = cubinet.Runtime(home=home)
        rows = [measure(torch, cubinet, runtime, heads_q, options.rounds, options.peers) for heads_q in (32, 64)]
        write(options.output, "shared_prefix", options.commit, rows)
        print_goals(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
