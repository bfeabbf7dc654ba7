# SPDX-License-Identifier: Apache-2.0
"""Attention over contiguous prompts by PyTorch's own kernel, torch.nn.attention.varlen."""

from __future__ import annotations

import torch

from cubinet.errors import Unsupported
from cubinet.pytorch.decode import Options
from cubinet.pytorch.settings import check_fallback, count_fallback

try:
    from torch.nn.attention.varlen import AuxRequest, varlen_attn
except ImportError:  # PyTorch before 2.11
    varlen_attn = None  # type: ignore[assignment]


def attend(
    function: str,
    reason: str,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    options: Options,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Returns O, [tokens, heads_q, head_dim], and, if wanted, the log-sum-exps, [heads_q, tokens].

    Q, K and V are [tokens, heads, head_dim]; `cu_seqlens_*` are [batch + 1], int32. `function` is the
    name that errors state, `reason` why no kernel of cubinet serves the call.
    """
    check_fallback(function, reason)
    if varlen_attn is None:
        raise Unsupported(f"{function}: {reason}, and PyTorch {torch.__version__} has no torch.nn.attention.varlen",
                          "install PyTorch 2.11 or later")
    count_fallback()
    # PyTorch's kernel has its causal mask only as a bound on the right.
    window = (options.window_size[0], 0) if options.causal else options.window_size
    o, lse = varlen_attn(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                         return_aux=AuxRequest(lse=True), scale=options.softmax_scale, window_size=window)
    return o, lse if options.return_lse else None
