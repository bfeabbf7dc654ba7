#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Another implementation for `cubinet bench attention --peer NAME=COMMAND`: answers each line of JSON on stdin with one
on stdout. {"problem": {...}, "runs": N, "copies": N} makes inputs of its own and captures N runs in a CUDA graph, over
as many caches in turn as ours: {"ready": what it is} or {"declined": why}. {"time": 1} launches the graph once
unmeasured and once measured: {"seconds": of one run}. With "inputs", a folder, they are those of its files q, k, v and
page_table, and {"output": FILE} writes what one run of them gives: {"written": FILE}."""
import argparse
import json
import os
import sys
import tempfile

import decode_peers
import paged_peers
import prefill_peers


class Declined(Exception):
    pass


def types(torch):
    return {"bf16": torch.bfloat16, "fp16": torch.float16, "e4m3": torch.float8_e4m3fn}


def random(torch, shape, kind, factor=1.0):
    # Made in a wide type: torch fills none of 8 bits.
    return (torch.randn(shape, dtype=torch.bfloat16, device="cuda") * factor).to(types(torch)[kind])


class Paged:
    """The page table of a batch, its pages in random order, in a cache of `copies` times as many."""

    def __init__(self, torch, problem, copies):
        self.torch = torch
        self.folder = problem.get("inputs")
        self.page = problem["page_size"]
        self.lengths = problem["kv_lengths"]
        self.counts = [-(-length // self.page) for length in self.lengths]
        self.pages = sum(self.counts)
        self.all = self.pages * copies
        self.orders = [(torch.randperm(self.pages) + copy * self.pages).to(torch.int32) for copy in range(copies)]
        if self.folder:
            table = self.file("page_table", torch.int32).reshape(len(self.lengths), -1)
            self.orders = [torch.cat([row[:count] for row, count in zip(table, self.counts)])]
            self.all = -1  # what is in the files

    def file(self, name, kind):
        with open(os.path.join(self.folder, name), "rb") as content:
            return self.torch.frombuffer(bytearray(content.read()), dtype=kind)

    def tensor(self, name, shape, kind, factor=1.0):
        """An input: of its file, or random. Its first dimension is -1 where the file has to say it."""
        if not self.folder:
            return random(self.torch, shape, kind, factor)
        return self.file(name, types(self.torch)[kind]).reshape(shape).cuda()

    def starts(self, torch):
        starts = [0]
        for count in self.counts:
            starts.append(starts[-1] + count)
        return torch.tensor(starts, dtype=torch.int32)

    def last_page_lengths(self, torch):
        return torch.tensor([length - (count - 1) * self.page if count else 0
                             for length, count in zip(self.lengths, self.counts)], dtype=torch.int32)

    def table(self, torch, copy):
        table = torch.zeros(len(self.counts), max(self.counts), dtype=torch.int32)
        first = 0
        for row, count in enumerate(self.counts):
            table[row, :count] = self.orders[copy][first:first + count]
            first += count
        return table.cuda()


def flashinfer_calls(problem, copies):
    """FlashInfer's tensor-core kernels: decode of one query token, prefill's of more, which take no e4m3 Q there."""
    import flashinfer
    import torch

    if problem["operation"] == "mla-decode":
        return flashinfer_latent_calls(problem, copies)
    if problem["operation"] != "decode" or problem["sinks"] or problem["mask"] != "causal":
        raise Declined("decode with a causal mask and no sinks is what is asked of FlashInfer here")
    if problem["dtype_q"] == "e4m3" or problem["dtype_o"] != problem["dtype_q"]:
        raise Declined("FlashInfer's fa2 kernels take Q of 16 bits, and give the output Q's type")
    paged = Paged(torch, problem, copies)
    heads, heads_kv, dim = problem["heads_q"], problem["heads_kv"], problem["head_dim_qk"]
    batch, q_len = problem["batch"], problem["q_len"]
    kinds = types(torch)
    if paged.folder:
        cache = tuple(paged.tensor(name, (-1, paged.page, heads_kv, dim), problem["dtype_kv"]) for name in "kv")
    else:
        cache = random(torch, (paged.all, 2, paged.page, heads_kv, dim), problem["dtype_kv"])
    query = paged.tensor("q", (batch * q_len, heads, dim), problem["dtype_q"], 4)
    output = torch.empty_like(query)
    common = dict(q_data_type=kinds[problem["dtype_q"]], kv_data_type=kinds[problem["dtype_kv"]],
                  window_left=problem["window"] - 1 if "window" in problem else -1,
                  logits_soft_cap=problem.get("soft_cap", 0.0))
    wrappers = []
    for copy in range(copies):
        workspace = torch.zeros(256 << 20, dtype=torch.uint8, device="cuda")
        indices = paged.orders[copy].cuda()
        if q_len == 1:
            wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD", use_tensor_cores=True,
                                                                    backend="fa2")
            wrapper.plan(paged.starts(torch), indices, paged.last_page_lengths(torch), heads, heads_kv, dim,
                         paged.page, **common)
        else:
            wrapper = flashinfer.BatchPrefillWithPagedKVCacheWrapper(workspace, "NHD", backend="fa2")
            q_starts = torch.arange(batch + 1, dtype=torch.int32) * q_len
            wrapper.plan(q_starts, paged.starts(torch), indices, paged.last_page_lengths(torch), heads, heads_kv, dim,
                         paged.page, causal=True, **common)
        wrappers.append((wrapper, indices, workspace))
    return f"FlashInfer {flashinfer.__version__}, fa2", [
        lambda wrapper=wrapper: wrapper.run(query, cache, out=output) for wrapper, _, _ in wrappers]


def flashinfer_latent_calls(problem, copies):
    import flashinfer
    import torch

    if problem["dtype_kv"] != "bf16" or problem["dtype_q"] != "bf16":
        raise Declined("FlashInfer's latent attention on 9.0 takes bf16")
    paged = Paged(torch, problem, copies)
    heads, batch, q_len = problem["heads_q"], problem["batch"], problem["q_len"]
    pool = paged.tensor("k", (paged.all, paged.page, 576), "bf16")
    query = paged.tensor("q", (batch * q_len, heads, 576), "bf16", 2)
    output = torch.empty(batch * q_len, heads, 512, dtype=torch.bfloat16, device="cuda")
    q_starts = torch.arange(batch + 1, dtype=torch.int32) * q_len
    lengths = torch.tensor(paged.lengths, dtype=torch.int32)
    wrappers = []
    for copy in range(copies):
        workspace = torch.zeros(256 << 20, dtype=torch.uint8, device="cuda")
        wrapper = flashinfer.mla.BatchMLAPagedAttentionWrapper(workspace, backend="fa3")
        wrapper.plan(q_starts.cuda(), paged.starts(torch).cuda(), paged.orders[copy].cuda(), lengths.cuda(), heads, 512,
                     64, paged.page, True, 192 ** -0.5, torch.bfloat16, torch.bfloat16)
        wrappers.append((wrapper, workspace))
    return f"FlashInfer {flashinfer.__version__}, fa3", [
        lambda wrapper=wrapper: wrapper.run(query[..., :512], query[..., 512:], pool[..., :512], pool[..., 512:],
                                            out=output, return_lse=False) for wrapper, _ in wrappers]


def flash_mla_calls(problem, copies):
    """FlashMLA's Hopper kernels: bf16, and e4m3 of both Q and KV."""
    import torch
    from flash_mla.flash_mla_interface import (FlashMLASchedMeta, flash_mla_with_kvcache,
                                               get_mla_decoding_metadata)

    if problem["operation"] != "mla-decode" or problem["page_size"] != 64:
        raise Declined("FlashMLA is for latent attention over pages of 64")
    paged = Paged(torch, problem, copies)
    heads, batch, q_len = problem["heads_q"], problem["batch"], problem["q_len"]
    kind = problem["dtype_kv"]
    if kind != problem["dtype_q"]:
        raise Declined("FlashMLA takes Q of the cache's type")
    pool = paged.tensor("k", (paged.all, 64, 1, 576), kind)
    query = paged.tensor("q", (batch, q_len, heads, 576), kind, 2)
    lengths = torch.tensor(paged.lengths, dtype=torch.int32, device="cuda")
    scale = torch.ones(1, dtype=torch.float32, device="cuda")
    more = {"use_legacy": True, "softmax_scale": 192 ** -0.5, "causal": True}
    if kind == "e4m3":
        more |= {"is_fp8_kvcache": True, "descale_q": scale, "descale_k": scale}
    calls = []
    for copy in range(copies):
        division = FlashMLASchedMeta()
        if kind == "e4m3":
            division.tile_scheduler_metadata, division.num_splits = get_mla_decoding_metadata(
                lengths, q_len * heads, 1, is_fp8_kvcache=True, use_legacy=True)
        calls.append(lambda table=paged.table(torch, copy), division=division: flash_mla_with_kvcache(
            query, pool, table, lengths, 512, division, **more)[0])
    return "FlashMLA (sgl-flash-mla)", calls


