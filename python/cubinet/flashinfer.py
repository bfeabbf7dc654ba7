# SPDX-License-Identifier: Apache-2.0
"""Calls of FlashInfer for tensors of PyTorch, with their keywords: decode, and attention over shared prefixes.

    from cubinet.flashinfer import MultiLevelCascadeAttentionWrapper, trtllm_batch_decode_with_kv_cache

An argument that no kernel can honour raises Unsupported. Thread-safe. Runs in the current stream.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from cubinet.errors import InvalidArgument
from cubinet.pytorch.arguments import device_of, refuse_given, refuse_gradients
from cubinet.pytorch.cascade import MultiLevelCascadeAttentionWrapper, parts_of
from cubinet.pytorch.scratch import current_device
from cubinet.pytorch.tokens import Options, Tensors, find_or_plan, run

__all__ = ["MultiLevelCascadeAttentionWrapper", "trtllm_batch_decode_with_kv_cache"]

_names = {
    "q": "query",
    "k": "kv_cache",
    "v": "kv_cache",
    "o": "out",
    "page_table": "block_tables",
    "kv_lengths": "seq_lens",
    "q_offsets": "cum_seq_lens_q",
    "softmax_scale": "bmm1_scale",
    "output_scale": "bmm2_scale",
    "scratch": "workspace_buffer",
    "counters": "multi_ctas_kv_counter_buffer",
}


def trtllm_batch_decode_with_kv_cache(
    query: torch.Tensor,
    kv_cache: torch.Tensor | tuple[torch.Tensor, torch.Tensor],
    workspace_buffer: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    max_seq_len: int,
    bmm1_scale: float | torch.Tensor = 1.0,
    bmm2_scale: float | torch.Tensor = 1.0,
    window_left: int = -1,
    out: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    o_sf_scale: float | None = None,
    o_sf_vec_size: int | None = None,
    sinks: torch.Tensor | list[torch.Tensor] | None = None,
    kv_layout: str = "HND",
    enable_pdl: bool | None = None,
    backend: str = "auto",
    q_len_per_req: int | None = 1,
    o_scale: float | None = 1.0,
    mask: torch.Tensor | None = None,
    max_q_len: int | None = None,
    cum_seq_lens_q: torch.Tensor | None = None,
    skip_softmax_threshold_scale_factor: float | None = None,
    kv_cache_sf: Any = None,
    uses_shared_paged_kv_idx: bool = True,
    lse: torch.Tensor | None = None,
    return_lse: bool = False,
    bmm1_scale_log2: torch.Tensor | None = None,
    multi_ctas_kv_counter_buffer: torch.Tensor | None = None,
    enable_block_sparse_attention: bool = False,
    cp_world: int = 1,
    cp_rank: int = 0,
    causal_seqlens_kv_global: torch.Tensor | None = None,
    bf16q_fp8kv_transform_mode: str | None = None,
    request_order: torch.Tensor | None = None,
    request_order_plan: Any = None,
) -> Any:
    """Computes causal attention of the newest tokens of each sequence over a paged KV cache.

    query         [batch * q_len_per_req, heads_q, head_dim]
    kv_cache      [pages, 2, heads_kv, page_size, head_dim] (HND), [pages, 2, page_size, heads_kv,
                  head_dim] (NHD), or the two parts as a tuple
    workspace_buffer    scratch memory of any content; it belongs to one stream
    block_tables  [batch, pages of a sequence], int32
    seq_lens      [batch], int32, at most max_seq_len: tokens of each sequence with the newest
    bmm1_scale    the factor of Q K^T, bmm2_scale that of O: numbers, or both one fp32 on the device
    window_left   tokens that a row sees before its own; -1: all
    sinks         [heads_q], fp32
    enable_pdl    True: the kernel may start before its predecessor in the stream ends
    cum_seq_lens_q, max_q_len    [batch + 1], int32: sequences with up to max_q_len query tokens
    lse           [tokens, heads_q], fp32, written: log-sum-exps to the base 2, as FlashInfer has them
    multi_ctas_kv_counter_buffer    zeroed memory, which is zero again after each call; None: the
                  library's own

    Returns O, [tokens, heads_q, head_dim], and with `return_lse` also `lse`.
    """
    refuse_given(
        "trtllm_batch_decode_with_kv_cache", o_sf_scale=o_sf_scale, o_sf_vec_size=o_sf_vec_size, mask=mask,
        skip_softmax_threshold_scale_factor=skip_softmax_threshold_scale_factor, kv_cache_sf=kv_cache_sf,
        causal_seqlens_kv_global=causal_seqlens_kv_global, bf16q_fp8kv_transform_mode=bf16q_fp8kv_transform_mode,
        request_order=request_order, request_order_plan=request_order_plan,
        o_scale=None if o_scale == 1.0 else o_scale, backend=None if backend == "auto" else backend,
        enable_block_sparse_attention=enable_block_sparse_attention or None,
        cp_world=None if cp_world == 1 else cp_world, cp_rank=cp_rank or None,
        uses_shared_paged_kv_idx=None if uses_shared_paged_kv_idx else False,
    )
    device = device_of("query", query)
    k, v = parts_of(kv_cache, "kv_cache")
    refuse_gradients(query=query, kv_cache=k)
    if device != current_device():
        with torch.cuda.device(device):
            return trtllm_batch_decode_with_kv_cache(
                query, (k, v), workspace_buffer, block_tables, seq_lens, max_seq_len, bmm1_scale, bmm2_scale,
                window_left, out, out_dtype, sinks=sinks, kv_layout=kv_layout, enable_pdl=enable_pdl,
                q_len_per_req=q_len_per_req, max_q_len=max_q_len, cum_seq_lens_q=cum_seq_lens_q, lse=lse,
                return_lse=return_lse, bmm1_scale_log2=bmm1_scale_log2,
                multi_ctas_kv_counter_buffer=multi_ctas_kv_counter_buffer,
            )
    # On the device the kernels read the scale of logits to the base 2.
    if bmm1_scale_log2 is not None:
        bmm1_scale = bmm1_scale_log2
    elif isinstance(bmm1_scale, torch.Tensor):
        bmm1_scale = bmm1_scale / math.log(2)
    elif isinstance(bmm2_scale, torch.Tensor):
        bmm1_scale = query.new_full((1,), bmm1_scale / math.log(2), dtype=torch.float32)
    if isinstance(sinks, list):
        sinks = sinks[0]
    if lse is None and return_lse:
        lse = query.new_empty(query.shape[:2], dtype=torch.float32)
    if out is None:
        out = torch.empty_like(query, dtype=out_dtype)
    if kv_layout not in ("HND", "NHD"):
        raise InvalidArgument(f"'kv_layout' is {kv_layout!r}", 'use "HND" or "NHD"')
    if (max_q_len is None) != (cum_seq_lens_q is None):
        raise InvalidArgument("'max_q_len' and 'cum_seq_lens_q' belong together", "pass both or none")
    scales = softmax_scale = output_scale = None
    if isinstance(bmm1_scale, torch.Tensor) or isinstance(bmm2_scale, torch.Tensor):
        softmax_scale = bmm1_scale
        output_scale = bmm2_scale if isinstance(bmm2_scale, torch.Tensor) else query.new_full((1,), bmm2_scale, dtype=torch.float32)
    elif bmm1_scale <= 0:
        raise InvalidArgument(f"'bmm1_scale' is {bmm1_scale}", "pass a positive factor")
    else:
        scales = (float(bmm1_scale), float(bmm2_scale))
    q_len = (q_len_per_req or 1) if max_q_len is None else max_q_len
    options = Options(max_seq_len, q_len, kv_layout.lower(), scales, 0 if window_left < 0 else window_left + 1, 0.0,
                      bool(enable_pdl))
    given = Tensors(out, block_tables, seq_lens, cum_seq_lens_q, lse, sinks, softmax_scale, output_scale)
    plan = find_or_plan("trtllm_batch_decode_with_kv_cache", _names, query, k, v, given, options, device)
    scratch_bytes = workspace_buffer.numel() * workspace_buffer.element_size()
    if scratch_bytes < plan.scratch_bytes:
        raise InvalidArgument(f"'workspace_buffer' has {scratch_bytes} bytes, and the plan needs {plan.scratch_bytes}",
                              "pass a larger one")
    run(plan, _names, query, k, v, given, device, workspace_buffer, multi_ctas_kv_counter_buffer)
    if lse is not None:
        lse.mul_(1 / math.log(2))
    return (out, lse) if return_lse else out

