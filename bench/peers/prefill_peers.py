# SPDX-License-Identifier: Apache-2.0
"""Prefill of other implementations, for attention_peer.py: FlashAttention-3, and cuDNN through PyTorch.

A function takes a problem, the number of copies, and a maker of inputs. It returns a description and one call for each
copy of K and V."""


class Prefill:
    """The sizes of a problem of prefill, and its inputs: files, or random tensors in as many copies."""

    def __init__(self, problem, copies, tensor, paged):
        import torch

        self.torch = torch
        self.problem = problem
        self.copies = copies
        self.tensor = tensor
        self.paged = paged  # None if KV is contiguous
        self.batch, self.q_len = problem["batch"], problem["q_len"]
        self.heads, self.heads_kv = problem["heads_q"], problem["heads_kv"]
        self.dim_qk, self.dim_v = problem["head_dim_qk"], problem["head_dim_v"]
        self.lengths = problem["kv_lengths"]
        self.q_lengths = problem.get("q_lengths", [self.q_len] * self.batch)
        self.is_causal = problem["mask"] == "causal"
        self.is_ragged = problem["ragged_q"] or problem["qkv_layout"] == "separate_qkv"

    def query(self):
        shape = (sum(self.q_lengths),) if self.is_ragged else (self.batch, self.q_len)
        return self.tensor("q", (*shape, self.heads, self.dim_qk), self.problem["dtype_q"], 4)

    def caches(self):
        """K and V of each copy."""
        if self.paged is not None:
            rows = (self.paged.all, self.paged.page)
            caches = [self.tensor(name, (*rows, self.heads_kv, dim), self.problem["dtype_kv"])
                      for name, dim in (("k", self.dim_qk), ("v", self.dim_v))]
            return [caches] * self.copies  # the page tables differ
        if self.problem["qkv_layout"] == "separate_qkv":
            rows = (sum(self.lengths),)
        else:
            rows = (self.batch, self.problem["kv_len"])
        return [[self.tensor(name, (*rows, self.heads_kv, dim), self.problem["dtype_kv"])
                 for name, dim in (("k", self.dim_qk), ("v", self.dim_v))] for _ in range(self.copies)]

    def starts(self, lengths):
        starts = [0]
        for length in lengths:
            starts.append(starts[-1] + length)
        return self.torch.tensor(starts, dtype=self.torch.int32, device="cuda")

    def is_square(self):
        return self.lengths == self.q_lengths and len(set(self.lengths)) == 1


def fa3_prefill(prefill, declined):
    """FlashAttention-3: without splits if every sequence is a whole prompt, otherwise as its heuristic splits KV."""
    import flash_attn_interface as fa3

    if prefill.problem.get("soft_cap") or prefill.problem["sinks"]:
        raise declined("FA3 is measured without sinks and soft caps here")
    query = prefill.query()
    window = (prefill.problem["window"] - 1, 0) if "window" in prefill.problem else (-1, -1)
    options = {"causal": prefill.is_causal, "window_size": window}
    calls = []
    lengths = prefill.torch.tensor(prefill.lengths, dtype=prefill.torch.int32, device="cuda")
    q_starts = prefill.starts(prefill.q_lengths)
    if prefill.problem["qkv_layout"] == "separate_qkv":
        starts = prefill.starts(prefill.lengths)
        for keys, values in prefill.caches():
            calls.append(lambda keys=keys, values=values: fa3.flash_attn_varlen_func(
                query, keys, values, q_starts, starts, prefill.q_len, max(prefill.lengths), **options))
        return "FA3, variable lengths", calls
    if prefill.is_square() and prefill.paged is None and not prefill.is_ragged:
        for keys, values in prefill.caches():
            calls.append(lambda keys=keys, values=values: fa3.flash_attn_func(query, keys, values, **options))
        return "FA3", calls
    if prefill.is_ragged:
        options |= {"cu_seqlens_q": q_starts, "max_seqlen_q": prefill.q_len}
    for copy, (keys, values) in enumerate(prefill.caches()):
        table = None if prefill.paged is None else prefill.paged.table(prefill.torch, copy)
        calls.append(lambda keys=keys, values=values, table=table: fa3.flash_attn_with_kvcache(
            query, keys, values, cache_seqlens=lengths, page_table=table, num_splits=0, **options))
    return "FA3, splits by its heuristic", calls


def cudnn_prefill(prefill, declined):
    """cuDNN through PyTorch: equal lengths, contiguous KV."""
    torch = prefill.torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    if prefill.problem["dtype_q"] == "e4m3":
        raise declined("PyTorch asks cuDNN for 16 bits only")
    is_plain = not prefill.problem["sinks"] and "window" not in prefill.problem and "soft_cap" not in prefill.problem
    if not is_plain or prefill.is_ragged or prefill.paged is not None or (prefill.is_causal and not prefill.is_square()):
        raise declined("cuDNN is measured on equal whole prompts over contiguous KV here")
    query = prefill.query().transpose(1, 2)
    caches = [[tensor.transpose(1, 2) for tensor in pair] for pair in prefill.caches()]

    def call(copy):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            output = torch.nn.functional.scaled_dot_product_attention(
                query, *caches[copy], is_causal=prefill.is_causal, enable_gqa=prefill.heads != prefill.heads_kv)
        return output.transpose(1, 2)

    return f"cuDNN {torch.backends.cudnn.version()}", [lambda copy=copy: call(copy) for copy in range(prefill.copies)]
