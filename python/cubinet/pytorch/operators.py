# SPDX-License-Identifier: Apache-2.0
"""torch.ops.cubinet: the functions as operators, which torch.compile keeps whole.

The eager functions do not use them, because PyTorch's dispatcher takes longer than a launch.
"""

from __future__ import annotations

from typing import Any

import torch

from cubinet.pytorch import decode, prefill, ragged
from cubinet.pytorch.arguments import check_shape, type_of_output
from cubinet.pytorch.decode import Options, Tensors
from cubinet.pytorch.descales import Descales

_options = (
    "float? softmax_scale, bool causal, int window_left, int window_right, float softcap, bool rotary_interleaved, "
    "int num_splits, bool return_lse"
)
_scales = "Tensor? s_aux, Tensor? q_descale, Tensor? k_descale, Tensor? v_descale"
_library = torch.library.Library("cubinet", "DEF")
_library.define(
    "decode(Tensor q, Tensor k_cache, Tensor v_cache, Tensor? cache_seqlens, Tensor? cache_batch_idx, "
    f"Tensor? block_table, {_scales}, {_options}) -> (Tensor, Tensor)"
)
_library.define(
    "append_decode(Tensor q, Tensor(a!) k_cache, Tensor(b!) v_cache, Tensor k, Tensor v, Tensor? rotary_cos, "
    f"Tensor? rotary_sin, Tensor? cache_seqlens, Tensor? cache_batch_idx, Tensor? block_table, {_scales}, "
    f"{_options}) -> (Tensor, Tensor)"
)
_library.define(
    "ragged_decode(Tensor q, Tensor k, Tensor v, Tensor cu_seqlens_q, Tensor cu_seqlens_k, SymInt max_seqlen_q, "
    f"Tensor block_table, {_scales}, {_options}) -> (Tensor, Tensor)"
)
_library.define(
    "prefill(str function, Tensor q, Tensor k, Tensor v, Tensor cu_seqlens_q, Tensor cu_seqlens_k, SymInt max_seqlen_q, "
    f"SymInt max_seqlen_k, {_scales}, {_options}) -> (Tensor, Tensor)"
)


def _options_of(
    softmax_scale: float | None, causal: bool, window_left: int, window_right: int, softcap: float,
    rotary_interleaved: bool, num_splits: int, return_lse: bool,
) -> Options:
    return Options(softmax_scale, causal, (window_left, window_right), softcap, rotary_interleaved, num_splits, return_lse)


def _results(out: torch.Tensor, lse: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    # An operator cannot return None for a Tensor, and may not return a view of another result.
    return out, out.new_empty(0, dtype=torch.float32) if lse is None else lse.contiguous()


def _decode(
    q: Any, k_cache: Any, v_cache: Any, cache_seqlens: Any, cache_batch_idx: Any, block_table: Any, s_aux: Any, *values: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    given = Tensors(cache_seqlens=cache_seqlens, cache_batch_idx=cache_batch_idx, block_table=block_table, s_aux=s_aux,
                    descales=Descales(*values[:3]))
    return _results(*decode.with_cache(q, k_cache, v_cache, given, _options_of(*values[3:])))


def _append_decode(q: Any, k_cache: Any, v_cache: Any, *values: Any) -> tuple[torch.Tensor, torch.Tensor]:
    given = Tensors(*values[:8], descales=Descales(*values[8:11]))
    return _results(*decode.with_cache(q, k_cache, v_cache, given, _options_of(*values[11:])))


def _ragged_decode(*values: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return _results(*ragged.with_page_table(*values[:8], None, _options_of(*values[11:]), Descales(*values[8:11])))


def _prefill(function: str, *values: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return _results(*prefill.attend(function, *values[:8], None, _options_of(*values[11:]), Descales(*values[8:11])))


def _fake_prefill(function: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *arguments: Any) -> tuple[torch.Tensor, torch.Tensor]:
    lse = (q.shape[1], q.shape[0]) if arguments[-1] else (0,)
    return q.new_empty((*q.shape[:2], v.shape[2]), dtype=type_of_output(q)), q.new_empty(lse, dtype=torch.float32)


def _fake_decode(q: torch.Tensor, *arguments: Any) -> tuple[torch.Tensor, torch.Tensor]:
    lse = (q.shape[0], q.shape[2], q.shape[1]) if arguments[-1] else (0,)
    return torch.empty_like(q, dtype=type_of_output(q)), q.new_empty(lse, dtype=torch.float32)


def _fake_ragged(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *arguments: Any) -> tuple[torch.Tensor, torch.Tensor]:
    lse = (q.shape[1], q.shape[0]) if arguments[-1] else (0,)
    return q.new_empty((*q.shape[:2], v.shape[3]), dtype=type_of_output(q)), q.new_empty(lse, dtype=torch.float32)


for _name, _function, _fake in (("decode", _decode, _fake_decode), ("append_decode", _append_decode, _fake_decode),
                                ("ragged_decode", _ragged_decode, _fake_ragged), ("prefill", _prefill, _fake_prefill)):
    _library.impl(_name, _function, "CUDA")
    torch.library.register_fake(f"cubinet::{_name}", _fake, lib=_library)


def with_cache(
    q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, given: Tensors, options: Options
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Calls the operator that does what decode.with_cache() does."""
    left, right = options.window_size
    values = (options.softmax_scale, options.causal, left, right, options.softcap, options.rotary_interleaved,
              options.num_splits, options.return_lse)
    lengths = given.cache_seqlens
    if isinstance(lengths, int):
        lengths = torch.full((q.shape[0],), lengths, dtype=torch.int32, device=q.device)
    places = (lengths, given.cache_batch_idx, given.block_table, given.s_aux, *given.descales)
    if given.k is None:
        out, lse = torch.ops.cubinet.decode(q, k_cache, v_cache, *places, *values)
    else:
        out, lse = torch.ops.cubinet.append_decode(q, k_cache, v_cache, given.k, given.v, given.rotary_cos,
                                                   given.rotary_sin, *places, *values)
    return _into(given.out, out), lse


def with_page_table(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu_seqlens_q: torch.Tensor, cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int, block_table: torch.Tensor, s_aux: torch.Tensor | None, out: torch.Tensor | None, options: Options,
    descales: Descales = Descales(),
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Calls the operator that does what ragged.with_page_table() does."""
    left, right = options.window_size
    given, lse = torch.ops.cubinet.ragged_decode(
        q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, block_table, s_aux, *descales, options.softmax_scale, options.causal,
        left, right, options.softcap, options.rotary_interleaved, options.num_splits, options.return_lse,
    )
    return _into(out, given), lse


def prefill_attend(
    function: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor, max_seqlen_q: int, max_seqlen_k: int, s_aux: torch.Tensor | None,
    out: torch.Tensor | None, options: Options, descales: Descales = Descales(),
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Calls the operator that does what prefill.attend() does."""
    left, right = options.window_size
    given, lse = torch.ops.cubinet.prefill(
        function, q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, s_aux, *descales, options.softmax_scale,
        options.causal, left, right, options.softcap, options.rotary_interleaved, options.num_splits, options.return_lse,
    )
    return _into(out, given), lse


def _into(target: torch.Tensor | None, out: torch.Tensor) -> torch.Tensor:
    if target is None:
        return out
    # copy_() would broadcast.
    check_shape("out", target, tuple(out.shape), "as the result")
    return target.copy_(out)
