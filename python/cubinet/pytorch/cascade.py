# SPDX-License-Identifier: Apache-2.0
"""Attention over shared prefixes, with the interface of FlashInfer's MultiLevelCascadeAttentionWrapper."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from cubinet._core import Merge
from cubinet.errors import InvalidArgument
from cubinet.pytorch.arguments import bound_of, check_rank, check_shape, device_of, refuse_given, refuse_gradients
from cubinet.pytorch.plans import Plan, current_runtime, make_plan, renamed, type_name
from cubinet.pytorch.scratch import current_device, current_stream, scratch_of_stream
from cubinet.pytorch.settings import count_decode

_function = "MultiLevelCascadeAttentionWrapper"
_names = {"q": "q", "k": "paged_kv_cache", "v": "paged_kv_cache", "scratch": "float_workspace_buffer"}
# The most query tokens that have a plan of their own. More share the plan of the next power of two.
_few_tokens = 16


class _Level(NamedTuple):
    """The sequences of one level, on the device, and their bounds."""

    offsets: torch.Tensor
    """[sequences + 1], int32: the first query token of each sequence."""
    table: torch.Tensor
    """[sequences, pages], int32."""
    lengths: torch.Tensor
    """[sequences], int32."""
    most_tokens: int
    """Query tokens of a sequence."""
    tokens: int
    """Query tokens of all sequences."""

    def holds(self, other: _Level) -> bool:
        """Returns whether the tensors of `other` fit into this level's."""
        return (self.offsets.shape == other.offsets.shape and self.table.shape[1] >= other.table.shape[1]
                and self.most_tokens >= other.most_tokens and self.tokens >= other.tokens)

    def copy(self, other: _Level) -> None:
        self.offsets.copy_(other.offsets)
        self.table[:, : other.table.shape[1]].copy_(other.table)
        self.lengths.copy_(other.lengths)


def _read_level(
    qo_indptr: torch.Tensor, kv_indptr: torch.Tensor, kv_indices: torch.Tensor, last_page_len: torch.Tensor,
    page_size: int, device: torch.device, pages: int,
) -> _Level:
    """Reads the arrays of a level. Its page table has at least `pages` columns. Waits for the device."""
    for name, tensor in (("qo_indptr", qo_indptr), ("paged_kv_indptr", kv_indptr)):
        check_rank(name, tensor, "sequences + 1")
    sequences = qo_indptr.shape[0] - 1
    if sequences < 1:
        raise InvalidArgument("'qo_indptr' has no sequence", "pass at least two entries in each level")
    check_shape("paged_kv_indptr", kv_indptr, (sequences + 1,), "as 'qo_indptr' of this level")
    check_shape("paged_kv_last_page_len", last_page_len, (sequences,), "with an entry for each sequence")
    tokens, first = qo_indptr.tolist(), kv_indptr.tolist()
    for name, entries in (("qo_indptr", tokens), ("paged_kv_indptr", first)):
        if entries[0] < 0 or any(begin > end for begin, end in zip(entries, entries[1:])):
            raise InvalidArgument(f"'{name}' is {entries}", "pass ascending entries")
    if tokens[0] != 0 or first[-1] > kv_indices.shape[0]:
        raise InvalidArgument(f"'qo_indptr' begins with {tokens[0]}, and 'paged_kv_indptr' ends with {first[-1]} of "
                              f"{kv_indices.shape[0]} entries of 'paged_kv_indices'",
                              "begin with token 0, and pass all pages")
    counts = torch.diff(kv_indptr.to(device=device, dtype=torch.int32))
    width = max(pages, bound_of(max(end - begin for begin, end in zip(first, first[1:]))))
    table = torch.zeros(sequences, width, dtype=torch.int32, device=device)
    used = torch.arange(width, device=device) < counts[:, None]
    table.masked_scatter_(used, kv_indices[first[0] : first[-1]].to(device=device, dtype=torch.int32))
    lengths = (counts - 1) * page_size + last_page_len.to(device=device, dtype=torch.int32)
    lengths = torch.where(counts > 0, lengths, 0).to(torch.int32)
    return _Level(qo_indptr.to(device=device, dtype=torch.int32), table, lengths,
                  max(end - begin for begin, end in zip(tokens, tokens[1:])), tokens[-1])


