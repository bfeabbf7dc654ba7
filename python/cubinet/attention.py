# SPDX-License-Identifier: Apache-2.0
"""Attention: problems, and options of their plans."""

from __future__ import annotations

import dataclasses
import operator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class AttentionProblem:
    """One call of attention, without its tensors.

    Lengths are in tokens and are the largest of the batch; `kv_len` includes the `q_len` newest
    tokens. docs/attention.md defines each member. Types are "bf16", "fp16", "fp32" or "e4m3".
    """

    batch: int
    kv_len: int
    heads_q: int
    heads_kv: int
    q_len: int = 1
    head_dim_qk: int = 128
    head_dim_v: int = 128
    type_q: str = "bf16"
    type_kv: str = "bf16"
    type_o: str = "bf16"
    page_size: int = 64
    kv_order: str = "nhd"
    """"nhd": [pages, page_size, heads_kv, head_dim]; "hnd": [pages, heads_kv, page_size, head_dim]."""
    kv_layout: str = "paged"
    """"paged"; "contiguous": [batch, kv_len, heads_kv, head_dim]; or "sequences": one after the other, and
    `kv_offsets` says where each begins."""
    prefill: bool = False
    """Q has prompts or chunks of them. False: one or a few tokens of each sequence."""
    mask: str = "causal"
    """"dense", "causal" or "custom"."""
    window: int = 0
    """The most KV tokens that a row sees; 0: all."""
    softmax_scale: float = 0.0
    """0: 1 / sqrt(head_dim_qk), or 1 / sqrt(192) for latent attention."""
    soft_cap: float = 0.0
    output_scale: float = 1.0
    kv_lengths: tuple[int, ...] | None = None
    """Lengths that are known when the problem is planned. They affect the division of work only."""
    ragged_q: bool = False
    """The query tokens of the sequences are contiguous; `q_offsets` says where each begins."""
    lse: bool = False
    """The log-sum-exp of each row is written to `lse`."""
    sinks: bool = False
    """Each head has a logit, `sinks`, that only adds to the softmax sum."""
    scales_on_device: bool = False
    kv_scales: str = "none"
    """"none"; "head": K and V of e4m3 have a scale for each KV head, `k_head_scales` and `v_head_scales` of
    shape [heads_kv]; or "sequence": one for each KV head of each sequence, [batch, heads_kv]."""
    numerics: str = "fast"
    """"fast", or "invariant": a row has the same bits in every batch, chunk and page, and by prefill and
    by decode. K and V must have 16 bits."""
    append: bool = False
    """A run first writes the new K and V to the cache."""
    append_only: bool = False
    """A run only writes the new K and V."""
    append_type: str = "bf16"
    rope_dim: int = 0
    """Leading columns of Q and K that are rotated; 0: none."""
    rope_interleaved: bool = False
    positions: bool = False
    """The caller gives the position of each new token."""
    lengths_exclude_new: bool = False
    """The `kv_lengths` of a run do not include the new tokens. A sequence without tokens, which pads a
    batch, has the length -q_len."""
    q_scale: float = 1.0
    k_scale: float = 1.0
    v_scale: float = 1.0
    prefix_groups: int = 0
    """Groups of sequences that share a prefix (docs/attention.md, "Shared prefixes"); 0: none do. With
    groups, `kv_len` and `kv_lengths` count the tokens that follow the prefix."""
    prefix_len: int = 0
    """The most tokens of a prefix."""
    query_tokens: int = 0
    """The most query tokens of all sequences, with groups; 0: batch times q_len."""
    group_tokens: int = 0
    """The most query tokens of a group; 0: `query_tokens`."""
    prefix_lengths: tuple[int, ...] | None = None
    """Lengths of the prefixes that are known when the problem is planned."""

    def __post_init__(self) -> None:
        for name in ("kv_lengths", "prefix_lengths"):
            given = getattr(self, name)
            if given is None:
                continue
            try:
                lengths = tuple(operator.index(length) for length in given)
            except TypeError as error:
                raise TypeError(f"'{name}' is no sequence of int: {error}") from None
            object.__setattr__(self, name, lengths)


@dataclass(frozen=True)
class PlanOptions:
    """Choices of a plan."""

    backend: str = "auto"
    splits: int = 0
    """KV splits; 0: the plan decides."""
    split_tokens: int = 0
    """Tokens of each KV split, a multiple of 128; 0: the plan decides. With a value, the result of a
    sequence has the same bits in every batch."""
    rules: str = ""
    """The version of FlashInfer whose rules select published kernels, "0.6.17"; empty: the newest one
    that has the kernels' metadata header."""
    existing_kernels: bool = False
    """Use existing builds only."""
    starts_early: bool = False
    """The first kernel may start before its predecessor in the stream ends (9.0 and up)."""
    loaded_kernels: bool = False
    """Use loaded kernels only: raise NotFound, with the kernel's name, for another one. For captures."""


def fields_of(value: AttentionProblem | PlanOptions) -> dict[str, Any]:
    """Returns the members by name, as the binding reads them."""
    return {member.name: getattr(value, member.name) for member in dataclasses.fields(value)}
