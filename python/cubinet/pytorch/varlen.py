# SPDX-License-Identifier: Apache-2.0
"""Attention over contiguous prompts by PyTorch's own kernel, torch.nn.attention.varlen."""

from __future__ import annotations

import torch

from cubinet.errors import Unsupported
from cubinet.pytorch.settings import check_fallback, count_fallback

try:
    from torch.nn.attention.varlen import AuxRequest, varlen_attn
except ImportError:  # PyTorch before 2.11
    varlen_attn = None  # type: ignore[assignment]


def attend(
    function: str,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    scale: float | None,
    causal: bool,
    window: tuple[int, int],
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns O, [tokens, heads_q, head_dim], and the log-sum-exps, [heads_q, tokens].

    Q, K and V are [tokens, heads, head_dim]; `cu_seqlens_*` are [batch + 1], int32. `window` is that
    of arguments.window_of(). `function` is the name that errors state.
    """
    check_fallback(function, "no kernel of cubinet has contiguous K and V")
    if varlen_attn is None:
        raise Unsupported(f"{function}: PyTorch {torch.__version__} has no torch.nn.attention.varlen",
                          "install PyTorch 2.11 or later")
    if not torch.compiler.is_compiling():
        count_fallback()
    # PyTorch's kernel has its causal mask only as a bound on the right.
    o, lse = varlen_attn(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                         return_aux=AuxRequest(lse=True), scale=scale, window_size=(window[0], 0) if causal else window)
    return o, lse
