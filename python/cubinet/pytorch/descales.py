# SPDX-License-Identifier: Apache-2.0
"""FlashAttention 3's scales of e4m3 tensors: one for each sequence and KV head."""

from __future__ import annotations

from typing import NamedTuple

import torch

from cubinet.errors import Unsupported
from cubinet.pytorch.arguments import check_shape


class Descales(NamedTuple):
    """The factors of Q, K and V, each [batch, heads_kv]. None: 1."""

    q: torch.Tensor | None = None
    k: torch.Tensor | None = None
    v: torch.Tensor | None = None


class HeadScales(NamedTuple):
    """The scales of KV heads of a run, and AttentionProblem.kv_scales."""

    kind: str = "none"
    k: torch.Tensor | None = None
    v: torch.Tensor | None = None


def head_scales(given: Descales, batch: int, k: torch.Tensor, heads_kv: int) -> HeadScales:
    """Returns the scales of a run: those of K are multiplied by those of Q.

    Sequences share their scales if the tensors are expanded from one row. Raises InvalidArgument for
    another shape, TypeError for a number, and Unsupported if `k` is not e4m3.
    """
    names = ("q_descale", "k_descale", "v_descale")
    tensors = [(name, tensor) for name, tensor in zip(names, given) if tensor is not None]
    if not tensors:
        return HeadScales()
    for name, tensor in tensors:
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"'{name}' is of the type {type(tensor).__name__}, not Tensor")
        check_shape(name, tensor, (batch, heads_kv), "one for each sequence and KV head")
    if k.dtype != torch.float8_e4m3fn:
        raise Unsupported(f"'{tensors[0][0]}' is given, and K has elements of type {k.dtype}",
                          "leave it out, or store K and V as float8_e4m3fn")
    is_shared = all(tensor.stride(0) == 0 or batch == 1 for _, tensor in tensors)
    q_scales, k_scales, v_scales = (None if tensor is None else _in_rows(tensor, is_shared) for tensor in given)
    if k_scales is None or q_scales is None:
        k_scales = q_scales if k_scales is None else k_scales
    else:
        k_scales = k_scales * q_scales
    like = k_scales if v_scales is None else v_scales
    if k_scales is None:
        k_scales = torch.ones_like(like)
    if v_scales is None:
        v_scales = torch.ones_like(like)
    return HeadScales("head" if is_shared else "sequence", k_scales, v_scales)


def _in_rows(tensor: torch.Tensor, is_shared: bool) -> torch.Tensor:
    """Returns one row of fp32, or one for each sequence, whose elements are adjacent."""
    rows = tensor[0] if is_shared else tensor
    return rows.float().contiguous()
