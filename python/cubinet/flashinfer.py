# SPDX-License-Identifier: Apache-2.0
"""The functional decode call of FlashInfer for tensors of PyTorch, with its keywords.

    from cubinet.flashinfer import trtllm_batch_decode_with_kv_cache

An argument that no kernel can honour raises Unsupported. Thread-safe. Runs in the current stream.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from cubinet.errors import InvalidArgument
from cubinet.pytorch.arguments import check_rank, device_of, refuse_given, refuse_gradients
from cubinet.pytorch.plans import Plan, find_plan, make_plan, renamed, type_name
from cubinet.pytorch.scratch import current_device, current_stream, scratch_of_stream
from cubinet.pytorch.settings import count_decode

__all__ = ["trtllm_batch_decode_with_kv_cache"]

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
    k, v = _parts(kv_cache)
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
    on_device = isinstance(bmm1_scale, torch.Tensor) or isinstance(bmm2_scale, torch.Tensor)
    scales = None if on_device else (float(bmm1_scale), float(bmm2_scale))
    key = (
        "trtllm", query.shape, k.shape, v.shape, block_tables.shape, max_seq_len, query.dtype, k.dtype, v.dtype,
        out.dtype, device, kv_layout, scales, window_left, sinks is None, lse is None, enable_pdl, q_len_per_req,
        max_q_len, cum_seq_lens_q is None,
    )
    plan = find_plan(key)
    if plan is None:
        plan = _make_plan(key, query, k, v, block_tables, max_seq_len, scales, window_left, out, kv_layout, enable_pdl,
                          q_len_per_req, max_q_len, cum_seq_lens_q, sinks is not None, lse is not None, device)
    scratch_bytes = workspace_buffer.numel() * workspace_buffer.element_size()
    if scratch_bytes < plan.scratch_bytes:
        raise InvalidArgument(f"'workspace_buffer' has {scratch_bytes} bytes, and the plan needs {plan.scratch_bytes}",
                              "pass a larger one")
    counters = multi_ctas_kv_counter_buffer
    if counters is None:
        counters = scratch_of_stream(device, current_stream(device), 0, plan.counter_bytes).counters
    shape = (seq_lens.shape[0], -1) if cum_seq_lens_q is None else (-1,)
    try:
        plan.attention.run(
            q=query.view(*shape, *query.shape[1:]), k=k, v=v, o=out.view(*shape, *out.shape[1:]),
            page_table=block_tables, kv_lengths=seq_lens, lse=None if lse is None else lse.view(*shape, lse.shape[-1]),
            sinks=sinks, q_offsets=cum_seq_lens_q, softmax_scale=bmm1_scale if on_device else None,
            output_scale=_on_device(bmm2_scale, query) if on_device else None, scratch=workspace_buffer,
            counters=counters,
        )
    except InvalidArgument as error:
        raise renamed(error, _names) from None
    count_decode()
    if lse is not None:
        lse.mul_(1 / math.log(2))
    return (out, lse) if return_lse else out


def _parts(kv_cache: torch.Tensor | tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    if isinstance(kv_cache, (tuple, list)):
        if len(kv_cache) != 2:
            raise InvalidArgument(f"'kv_cache' has {len(kv_cache)} parts", "pass K and V")
        return kv_cache[0], kv_cache[1]
    check_rank("kv_cache", kv_cache, "pages, 2, heads_kv or page_size, page_size or heads_kv, head_dim")
    if kv_cache.shape[1] == 1:
        return kv_cache.squeeze(1), kv_cache.squeeze(1)
    if kv_cache.shape[1] != 2:
        raise InvalidArgument(f"'kv_cache' has the shape {list(kv_cache.shape)}", "pass K and V in dimension 1")
    return kv_cache.unbind(1)  # type: ignore[return-value]


def _on_device(scale: float | torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return scale if isinstance(scale, torch.Tensor) else like.new_full((1,), scale, dtype=torch.float32)


def _make_plan(
    key: Any, query: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block_tables: torch.Tensor, max_seq_len: int,
    scales: tuple[float, float] | None, window_left: int, out: torch.Tensor, kv_layout: str, enable_pdl: bool | None,
    q_len_per_req: int | None, max_q_len: int | None, cum_seq_lens_q: torch.Tensor | None, sinks: bool, lse: bool,
    device: int,
) -> Plan:
    check_rank("query", query, "tokens, heads_q, head_dim")
    check_rank("block_tables", block_tables, "batch, pages")
    for part in (k, v):
        check_rank("kv_cache", part, "pages, heads_kv or page_size, page_size or heads_kv, head_dim")
    if kv_layout not in ("HND", "NHD"):
        raise InvalidArgument(f"'kv_layout' is {kv_layout!r}", 'use "HND" or "NHD"')
    if (max_q_len is None) != (cum_seq_lens_q is None):
        raise InvalidArgument("'max_q_len' and 'cum_seq_lens_q' belong together", "pass both or none")
    if scales is not None and scales[0] <= 0:
        raise InvalidArgument(f"'bmm1_scale' is {scales[0]}", "pass a positive factor")
    page_size, heads_kv = (k.shape[2], k.shape[1]) if kv_layout == "HND" else (k.shape[1], k.shape[2])
    members: dict[str, Any] = {
        "batch": block_tables.shape[0],
        "q_len": (q_len_per_req or 1) if max_q_len is None else max_q_len,
        "ragged_q": cum_seq_lens_q is not None,
        "kv_len": max_seq_len,
        "heads_q": query.shape[1],
        "heads_kv": heads_kv,
        "head_dim_qk": query.shape[2],
        "head_dim_v": v.shape[-1],
        "type_q": type_name("query", query),
        "type_kv": type_name("kv_cache", k),
        "type_o": type_name("out", out),
        "page_size": page_size,
        "kv_order": kv_layout.lower(),
        "window": 0 if window_left < 0 else window_left + 1,
        "lse": lse,
        "sinks": sinks,
        "scales_on_device": scales is None,
    }
    if scales is not None:
        members |= {"softmax_scale": scales[0], "output_scale": scales[1]}
    shapes = {"query": query, "kv_cache": k, "block_tables": block_tables}
    return make_plan(key, "trtllm_batch_decode_with_kv_cache", members, device, shapes, starts_early=bool(enable_pdl))