def cudnn_calls(problem, copies):
    """cuDNN through PyTorch, which reads contiguous KV: the least that a paged kernel could be held against."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    if problem["operation"] == "prefill":
        return prefill_calls(prefill_peers.cudnn_prefill, problem, copies)
    lengths = set(problem["kv_lengths"])
    if problem["operation"] != "decode" or problem["q_len"] != 1 or len(lengths) != 1 or problem["dtype_kv"] == "e4m3":
        raise Declined("one query token over equal lengths of 16 bits is what is asked of cuDNN here")
    if problem["sinks"] or "window" in problem or "soft_cap" in problem:
        raise Declined("cuDNN is asked for neither sinks, window nor soft cap here")
    heads, heads_kv, batch = problem["heads_q"], problem["heads_kv"], problem["batch"]
    length, dim = lengths.pop(), problem["head_dim_qk"]
    paged = Paged(torch, problem, 1)
    query = paged.tensor("q", (batch, heads, 1, dim), problem["dtype_q"], 4)
    if paged.folder:
        table = paged.table(torch, 0).long()
        pools = (paged.tensor(name, (-1, paged.page, heads_kv, dim), problem["dtype_kv"]) for name in "kv")
        keys, values = (pool[table].reshape(1, batch, -1, heads_kv, dim)[:, :, :length].transpose(2, 3).contiguous()
                        for pool in pools)
    else:
        keys, values = (random(torch, (copies, batch, heads_kv, length, dim), problem["dtype_kv"]) for _ in range(2))

    def call(copy):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(query, keys[copy], values[copy], enable_gqa=True)

    return f"cuDNN {torch.backends.cudnn.version()}, contiguous KV", [lambda copy=copy: call(copy)
                                                                      for copy in range(copies)]


def prefill_calls(calls, problem, copies):
    import torch

    def tensor(name, shape, kind, factor=1.0):
        if "inputs" not in problem:
            return random(torch, shape, kind, factor)
        with open(os.path.join(problem["inputs"], name), "rb") as content:
            return torch.frombuffer(bytearray(content.read()), dtype=types(torch)[kind]).reshape(shape).cuda()

    # An output beside e4m3 has 16 bits.
    kind = "bf16" if problem["dtype_q"] == "e4m3" else problem["dtype_q"]
    if problem["operation"] != "prefill" or problem["dtype_kv"] != problem["dtype_q"] or problem["dtype_o"] != kind:
        raise Declined("prefill of one type of Q, K and V is measured here")
    paged = Paged(torch, problem, copies) if problem["qkv_layout"] == "paged_kv" else None
    return calls(prefill_peers.Prefill(problem, copies, tensor, paged), Declined)


def fa3_calls(problem, copies):
    import torch

    if problem["operation"] == "prefill":
        return prefill_calls(prefill_peers.fa3_prefill, problem, copies)
    return decode_peers.fa3_decode(problem, Paged(torch, problem, copies), copies, Declined)


def xqa_calls(problem, copies):
    import torch

    return decode_peers.xqa_decode(problem, Paged(torch, problem, copies), copies, Declined)


def paged_calls(calls):
    def make(problem, copies):
        import torch

        return calls(problem, Paged(torch, problem, copies), copies, Declined)

    return make


PEERS = {"flashinfer": flashinfer_calls, "flash_mla": flash_mla_calls, "cudnn": cudnn_calls, "fa3": fa3_calls,
         "xqa": xqa_calls, **{name: paged_calls(calls) for name, calls in paged_peers.PEERS.items()}}


class Graph:
    """`runs` calls in turn, captured."""

    def __init__(self, calls, runs):
        import torch

        for call in calls:
            call()
        torch.cuda.synchronize()
        self.runs = runs
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for run in range(runs):
                calls[run % len(calls)]()
        self.calls = calls  # own the tensors
        self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def seconds(self):
        self.graph.replay()
        self.start.record()
        self.graph.replay()
        self.end.record()
        self.end.synchronize()
        return self.start.elapsed_time(self.end) * 1e-3 / self.runs


def answer(state, make_calls, question):
    if "time" in question:
        return {"seconds": state["graph"].seconds()}
    import torch

    if "output" in question:
        output = state["graph"].calls[0]()
        torch.cuda.synchronize()
        with open(question["output"], "wb") as file:
            file.write(output.contiguous().view(torch.uint8).cpu().numpy().tobytes())
        return {"written": question["output"]}

    state.clear()  # the last problem's memory
    torch.cuda.empty_cache()
    try:
        problem = question["problem"]
        if "shared_prefix" in problem:
            raise Declined("a shared prefix is not measured here")
        if "kv_scales" in problem:
            raise Declined("scales of KV heads are not measured here")
        if "inputs" in question:
            problem["inputs"] = question["inputs"]
        what, calls = make_calls(problem, 1 if "inputs" in question else question["copies"])
        state["graph"] = Graph(calls, question["runs"])
    except Declined as reason:
        return {"declined": str(reason)}
    except Exception as error:  # noqa: BLE001: the peer's own, told in its place
        state.clear()
        return {"declined": f"{type(error).__name__}: {str(error)[:400]}"}
    return {"ready": what}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=sorted(PEERS))
    options = parser.parse_args()
    os.environ.setdefault("FLASHINFER_DISABLE_VERSION_CHECK", "1")
    os.environ.setdefault("FLASHINFER_WORKSPACE_BASE", os.path.join(tempfile.gettempdir(), "cubinet-flashinfer"))
    # Output of libraries must not be mixed with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import torch  # noqa: F401: takes seconds, which the peers of a benchmark spend at the same time

    state = {}
    for line in sys.stdin:
        print(json.dumps(answer(state, PEERS[options.peer], json.loads(line))), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
