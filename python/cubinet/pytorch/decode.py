# SPDX-License-Identifier: Apache-2.0
"""Decode attention over paged caches: from tensors of PyTorch to a run of a kept plan."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from cubinet.attention import AttentionProblem
from cubinet.errors import Error, InvalidArgument, Unsupported
from cubinet.pytorch.arguments import check_rank, device_of, in_fp32, mask_of, type_of_output
from cubinet.pytorch.dense_cache import pages_of
from cubinet.pytorch.descales import Descales, head_scales
from cubinet.pytorch.plans import Plan, find_plan, make_plan, renamed, type_name
from cubinet.pytorch.scratch import current_device, current_stream, scratch_of_stream
from cubinet.pytorch.settings import count_decode

# The keywords of a run by the names that FlashAttention gives its arguments. A name comes before
# those that it is part of.
_names = {
    "k": "k_cache",
    "v": "v_cache",
    "o": "out",
    "page_table": "block_table",
    "kv_lengths": "cache_seqlens",
    "new_q": "q",
    "new_k": "k",
    "new_v": "v",
    "sinks": "s_aux",
    "cos_sin": "rotary_cos",
}


class Options(NamedTuple):
    """The options of a call that are no tensors. Together with shapes and types they name a plan."""

    softmax_scale: float | None = None
    """None: 1 / sqrt(head_dim)."""
    causal: bool = False
    window_size: tuple[int, int] = (-1, -1)
    softcap: float = 0.0
    rotary_interleaved: bool = True
    num_splits: int = 0
    return_lse: bool = False


class Tensors(NamedTuple):
    """The tensors of a call beside Q and the caches, with the names of flash_attn_with_kvcache()."""

    k: torch.Tensor | None = None
    v: torch.Tensor | None = None
    rotary_cos: torch.Tensor | None = None
    rotary_sin: torch.Tensor | None = None
    cache_seqlens: torch.Tensor | int | None = None
    cache_batch_idx: torch.Tensor | None = None
    block_table: torch.Tensor | None = None
    s_aux: torch.Tensor | None = None
    descales: Descales = Descales()
    out: torch.Tensor | None = None


def with_cache(
    q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, given: Tensors, options: Options
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Serves flash_attn_with_kvcache(). Returns O and, if wanted, the log-sum-exps [batch, heads_q, q_len]."""
    device = device_of("q", q)
    if device != current_device():
        with torch.cuda.device(device):
            return with_cache(q, k_cache, v_cache, given, options)
    stream = current_stream(device)
    k, rotary_cos, lengths, table = given.k, given.rotary_cos, given.cache_seqlens, given.block_table
    if table is None:
        k_cache, v_cache, table = _dense_cache(q, k_cache, v_cache, given.cache_batch_idx, stream)
    elif given.cache_batch_idx is not None:
        raise InvalidArgument("'cache_batch_idx' and 'block_table' exclude each other", "leave one out")
    if k is not None and given.descales.q is not None:
        raise Unsupported("'q_descale' and 'k' are given, and new tokens are divided by one scale, that of K",
                          "multiply 'softmax_scale' or 'k_descale' instead")
    scales = head_scales(given.descales, q.shape[0], k_cache, k_cache.shape[2])
    out = torch.empty_like(q, dtype=type_of_output(q)) if given.out is None else given.out
    key = (
        q.shape, k_cache.shape, v_cache.shape, table.shape, q.dtype, k_cache.dtype, v_cache.dtype, device, options,
        None if k is None else k.dtype, None if rotary_cos is None else rotary_cos.shape, given.s_aux is None,
        scales.kind, out.dtype,
    )
    plan = find_plan(key)
    if plan is None:
        plan = _plan_with_cache(key, q, k_cache, v_cache, table, out, given, scales.kind, options, device)
    if lengths is None or isinstance(lengths, int):
        full = table.shape[1] * k_cache.shape[1]
        lengths = torch.full((q.shape[0],), full if lengths is None else lengths, dtype=torch.int32, device=q.device)
    cos_sin = rotated = None
    if rotary_cos is not None:
        if given.rotary_sin is None:
            raise InvalidArgument("'rotary_sin' is missing, and 'rotary_cos' is given", "pass both or none")
        cos_sin = torch.cat((rotary_cos, given.rotary_sin), dim=-1).float()
        rotated = torch.empty_like(q)
    lse = q.new_empty(q.shape[:3], dtype=torch.float32) if options.return_lse else None
    buffers = scratch_of_stream(device, stream, plan.scratch_bytes, plan.counter_bytes)
    try:
        plan.attention.run(
            q=q if rotated is None else rotated, k=k_cache, v=v_cache, o=out, page_table=table, kv_lengths=lengths,
            lse=lse, sinks=in_fp32(given.s_aux), new_q=None if rotated is None else q, new_k=k, new_v=given.v, cos_sin=cos_sin,
            k_head_scales=scales.k, v_head_scales=scales.v, scratch=buffers.scratch, counters=buffers.counters,
        )
    except InvalidArgument as error:
        raise renamed(error, _names) from None
    count_decode()
    return out, None if lse is None else lse.transpose(1, 2)


