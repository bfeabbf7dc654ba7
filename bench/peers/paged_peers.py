# SPDX-License-Identifier: Apache-2.0
"""Prefill, verification and decode over one paged cache by other implementations, for attention_peer.py in `cubinet bench
invariance`: FlashAttention-3 and FlashInfer, as they choose splits of KV, and with the splits that engines fix for equal
bits.

A function takes a problem, its paged cache, the number of copies, and the class of refusals. It returns a description
and one call for each copy of K and V."""

SPLIT_TOKENS = 2048  # of FlashInfer's fixed splits, as engines use it


class Rows:
    """The query tokens of a problem, side by side, and its caches."""

    def __init__(self, problem, paged, declined):
        import torch

        if problem["qkv_layout"] != "paged_kv" or problem["mask"] != "causal":
            raise declined("causal attention over paged KV is compared here")
        if problem["sinks"]:
            raise declined("our sinks are not among the inputs of a peer")
        if problem["dtype_kv"] != problem["dtype_q"] or problem["dtype_o"] != problem["dtype_q"]:
            raise declined("one type of Q, K, V and O is compared here")
        self.counts = problem.get("q_lengths", [problem["q_len"]] * problem["batch"])
        starts = [0]
        for count in self.counts:
            starts.append(starts[-1] + count)
        self.starts = torch.tensor(starts, dtype=torch.int32)
        self.query = paged.tensor("q", (starts[-1], problem["heads_q"], problem["head_dim_qk"]), problem["dtype_q"], 4)
        self.keys, self.values = (
            paged.tensor(name, (paged.all, paged.page, problem["heads_kv"], problem[f"head_dim_{dim}"]), problem["dtype_kv"])
            for name, dim in (("k", "qk"), ("v", "v")))


def fa3_paged(problem, paged, copies, declined, splits=0):
    """FlashAttention-3 with `splits` splits of KV; 0: by its heuristic."""
    import flash_attn_interface as fa3
    import torch

    rows = Rows(problem, paged, declined)
    options = {"cache_seqlens": torch.tensor(paged.lengths, dtype=torch.int32, device="cuda"), "causal": True,
               "cu_seqlens_q": rows.starts.cuda(), "max_seqlen_q": max(rows.counts), "num_splits": splits,
               "softcap": problem.get("soft_cap", 0.0),
               "window_size": (problem["window"] - 1, 0) if "window" in problem else (-1, -1)}
    return f"FA3, {splits} split" if splits else "FA3, splits by its heuristic", [
        lambda table=paged.table(torch, copy): fa3.flash_attn_with_kvcache(
            rows.query, rows.keys, rows.values, page_table=table, **options) for copy in range(copies)]


def fa3_paged_one_split(problem, paged, copies, declined):
    return fa3_paged(problem, paged, copies, declined, splits=1)


def flashinfer_paged(problem, paged, copies, declined, split_tokens=None):
    """FlashInfer's fa2 kernels, which alone have fixed splits; its fa3 kernels would take a minute to compile."""
    import flashinfer
    import torch

    rows = Rows(problem, paged, declined)
    heads, heads_kv, dim = problem["heads_q"], problem["heads_kv"], problem["head_dim_qk"]
    if problem["head_dim_v"] != dim:
        raise declined("one head dim is compared here")
    options = {"q_data_type": rows.query.dtype, "kv_data_type": rows.keys.dtype,
               "logits_soft_cap": problem.get("soft_cap", 0.0),
               "window_left": problem["window"] - 1 if "window" in problem else -1,
               "fixed_split_size": split_tokens // paged.page if split_tokens else None}
    wrappers = []
    for copy in range(copies):
        space = torch.empty(512 << 20, dtype=torch.uint8, device="cuda")
        indices = paged.orders[copy].cuda()
        pages = (paged.starts(torch), indices, paged.last_page_lengths(torch), heads, heads_kv, dim, paged.page)
        if problem["operation"] == "decode" and max(rows.counts) == 1:
            wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(space, "NHD", use_tensor_cores=True, backend="fa2")
            wrapper.plan(*pages, **options)
        else:
            wrapper = flashinfer.BatchPrefillWithPagedKVCacheWrapper(space, "NHD", backend="fa2")
            wrapper.plan(rows.starts, *pages, causal=True, **options)
        wrappers.append((wrapper, indices, space))
    cache = (rows.keys, rows.values)
    what = f"FlashInfer {flashinfer.__version__}, fa2" + (f", splits of {split_tokens} tokens" if split_tokens else "")
    return what, [lambda wrapper=wrapper: wrapper.run(rows.query, cache) for wrapper, _, _ in wrappers]


def flashinfer_paged_fixed_splits(problem, paged, copies, declined):
    return flashinfer_paged(problem, paged, copies, declined, split_tokens=SPLIT_TOKENS)


PEERS = {"fa3_paged": fa3_paged, "fa3_paged_one_split": fa3_paged_one_split, "flashinfer_paged": flashinfer_paged,
         "flashinfer_paged_fixed_splits": flashinfer_paged_fixed_splits}
