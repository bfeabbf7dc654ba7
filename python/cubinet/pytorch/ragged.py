# SPDX-License-Identifier: Apache-2.0
"""FlashAttention's sequences with different numbers of query tokens, over a paged cache."""

from __future__ import annotations

import torch

from cubinet.pytorch import decode, prefill, tokens
from cubinet.pytorch.arguments import bound_of, check_rank, check_sequences, check_shape, device_of, in_fp32, mask_of, tokens_of, type_of_output
from cubinet.pytorch.descales import Descales, head_scales
from cubinet.pytorch.scratch import current_device

_names = {
    "q": "q",
    "k": "k",
    "v": "v",
    "o": "out",
    "page_table": "block_table",
    "kv_lengths": "cu_seqlens_k",
    "q_offsets": "cu_seqlens_q",
    "sinks": "s_aux",
}


# The most query tokens that have a plan of their own. More are those of prompts, which share plans.
_few_tokens = 16


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
    options: decode.Options,
    descales: Descales = Descales(),
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Serves flash_attn_varlen_func() with a block_table. Returns O and, if wanted, the log-sum-exps
    [heads_q, tokens]."""
    device = device_of("q", q)
    if device != current_device():
        with torch.cuda.device(device):
            return with_page_table(
                q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, block_table, s_aux, out, options, descales
            )
    check_rank("q", q, "tokens, heads_q, head_dim")
    check_rank("k", k, "pages, page_size, heads_kv, head_dim")
    check_rank("v", v, "pages, page_size, heads_kv, head_dim")
    check_rank("block_table", block_table, "batch, pages")
    check_sequences(q, k, v, cu_seqlens_q, cu_seqlens_k, out)
    batch = cu_seqlens_q.shape[0] - 1
    check_shape("block_table", block_table, (batch, block_table.shape[1]), "with a row for each sequence")
    max_seqlen_q = tokens_of("max_seqlen_q", max_seqlen_q, q.shape[0])
    if q.shape[0] == 0:
        return prefill.without_tokens(q, v, s_aux, out, options)
    mask, window = mask_of(options.causal, options.window_size, max_seqlen_q)
    capacity = block_table.shape[1] * k.shape[1]
    q_len = max_seqlen_q if max_seqlen_q <= _few_tokens else min(bound_of(max_seqlen_q), capacity)
    scales = head_scales(descales, batch, k, k.shape[2])
    chosen = tokens.Options(capacity, q_len, "nhd", (options.softmax_scale or 0.0, 1.0),
                            window, options.softcap, mask=mask, kv_scales=scales.kind)
    given = tokens.Tensors(
        out=q.new_empty((*q.shape[:2], v.shape[3]), dtype=type_of_output(q)) if out is None else out,
        page_table=block_table,
        lengths=torch.diff(cu_seqlens_k),
        offsets=cu_seqlens_q,
        lse=q.new_empty(q.shape[:2], dtype=torch.float32) if options.return_lse else None,
        sinks=in_fp32(s_aux),
        k_head_scales=scales.k,
        v_head_scales=scales.v,
    )
    plan = tokens.find_or_plan("flash_attn_varlen_func", _names, q, k, v, given, chosen, device)
    tokens.run(plan, _names, q, k, v, given, device)
    return given.out, None if given.lse is None else given.lse.transpose(0, 1)
