# SPDX-License-Identifier: Apache-2.0
"""Attention over contiguous K and V, as FlashAttention's functions without a cache compute it."""

from __future__ import annotations

from typing import Any

import torch

from cubinet.errors import InvalidArgument, NotFound, Unsupported
from cubinet.pytorch import varlen
from cubinet.pytorch.arguments import bound_of, check_rank, check_sequences, device_of, in_fp32, mask_of, tokens_of, type_of_output
from cubinet.pytorch.decode import Options
from cubinet.pytorch.descales import Descales, head_scales
from cubinet.pytorch.plans import Plan, current_runtime, find_plan, make_plan, name_of, renamed, type_name
from cubinet.pytorch.scratch import current_device, current_stream, scratch_of_stream
from cubinet.pytorch.settings import count_decode
from cubinet.runtime import Runtime

_names = {"o": "out", "kv_lengths": "cu_seqlens_k", "kv_offsets": "cu_seqlens_k", "q_offsets": "cu_seqlens_q", "sinks": "s_aux"}

# The reasons why no kernel serves calls, by the keys of their plans, with the Runtime of each.
_unserved: dict[Any, tuple[Runtime, str]] = {}


def attend(
    function: str,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    s_aux: torch.Tensor | None,
    out: torch.Tensor | None,
    options: Options,
    descales: Descales = Descales(),
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Returns O, [tokens, heads_q, head_dim], and, if wanted, the log-sum-exps, [heads_q, tokens].

    Q, K and V are [tokens, heads, head_dim]; `cu_seqlens_*` are [batch + 1], int32. `function` is the
    name that errors state. What no kernel serves goes to PyTorch's varlen_attn.
    """
    device = device_of("q", q)
    if device != current_device():
        with torch.cuda.device(device):
            return attend(function, q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, s_aux, out, options,
                          descales)
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        check_rank(name, tensor, f"tokens, {'heads_q' if name == 'q' else 'heads_kv'}, head_dim")
    check_sequences(q, k, v, cu_seqlens_q, cu_seqlens_k, out)
    max_seqlen_q = tokens_of("max_seqlen_q", max_seqlen_q, q.shape[0])
    max_seqlen_k = tokens_of("max_seqlen_k", max_seqlen_k, k.shape[0])
    if q.shape[0] == 0 or k.shape[0] == 0:
        return without_tokens(q, v, s_aux, out, options)
    out_type = type_of_output(q) if out is None else out.dtype
    q_len = bound_of(max_seqlen_q)
    kv_len = max(bound_of(max_seqlen_k), q_len)
    batch = cu_seqlens_q.shape[0] - 1
    scales = head_scales(descales, batch, k, k.shape[1])
    key = (function, batch, q_len, kv_len, q.shape[1:], k.shape[1:], v.shape[1:], q.dtype, k.dtype, v.dtype, device,
           options, s_aux is None, out_type, scales.kind)
    plan = find_plan(key)
    if plan is None:
        plan = _plan(key, function, (batch, q_len, kv_len), (q, k, v), s_aux is not None, out_type, scales.kind, options,
                     device)
    if isinstance(plan, str):
        if s_aux is not None or out is not None or options.softcap or scales.kind != "none":
            raise Unsupported(f"{function}: {plan}", "leave out 's_aux', 'out', 'softcap' and the descales")
        return varlen.attend(function, plan, q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                             options)
    if out is None:
        out = q.new_empty((*q.shape[:2], v.shape[2]), dtype=out_type)
    lse = q.new_empty(q.shape[:2], dtype=torch.float32) if options.return_lse else None
    buffers = scratch_of_stream(device, current_stream(device), plan.scratch_bytes, plan.counter_bytes)
    try:
        plan.attention.run(
            q=q, k=k, v=v, o=out, kv_lengths=torch.diff(cu_seqlens_k), q_offsets=cu_seqlens_q, kv_offsets=cu_seqlens_k,
            lse=lse, sinks=in_fp32(s_aux), k_head_scales=scales.k, v_head_scales=scales.v, scratch=buffers.scratch, counters=buffers.counters,
        )
    except InvalidArgument as error:
        raise renamed(error, _names) from None
    count_decode()
    return out, None if lse is None else lse.transpose(0, 1)


def without_tokens(
    q: torch.Tensor, v: torch.Tensor, s_aux: torch.Tensor | None, out: torch.Tensor | None, options: Options
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Returns the results of rows that see no token: O is 0, and the log-sum-exp is that of the sinks."""
    if out is None:
        out = q.new_empty((*q.shape[:2], v.shape[-1]), dtype=type_of_output(q))
    out.zero_()
    if not options.return_lse:
        return out, None
    lse = q.new_empty(q.shape[:2], dtype=torch.float32)
    if s_aux is None:
        lse.fill_(float("-inf"))
    else:
        lse.copy_(s_aux)
    return out, lse.transpose(0, 1)


def _plan(
    key: Any, function: str, sizes: tuple[int, int, int], tensors: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    sinks: bool, out_type: torch.dtype, kv_scales: str, options: Options, device: int,
) -> Plan | str:
    """Returns the plan, or the reason why no kernel serves the call."""
    runtime, reason = _unserved.get(key, (None, ""))
    if runtime is not None and runtime is current_runtime():
        return reason
    batch, q_len, kv_len = sizes
    q, k, v = tensors
    try:
        mask, window = mask_of(options.causal, options.window_size, q_len)
        members: dict[str, Any] = {
            "prefill": True,
            "kv_layout": "sequences",
            "batch": batch,
            "q_len": q_len,
            "kv_len": kv_len,
            "ragged_q": True,
            "heads_q": q.shape[1],
            "heads_kv": k.shape[1],
            "head_dim_qk": q.shape[2],
            "head_dim_v": v.shape[2],
            "type_q": type_name("q", q),
            "type_kv": type_name("k", k),
            "type_o": name_of("out", out_type),
            "mask": mask,
            "window": window,
            "softmax_scale": options.softmax_scale or 0.0,
            "soft_cap": options.softcap,
            "lse": options.return_lse,
            "sinks": sinks,
            "kv_scales": kv_scales,
        }
        return make_plan(key, function, members, device, {"q": q, "k": k, "v": v})
    except (Unsupported, NotFound) as error:
        # In a capture, a kernel that is not loaded is an error, as with other functions.
        if isinstance(error, NotFound) and torch.cuda.is_current_stream_capturing():
            raise
        reason = error.message.removeprefix(f"{function}: ")
        _unserved[key] = (current_runtime(), reason)
        return reason