def _dense_cache(
    q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, rows: torch.Tensor | None, stream: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    for name, cache in (("k_cache", k_cache), ("v_cache", v_cache)):
        check_rank(name, cache, "batch, tokens, heads_kv, head_dim")
    k_pages, v_pages, table = pages_of(k_cache, v_cache, stream)
    if rows is not None:
        return k_pages, v_pages, table.index_select(0, rows)
    if k_cache.shape[0] != q.shape[0]:
        raise InvalidArgument(f"'k_cache' has a batch of {k_cache.shape[0]}, and 'q' has {q.shape[0]}",
                              "pass equal batches, or 'cache_batch_idx'")
    return k_pages, v_pages, table


def _plan_with_cache(
    key: Any, q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, table: torch.Tensor, out: torch.Tensor,
    given: Tensors, kv_scales: str, options: Options, device: int,
) -> Plan:
    check_rank("q", q, "batch, q_len, heads_q, head_dim")
    if given.k is not None and given.cache_seqlens is None:
        raise InvalidArgument("'cache_seqlens' is missing, and 'k' has new tokens", "pass the lengths without them")
    if given.rotary_cos is None and given.rotary_sin is not None:
        raise InvalidArgument("'rotary_cos' is missing, and 'rotary_sin' is given", "pass both or none")
    if given.rotary_cos is not None and given.k is None:
        raise InvalidArgument("'k' is missing, and 'rotary_cos' is given", "pass the new tokens")
    if given.rotary_cos is not None:
        check_rank("rotary_cos", given.rotary_cos, "positions, rotary_dim / 2")
        if q.shape[1] > 1 and not options.causal:
            raise Unsupported("'rotary_cos' is given without a causal mask, and 'q' has several tokens",
                              "pass causal=True")
    if given.k is not None and given.k.dtype != q.dtype and q.dtype != torch.float8_e4m3fn:
        raise InvalidArgument(f"'k' has elements of type {given.k.dtype}, and 'q' has {q.dtype}",
                              "pass new tokens of the type of 'q'")
    members: dict[str, Any] = {"batch": q.shape[0], "q_len": q.shape[1], "sinks": given.s_aux is not None}
    if given.k is not None:
        members |= {"append": True, "lengths_exclude_new": True, "append_type": type_name("k", given.k)}
    if given.rotary_cos is not None:
        members |= {"rope_dim": 2 * given.rotary_cos.shape[1], "rope_interleaved": options.rotary_interleaved}
    for name, cache in (("k_cache", k_cache), ("v_cache", v_cache)):
        check_rank(name, cache, "pages, page_size, heads_kv, head_dim")
    check_rank("block_table", table, "batch, pages")
    mask, window = mask_of(options.causal, options.window_size, members["q_len"])
    members |= {
        "kv_len": table.shape[1] * k_cache.shape[1],
        "heads_q": q.shape[-2],
        "heads_kv": k_cache.shape[2],
        "head_dim_qk": q.shape[-1],
        "head_dim_v": v_cache.shape[-1],
        "type_q": type_name("q", q),
        "type_kv": type_name("k_cache", k_cache),
        "type_o": type_name("out", out),
        "page_size": k_cache.shape[1],
        "mask": mask,
        "window": window,
        "softmax_scale": options.softmax_scale or 0.0,
        "soft_cap": options.softcap,
        "lse": options.return_lse,
        "kv_scales": kv_scales,
    }
    shapes = {"q": q, "k_cache": k_cache, "v_cache": v_cache, "block_table": table}
    return make_plan(key, "flash_attn_with_kvcache", members, device, shapes, splits=options.num_splits)
