# SPDX-License-Identifier: Apache-2.0
"""Decode of other implementations, for attention_peer.py: FlashAttention-3, and XQA through FlashInfer.

A function takes a problem, its paged cache, the number of copies, and the class of refusals. It returns a description
and one call for each copy of K and V."""


def check(problem, paged, name, declined):
    if problem["operation"] != "decode" or problem["mask"] != "causal":
        raise declined(f"{name} is measured on decode with a causal mask here")
    if problem["dtype_q"] != "bf16" or problem["dtype_o"] != "bf16":
        raise declined(f"{name} is measured with Q and output of bf16 here")
    if problem["sinks"] and paged.folder:
        raise declined("our sinks are not among the inputs of a peer")


def caches(problem, paged):
    return [paged.tensor(name, (paged.all, paged.page, problem["heads_kv"], dim), problem["dtype_kv"])
            for name, dim in (("k", problem["head_dim_qk"]), ("v", problem["head_dim_v"]))]


def fa3_decode(problem, paged, copies, declined):
    """FlashAttention-3 as engines call it: the splits are those of its heuristic, computed by each call."""
    import flash_attn_interface as fa3
    import torch

    check(problem, paged, "FA3", declined)
    if problem["dtype_kv"] != "bf16":
        raise declined("FA3 takes K and V of Q's type")
    query = paged.tensor("q", (problem["batch"], problem["q_len"], problem["heads_q"], problem["head_dim_qk"]), "bf16", 4)
    keys, values = caches(problem, paged)
    options = {"cache_seqlens": torch.tensor(paged.lengths, dtype=torch.int32, device="cuda"), "causal": True,
               "softcap": problem.get("soft_cap", 0.0), "num_splits": 0}
    if "window" in problem:
        options["window_size"] = (problem["window"] - 1, 0)
    if problem["sinks"]:
        options["sinks"] = torch.randn(problem["heads_q"], dtype=torch.bfloat16, device="cuda")
    return "FA3, splits by its heuristic", [
        lambda table=paged.table(torch, copy): fa3.flash_attn_with_kvcache(query, keys, values, page_table=table, **options)
        for copy in range(copies)]


def causal_mask(torch, batch, q_len):
    """Returns the mask of draft tokens as XQA reads it: bit j of row i is set if token i sees token j."""
    words = (q_len + 31) // 32 * 2
    rows = [[((1 << (token + 1)) - 1) >> (16 * word) & 0xFFFF for word in range(words)] for token in range(q_len)]
    return torch.tensor(rows, dtype=torch.int32).repeat(batch, 1, 1).to(torch.uint16).cuda()


def xqa_decode(problem, paged, copies, declined):
    """XQA, TensorRT-LLM's decode kernels, as FlashInfer compiles them: a module for each group size, head dim, page size,
    type and number of query tokens."""
    import flashinfer
    import torch
    from flashinfer.decode import xqa_batch_decode_with_kv_cache

    check(problem, paged, "XQA", declined)
    if "soft_cap" in problem:
        raise declined("XQA has no soft cap")
    q_len, heads = problem["q_len"], problem["heads_q"]
    query = paged.tensor("q", (problem["batch"] * q_len, heads, problem["head_dim_qk"]), "bf16", 4)
    # The function reshapes Q of several tokens, but not the output.
    output = torch.empty_like(query if q_len == 1 else query.view(-1, q_len, *query.shape[1:]))
    cache = tuple(caches(problem, paged))
    options = {"workspace_buffer": torch.zeros(264 << 20, dtype=torch.uint8, device="cuda"),
               "seq_lens": torch.tensor(paged.lengths, dtype=torch.int32, device="cuda").view(torch.uint32),
               "max_seq_len": max(paged.lengths), "bmm1_scale": problem["head_dim_qk"] ** -0.5, "q_len_per_req": q_len,
               "window_left": problem["window"] - 1 if "window" in problem else -1, "out": output, "kv_layout": "NHD"}
    if q_len > 1:
        options["mask"] = causal_mask(torch, problem["batch"], q_len)
    if problem["sinks"]:
        options["sinks"] = torch.randn(heads, dtype=torch.float32, device="cuda")
    return f"XQA of FlashInfer {flashinfer.__version__}", [
        lambda table=paged.table(torch, copy): xqa_batch_decode_with_kv_cache(query, cache, block_tables=table, **options)
        for copy in range(copies)]
