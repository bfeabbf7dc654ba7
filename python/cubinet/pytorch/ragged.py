# SPDX-License-Identifier: Apache-2.0
"""Decode attention whose query tokens are contiguous: sequences with different numbers of them."""

from __future__ import annotations

import torch

from cubinet.errors import InvalidArgument
from cubinet.pytorch.arguments import check_rank, device_of
from cubinet.pytorch.decode import Options, flash_names, make_flash_plan
from cubinet.pytorch.plans import find_plan, renamed
from cubinet.pytorch.scratch import current_device, current_stream, scratch_of_stream
from cubinet.pytorch.settings import count_decode

_names = flash_names | {"k": "k", "v": "v", "kv_lengths": "cu_seqlens_k", "q_offsets": "cu_seqlens_q"}


def with_page_table(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    block_table: torch.Tensor,
    s_aux: torch.Tensor | None,
    out: torch.Tensor | None,
    options: Options,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Serves flash_attn_varlen_func() with a block_table. Returns O and, if wanted, the log-sum-exps
    [heads_q, tokens]."""
    device = device_of("q", q)
    if device != current_device():
        with torch.cuda.device(device):
            return with_page_table(
                q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, block_table, s_aux, out, options
            )
    key = (
        "ragged", q.shape[1:], k.shape, v.shape, block_table.shape, cu_seqlens_q.shape, max_seqlen_q, q.dtype, k.dtype,
        v.dtype, device, options, s_aux is None,
    )
    plan = find_plan(key)
    if plan is None:
        check_rank("q", q, "tokens, heads_q, head_dim")
        check_rank("cu_seqlens_q", cu_seqlens_q, "batch + 1")
        members = {"batch": cu_seqlens_q.shape[0] - 1, "q_len": max_seqlen_q, "ragged_q": True,
                   "sinks": s_aux is not None}
        plan = make_flash_plan(key, "flash_attn_varlen_func", q, k, v, block_table, options, members, device)
    lengths = torch.diff(cu_seqlens_k)
    sinks = s_aux if s_aux is None or s_aux.dtype == torch.float32 else s_aux.float()
    out = torch.empty_like(q) if out is None else out
    lse = q.new_empty(q.shape[:2], dtype=torch.float32) if options.return_lse else None
    buffers = scratch_of_stream(device, current_stream(device), plan.scratch_bytes, plan.counter_bytes)
    try:
        plan.attention.run(
            q=q, k=k, v=v, o=out, page_table=block_table, kv_lengths=lengths, q_offsets=cu_seqlens_q, lse=lse,
            sinks=sinks, scratch=buffers.scratch, counters=buffers.counters,
        )
    except InvalidArgument as error:
        raise renamed(error, _names) from None
    count_decode()
    return out, None if lse is None else lse.transpose(0, 1)
