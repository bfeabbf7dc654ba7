# SPDX-License-Identifier: Apache-2.0
"""The functions of FlashAttention 2 for tensors of PyTorch, with its keywords. Tensors of e4m3 have the
scales of FlashAttention 3.

    from cubinet.flash_attn import flash_attn_with_kvcache

Attention over a KV cache and over contiguous prompts runs on cubinet's kernels. Prompts that no
kernel serves, such as those of other head dims, run on PyTorch's
`torch.nn.attention.varlen.varlen_attn`; `cubinet.pytorch.calls()` counts both, and
`cubinet.pytorch.configure(fallback="never")` makes the second an error.

An argument that no kernel can honour raises Unsupported. Inputs that need gradients are refused.
The functions may be captured in CUDA graphs and traced by `torch.compile(fullgraph=True)`.
Thread-safe. They run in the current stream.
"""

from __future__ import annotations

from typing import Any

import torch

from cubinet.pytorch import decode, operators, prefill, ragged
from cubinet.pytorch.arguments import check_rank, check_shape, refuse_given, refuse_gradients, scale_of, window_of
from cubinet.pytorch.decode import Options, Tensors
from cubinet.pytorch.descales import Descales

__all__ = ["flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache"]


def flash_attn_with_kvcache(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    k: torch.Tensor | None = None,
    v: torch.Tensor | None = None,
    rotary_cos: torch.Tensor | None = None,
    rotary_sin: torch.Tensor | None = None,
    cache_seqlens: torch.Tensor | int | None = None,
    cache_batch_idx: torch.Tensor | None = None,
    cache_leftpad: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    rotary_interleaved: bool = True,
    alibi_slopes: torch.Tensor | None = None,
    num_splits: int = 0,
    return_softmax_lse: bool = False,
    *,
    s_aux: torch.Tensor | None = None,
    q_descale: torch.Tensor | None = None,
    k_descale: torch.Tensor | None = None,
    v_descale: torch.Tensor | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Computes attention of a few query tokens of each sequence over a KV cache.

    q             [batch, q_len, heads_q, head_dim], bf16, fp16 or e4m3
    k_cache, v_cache    [pages, page_size, heads_kv, head_dim] with a block_table, otherwise
                  [batch, tokens, heads_kv, head_dim] whose tokens are a multiple of 8. Any strides
                  whose last is 1. Pages are of 8 to 256 tokens.
    k, v          [batch, q_len, heads_kv, head_dim]: written into the cache first
    rotary_cos, rotary_sin    [positions, rotary_dim / 2]: q and k are rotated. Both are converted
                  to fp32 in each call.
    cache_seqlens [batch], int32, or an int: tokens of each sequence, without those of `k`.
                  None: the cache is full.
    cache_batch_idx    [batch], integers: the row of the cache of each sequence
    block_table   [batch, pages of a sequence], int32; entries behind the last page may be -1
    window_size   (left, right): a row sees `left` tokens before its own; -1: all
    num_splits    KV splits; 0: the plan decides
    s_aux         [heads_q]: a logit of each head that only adds to the softmax sum (sinks)
    *_descale     [batch, heads_kv]: with caches of e4m3, the factors of Q, K and V of each sequence
                  and KV head. Tensors expanded from one row are read as that row. New tokens are
                  divided by those of K and V before they are stored.
    out           [batch, q_len, heads_q, head_dim], written; None: a new tensor of the type of `q`, or
                  of bf16 for e4m3

    Query tokens are the last of their sequences. Returns O, and with `return_softmax_lse` also the
    natural log-sum-exps, [batch, heads_q, q_len], fp32. A row that sees no token has the O 0 and the
    log-sum-exp -inf. The first call with a shape plans and loads; it may compile a kernel. In a
    capture nothing is compiled or loaded.
    """
    refuse_given("flash_attn_with_kvcache", cache_leftpad=cache_leftpad, alibi_slopes=alibi_slopes)
    refuse_gradients(q=q, k_cache=k_cache, v_cache=v_cache, k=k, v=v)
    given = Tensors(k, v, rotary_cos, rotary_sin, cache_seqlens, cache_batch_idx, block_table, s_aux,
                    Descales(q_descale, k_descale, v_descale), out)
    options = Options(scale_of(softmax_scale), causal, window_of(window_size), softcap, rotary_interleaved, num_splits,
                      return_softmax_lse)
    serve = operators.with_cache if torch.compiler.is_compiling() else decode.with_cache
    o, lse = serve(q, k_cache, v_cache, given, options)
    return (o, lse) if return_softmax_lse else o


def flash_attn_varlen_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: torch.Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    block_table: torch.Tensor | None = None,
    *,
    s_aux: torch.Tensor | None = None,
    q_descale: torch.Tensor | None = None,
    k_descale: torch.Tensor | None = None,
    v_descale: torch.Tensor | None = None,
    out: torch.Tensor | None = None,
) -> Any:
    """Computes attention of sequences whose tokens are contiguous.

    q             [tokens, heads_q, head_dim]
    k, v          [tokens of all sequences, heads_kv, head_dim], or with a block_table
                  [pages, page_size, heads_kv, head_dim]
    cu_seqlens_*  [batch + 1], int32: where each sequence begins, and the end of the last, at most
                  the tokens of the tensor. Their values are on the device and are not checked.
    max_seqlen_*  the most tokens of a sequence
    block_table   [batch, pages of a sequence], int32
    s_aux, *_descale, out    as in flash_attn_with_kvcache()

    Query tokens are the last of their sequences. Without a block_table, PyTorch's varlen_attn serves
    what no kernel does; it has no `softcap` and no sinks.
    Returns O, and with `return_attn_probs` (O, log-sum-exps [heads_q, tokens], None).
    """
    refuse_given("flash_attn_varlen_func", alibi_slopes=alibi_slopes, dropout_p=dropout_p or None)
    refuse_gradients(q=q, k=k, v=v)
    window = window_of(window_size)
    options = Options(scale_of(softmax_scale), causal, window, softcap, return_lse=return_attn_probs)
    descales = Descales(q_descale, k_descale, v_descale)
    if block_table is not None:
        serve = operators.with_page_table if torch.compiler.is_compiling() else ragged.with_page_table
        o, lse = serve(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, block_table, s_aux, out, options,
                       descales)
    else:
        attend = operators.prefill_attend if torch.compiler.is_compiling() else prefill.attend
        o, lse = attend("flash_attn_varlen_func", q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                        s_aux, out, options, descales)
    return (o, lse, None) if return_attn_probs else o


def flash_attn_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: torch.Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    *,
    q_descale: torch.Tensor | None = None,
    k_descale: torch.Tensor | None = None,
    v_descale: torch.Tensor | None = None,
) -> Any:
    """Computes attention of sequences of equal length.

    q is [batch, q_len, heads_q, head_dim], k and v are [batch, kv_len, heads_kv, head_dim]. The last
    tokens of Q and K belong together. `*_descale` are as in flash_attn_with_kvcache(). Returns O, and
    with `return_attn_probs` (O, log-sum-exps [batch, heads_q, q_len], None).
    """
    refuse_given("flash_attn_func", alibi_slopes=alibi_slopes, dropout_p=dropout_p or None)
    refuse_gradients(q=q, k=k, v=v)
    check_rank("q", q, "batch, q_len, heads_q, head_dim")
    check_rank("k", k, "batch, kv_len, heads_kv, head_dim")
    check_rank("v", v, "batch, kv_len, heads_kv, head_dim")
    check_shape("k", k, (q.shape[0], *k.shape[1:]), "with the batch of 'q'")
    check_shape("v", v, (*k.shape[:3], v.shape[3]), "as 'k' but for the last size")
    batch, q_len, kv_len = q.shape[0], q.shape[1], k.shape[1]
    numbers = torch.arange(batch + 1, dtype=torch.int32, device=q.device)
    options = Options(scale_of(softmax_scale), causal, window_of(window_size), softcap, return_lse=return_attn_probs)
    attend = operators.prefill_attend if torch.compiler.is_compiling() else prefill.attend
    o, lse = attend("flash_attn_func", q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1), numbers * q_len,
                    numbers * kv_len, q_len, kv_len, None, None, options, Descales(q_descale, k_descale, v_descale))
    o = o.view(q.shape[:3] + o.shape[2:])
    return (o, lse.reshape(q.shape[2], batch, q_len).transpose(0, 1), None) if return_attn_probs else o
