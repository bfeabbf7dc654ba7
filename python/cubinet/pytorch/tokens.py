# SPDX-License-Identifier: Apache-2.0
"""Decode attention as serving engines call it: query tokens of all sequences in one tensor, lengths with
the newest tokens."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from cubinet.errors import InvalidArgument
from cubinet.pytorch.arguments import check_rank
from cubinet.pytorch.plans import Plan, find_plan, make_plan, renamed, type_name
from cubinet.pytorch.scratch import current_stream, scratch_of_stream
from cubinet.pytorch.settings import count_decode


class Options(NamedTuple):
    """The options of a call that are no tensors. Together with shapes and types they name a plan."""

    max_seq_len: int
    """The most KV tokens of a sequence."""
    q_len: int = 1
    """Query tokens of each sequence; with offsets the most of one."""
    kv_order: str = "hnd"
    scales: tuple[float, float] | None = None
    """The factors of Q K^T (0: 1 / sqrt(head_dim)) and of O. None: each is one fp32 on the device."""
    window: int = 0
    """The most KV tokens that a row sees; 0: all."""
    soft_cap: float = 0.0
    starts_early: bool = False
    mask: str = "causal"
    kv_scales: str = "none"


class Tensors(NamedTuple):
    """The tensors of a call beside Q, K and V."""

    out: torch.Tensor
    """[tokens, heads_q, head_dim], written."""
    page_table: torch.Tensor
    """[batch, pages of a sequence], int32."""
    lengths: torch.Tensor
    """[batch], int32."""
    offsets: torch.Tensor | None = None
    """[batch + 1], int32: the first query token of each sequence. None: each has q_len."""
    lse: torch.Tensor | None = None
    """[tokens, heads_q], fp32, natural logarithm, written."""
    sinks: torch.Tensor | None = None
    softmax_scale: torch.Tensor | None = None
    """One fp32 on the device: the factor of Q K^T times log2(e)."""
    output_scale: torch.Tensor | None = None
    k_head_scales: torch.Tensor | None = None
    """[heads_kv], or [batch, heads_kv], by Options.kv_scales."""
    v_head_scales: torch.Tensor | None = None


def find_or_plan(
    function: str, names: dict[str, str], q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, given: Tensors,
    options: Options, device: int,
) -> Plan:
    """Returns the plan of a call. `names` are the function's names for the keywords of a run."""
    table = given.page_table
    key = (
        function, q.shape, k.shape, v.shape, table.shape, q.dtype, k.dtype, v.dtype, given.out.dtype, device, options,
        given.offsets is None, given.lse is None, given.sinks is None,
    )
    plan = find_plan(key)
    if plan is not None:
        return plan
    name_q, name_k, name_table = names["q"], names["k"], names["page_table"]
    check_rank(name_q, q, "tokens, heads_q, head_dim")
    check_rank(name_table, table, "batch, pages")
    for part in (k, v):
        check_rank(name_k, part, "pages, heads_kv or page_size, page_size or heads_kv, head_dim")
    page_size, heads_kv = (k.shape[2], k.shape[1]) if options.kv_order == "hnd" else (k.shape[1], k.shape[2])
    members: dict[str, Any] = {
        "batch": table.shape[0],
        "q_len": options.q_len,
        "ragged_q": given.offsets is not None,
        "kv_len": options.max_seq_len,
        "heads_q": q.shape[1],
        "heads_kv": heads_kv,
        "head_dim_qk": q.shape[2],
        "head_dim_v": v.shape[-1],
        "type_q": type_name(name_q, q),
        "type_kv": type_name(name_k, k),
        "type_o": type_name(names["o"], given.out),
        "page_size": page_size,
        "kv_order": options.kv_order,
        "mask": options.mask,
        "window": options.window,
        "soft_cap": options.soft_cap,
        "lse": given.lse is not None,
        "sinks": given.sinks is not None,
        "scales_on_device": options.scales is None,
        "kv_scales": options.kv_scales,
    }
    if options.scales is not None:
        members |= {"softmax_scale": options.scales[0], "output_scale": options.scales[1]}
    shapes = {name_q: q, name_k: k, name_table: table}
    return make_plan(key, function, members, device, shapes, starts_early=options.starts_early)


def run(
    plan: Plan, names: dict[str, str], q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, given: Tensors, device: int,
    scratch: torch.Tensor | None = None, counters: torch.Tensor | None = None,
) -> None:
    """Runs a plan in the current stream. None: scratch memory and counters of this stream or capture."""
    if scratch is None or counters is None:
        own = scratch_of_stream(device, current_stream(device), plan.scratch_bytes if scratch is None else 0,
                                plan.counter_bytes)
        scratch = own.scratch if scratch is None else scratch
        counters = own.counters if counters is None else counters
    out, lse = given.out, given.lse
    if given.offsets is None:
        batch = given.page_table.shape[0]
        if batch == 0 or q.shape[0] % batch != 0:
            raise InvalidArgument(f"'{names['q']}' has {q.shape[0]} tokens for {batch} sequences",
                                  "pass equally many tokens of each sequence")
        q = q.view(batch, -1, *q.shape[1:])
        out = out.view(batch, -1, *out.shape[1:])
        lse = None if lse is None else lse.view(batch, -1, lse.shape[-1])
    try:
        plan.attention.run(
            q=q, k=k, v=v, o=out, page_table=given.page_table, kv_lengths=given.lengths, q_offsets=given.offsets,
            lse=lse, sinks=given.sinks, softmax_scale=given.softmax_scale, output_scale=given.output_scale,
            k_head_scales=given.k_head_scales, v_head_scales=given.v_head_scales, scratch=scratch, counters=counters,
        )
    except InvalidArgument as error:
        raise renamed(error, names) from None
    count_decode()