def _tokens_bound(tokens: int, most: int) -> int:
    return tokens if tokens <= _few_tokens else min(bound_of(tokens), most)


class MultiLevelCascadeAttentionWrapper:
    """Attention whose sequences share prefixes: level 0 has the prefixes that most sequences share, the last
    level the tokens of each sequence alone. Each prefix is read once for all query tokens of its group.

    `float_workspace_buffer` is scratch memory of any content and belongs to one stream. With
    `use_cuda_graph`, run() may be captured; a later plan() changes what the graph attends to. It must not
    exceed the sizes of the first plan(), and a sequence has at most as many pages as
    `paged_kv_indices_buf_arr` of its level has entries.
    """

    def __init__(
        self,
        num_levels: int,
        float_workspace_buffer: torch.Tensor,
        kv_layout: str = "NHD",
        use_cuda_graph: bool = False,
        qo_indptr_buf_arr: list[torch.Tensor] | None = None,
        paged_kv_indptr_buf_arr: list[torch.Tensor] | None = None,
        paged_kv_indices_buf_arr: list[torch.Tensor] | None = None,
        paged_kv_last_page_len_buf_arr: list[torch.Tensor] | None = None,
    ) -> None:
        if num_levels < 1:
            raise InvalidArgument(f"'num_levels' is {num_levels}", "pass at least 1")
        if kv_layout not in ("HND", "NHD"):
            raise InvalidArgument(f"'kv_layout' is {kv_layout!r}", 'use "HND" or "NHD"')
        self._device = device_of("float_workspace_buffer", float_workspace_buffer)
        self._workspace = float_workspace_buffer
        self._kv_order = kv_layout.lower()
        self._use_cuda_graph = use_cuda_graph
        self._pages = [0] * num_levels
        if use_cuda_graph:
            if paged_kv_indices_buf_arr is None or len(paged_kv_indices_buf_arr) != num_levels:
                raise InvalidArgument("'paged_kv_indices_buf_arr' has no buffer for each level",
                                      "pass one for each level with use_cuda_graph=True")
            self._pages = [buffer.shape[0] for buffer in paged_kv_indices_buf_arr]
        self._levels: list[_Level] = []
        self._tokens = 0
        self._members: dict[str, Any] | None = None
        self._main: Plan | None = None
        self._outer: list[tuple[int, Plan]] = []
        self._merge: Merge | None = None

    @property
    def is_cuda_graph_enabled(self) -> bool:
        return self._use_cuda_graph

    def reset_workspace_buffer(self, float_workspace_buffer: torch.Tensor, int_workspace_buffers: Any = None) -> None:
        """Replaces the scratch memory. `int_workspace_buffers` are not used."""
        if device_of("float_workspace_buffer", float_workspace_buffer) != self._device:
            raise InvalidArgument("'float_workspace_buffer' is on another device", f"use cuda:{self._device}")
        self._workspace = float_workspace_buffer

    def plan(
        self,
        qo_indptr_arr: list[torch.Tensor],
        paged_kv_indptr_arr: list[torch.Tensor],
        paged_kv_indices_arr: list[torch.Tensor],
        paged_kv_last_page_len: list[torch.Tensor],
        num_qo_heads: int,
        num_kv_heads: int,
        head_dim: int,
        page_size: int,
        causal: bool = False,
        pos_encoding_mode: str = "NONE",
        use_fp16_qk_reduction: bool = False,
        sm_scale: float | None = None,
        window_left: int = -1,
        logits_soft_cap: float | None = None,
        rope_scale: float | None = None,
        rope_theta: float | None = None,
        q_data_type: str | torch.dtype = "float16",
        kv_data_type: str | torch.dtype | None = None,
    ) -> None:
        """Reads the sequences of each level, plans, and loads kernels. Waits for the device.

        qo_indptr_arr           [sequences + 1] of each level: the first query token of each sequence. A
                                sequence of a level is a group of sequences of the next level.
        paged_kv_indptr_arr     [sequences + 1]: the first entry of each sequence in paged_kv_indices_arr,
                                which has numbers of pages
        paged_kv_last_page_len  [sequences]: the tokens in the last page of each
        causal                  the mask of the last level; all tokens see all of their prefixes
        logits_soft_cap         logits x become cap * tanh(x / cap); None or 0: they do not
        """
        refuse_given(
            _function, pos_encoding_mode=None if pos_encoding_mode == "NONE" else pos_encoding_mode,
            use_fp16_qk_reduction=use_fp16_qk_reduction or None, window_left=None if window_left < 0 else window_left,
            rope_scale=rope_scale, rope_theta=rope_theta,
        )
        arrays = (qo_indptr_arr, paged_kv_indptr_arr, paged_kv_indices_arr, paged_kv_last_page_len)
        count = len(self._pages)
        if any(len(array) != count for array in arrays):
            raise InvalidArgument(f"the arrays have {[len(array) for array in arrays]} levels, and the wrapper {count}",
                                  "pass an entry for each level in each array")
        device = torch.device("cuda", self._device)
        levels = [_read_level(*parts, page_size, device, pages) for *parts, pages in zip(*arrays, self._pages)]
        if any(level.tokens != levels[-1].tokens for level in levels):
            raise InvalidArgument(f"'qo_indptr' ends with {[level.tokens for level in levels]}",
                                  "pass the same number of query tokens in each level")
        q_type = q_data_type if isinstance(q_data_type, torch.dtype) else getattr(torch, q_data_type)
        kv_type = q_type if kv_data_type is None else kv_data_type
        kv_type = kv_type if isinstance(kv_type, torch.dtype) else getattr(torch, kv_type)
        name = type_name("q_data_type", torch.empty(0, dtype=q_type))
        members = {
            "heads_q": num_qo_heads, "heads_kv": num_kv_heads, "head_dim_qk": head_dim, "head_dim_v": head_dim,
            "type_q": name, "type_o": name, "type_kv": type_name("kv_data_type", torch.empty(0, dtype=kv_type)),
            "page_size": page_size, "kv_order": self._kv_order, "softmax_scale": sm_scale or 0.0,
            "soft_cap": logits_soft_cap or 0.0, "mask": "causal" if causal else "dense",
        }
        if self._use_cuda_graph and self._levels:
            if members != self._members or not all(old.holds(new) for old, new in zip(self._levels, levels)):
                raise InvalidArgument("the arguments of plan() exceed those of the first plan()",
                                      "plan the largest problem first, or make another wrapper")
            for old, new in zip(self._levels, levels):
                old.copy(new)
            self._tokens = levels[-1].tokens
            return
        self._levels, self._members, self._tokens = levels, members, levels[-1].tokens
        with torch.cuda.device(self._device):
            self._bind(levels, members)

    begin_forward = plan

    def _bind(self, levels: list[_Level], members: dict[str, Any]) -> None:
        own, outer = levels[-1], levels[:-2]
        batch, page_size = own.table.shape[0], members["page_size"]
        q_len = _tokens_bound(max(own.most_tokens, 1), own.tokens)
        kv_len = max(own.table.shape[1] * page_size, q_len)
        tokens = min(_tokens_bound(own.tokens, batch * q_len), batch * q_len)
        problem = members | {"batch": batch, "q_len": q_len, "kv_len": kv_len, "ragged_q": True, "lse": bool(outer)}
        if len(levels) > 1:
            prefix = levels[-2]
            problem |= {
                "prefix_groups": prefix.table.shape[0], "prefix_len": prefix.table.shape[1] * page_size,
                "query_tokens": tokens, "group_tokens": min(_tokens_bound(prefix.most_tokens, tokens), tokens),
            }
        self._main = self._make_plan(problem)
        self._outer = []
        for index, level in enumerate(outer):
            shared = members | {
                "batch": level.table.shape[0], "q_len": _tokens_bound(level.most_tokens, tokens), "ragged_q": True,
                "kv_len": level.table.shape[1] * page_size, "mask": "dense", "lse": True,
            }
            self._outer.append((index, self._make_plan(shared)))
        if outer:
            self._merge = current_runtime().merge(members["heads_q"], members["head_dim_v"], members["type_o"],
                                                  device=self._device)

    def _make_plan(self, problem: dict[str, Any]) -> Plan:
        key = (_function, tuple(problem.items()), self._device)
        return make_plan(key, _function, problem, self._device, {"float_workspace_buffer": self._workspace})

    def run(
        self, q: torch.Tensor, paged_kv_cache: torch.Tensor | tuple[torch.Tensor, torch.Tensor]
    ) -> torch.Tensor:
        """Returns O, [tokens, num_qo_heads, head_dim]. Runs in the current stream.

        q               [tokens, num_qo_heads, head_dim]
        paged_kv_cache  [pages, 2, page_size, num_kv_heads, head_dim] (NHD), [pages, 2, num_kv_heads,
                        page_size, head_dim] (HND), or the two parts as a tuple
        """
        if self._main is None:
            raise InvalidArgument("run() was called before plan()", "call plan() first")
        if device_of("q", q) != current_device():
            with torch.cuda.device(device_of("q", q)):
                return self.run(q, paged_kv_cache)
        k, v = parts_of(paged_kv_cache)
        refuse_gradients(q=q, paged_kv_cache=k)
        if q.shape[0] != self._tokens:
            raise InvalidArgument(f"'q' has {q.shape[0]} tokens, and the plan {self._tokens}", "plan again")
        out = torch.empty_like(q)
        if q.shape[0] == 0:
            return out
        own = self._levels[-1]
        given = {"q": q, "k": k, "v": v, "o": out, "page_table": own.table, "kv_lengths": own.lengths,
                 "q_offsets": own.offsets}
        lse = None
        if self._outer:
            lse = given["lse"] = q.new_empty(q.shape[:2], dtype=torch.float32)
        if len(self._levels) > 1:
            prefix = self._levels[-2]
            given |= {"prefix_page_table": prefix.table, "prefix_lengths": prefix.lengths,
                      "group_offsets": prefix.offsets}
        self._run(self._main, given)
        for index, plan in self._outer:
            level = self._levels[index]
            part, sums = torch.empty_like(q), q.new_empty(q.shape[:2], dtype=torch.float32)
            self._run(plan, {"q": q, "k": k, "v": v, "o": part, "lse": sums, "page_table": level.table,
                             "kv_lengths": level.lengths, "q_offsets": level.offsets})
            assert self._merge is not None
            self._merge.run(first_o=out, first_lse=lse, second_o=part, second_lse=sums, o=out, lse=lse)
        count_decode()
        return out

    def _run(self, plan: Plan, given: dict[str, Any]) -> None:
        scratch_bytes = self._workspace.numel() * self._workspace.element_size()
        if scratch_bytes < plan.scratch_bytes:
            raise InvalidArgument(
                f"'float_workspace_buffer' has {scratch_bytes} bytes, and the plan needs {plan.scratch_bytes}",
                "pass a larger one")
        counters = scratch_of_stream(self._device, current_stream(self._device), 0, plan.counter_bytes).counters
        try:
            plan.attention.run(**given, scratch=self._workspace, counters=counters)
        except InvalidArgument as error:
            raise renamed(error, _names) from None


def parts_of(
    kv_cache: torch.Tensor | tuple[torch.Tensor, torch.Tensor], name: str = "paged_kv_cache"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns K and V of FlashInfer's caches: a tensor whose dimension 1 has both, or one pool, or a tuple."""
    if isinstance(kv_cache, (tuple, list)):
        if len(kv_cache) != 2:
            raise InvalidArgument(f"'{name}' has {len(kv_cache)} parts", "pass K and V")
        return kv_cache[0], kv_cache[1]
    check_rank(name, kv_cache, "pages, 2, heads_kv or page_size, page_size or heads_kv, head_dim")
    if kv_cache.shape[1] == 1:
        return kv_cache.squeeze(1), kv_cache.squeeze(1)
    if kv_cache.shape[1] != 2:
        raise InvalidArgument(f"'{name}' has the shape {list(kv_cache.shape)}", "pass K and V in dimension 1")
    return kv_cache.unbind(1)  # type: ignore[return-value]
