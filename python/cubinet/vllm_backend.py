# SPDX-License-Identifier: Apache-2.0
"""An attention backend of vLLM, derived from its Triton backend: decodes run on cubinet's kernels, everything
else in the base class. vllm_plugin registers it."""

from __future__ import annotations

import dataclasses
import logging
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from vllm.v1.attention.backend import AttentionCGSupport, AttentionType, CommonAttentionMetadata
from vllm.v1.attention.backends.triton_attn import (
    TritonAttentionBackend,
    TritonAttentionImpl,
    TritonAttentionMetadata,
    TritonAttentionMetadataBuilder,
)
from vllm.v1.attention.backends.utils import split_decodes_and_prefills

from cubinet.errors import Error
from cubinet.pytorch.tokens import Options, Tensors, find_or_plan, run

_most_query_tokens = 16
"""Requests with at most so many new tokens are decodes. vLLM puts them first in a batch."""

_names = {
    "q": "query",
    "k": "kv_cache",
    "v": "kv_cache",
    "o": "output",
    "page_table": "block_table",
    "kv_lengths": "seq_lens",
    "q_offsets": "query_start_loc",
}


@dataclass
class Split:
    """The decodes of a batch, and the metadata of what follows them."""

    requests: int
    tokens: int
    max_query_len: int
    kv_len: int
    """The KV tokens for which the decodes are planned: a power of two of at least their most."""
    rest: TritonAttentionMetadata | None


class CubinetMetadataBuilder(TritonAttentionMetadataBuilder):
    # A graph of a mixed batch would keep the number of decodes of its capture.
    _cudagraph_support: ClassVar[AttentionCGSupport] = AttentionCGSupport.UNIFORM_BATCH
    reorder_batch_threshold: int | None = _most_query_tokens

    def build(
        self, common_prefix_len: int, common_attn_metadata: CommonAttentionMetadata, fast_build: bool = False
    ) -> TritonAttentionMetadata:
        metadata = super().build(common_prefix_len, common_attn_metadata, fast_build)
        metadata.cubinet = self._split(metadata, common_attn_metadata)  # type: ignore[attr-defined]
        return metadata

    def _split(self, metadata: TritonAttentionMetadata, common: CommonAttentionMetadata) -> Split | None:
        special = metadata.use_cascade or metadata.causal is not True
        if special or metadata.mm_prefix_range is not None or metadata.rswa_prefix_lens is not None:
            return None
        requests, prefills, tokens, prefill_tokens = split_decodes_and_prefills(common, _most_query_tokens)
        if requests == 0:
            return None
        offsets = common.query_start_loc_cpu[: requests + 1]
        longest = int((offsets[1:] - offsets[:-1]).max())
        capacity = metadata.block_table.shape[1] * self.block_size
        kv_len = min(max(256, 1 << (max(metadata.max_seq_len, 1) - 1).bit_length()), capacity)
        rest = None
        if prefills > 0:
            rest = dataclasses.replace(
                metadata,
                num_actual_tokens=prefill_tokens,
                query_start_loc=metadata.query_start_loc[requests:] - tokens,
                seq_lens=metadata.seq_lens[requests:],
                block_table=metadata.block_table[requests:],
                slot_mapping=metadata.slot_mapping[tokens:],
            )
        return Split(requests, tokens, longest, kv_len, rest)


class CubinetImpl(TritonAttentionImpl):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # Queries stay in the model's type; only the cache may have 8 bits.
        self.supports_quant_query_input = False
        self._serves = (
            self.attn_type == AttentionType.DECODER
            and self.alibi_slopes is None
            and not self._is_per_token_head_quant
            and self.chunk_lookback == -1
            and self.kv_cache_dtype in ("auto", "float16", "bfloat16", "fp8", "fp8_e4m3")
        )
        self._quantised = self.kv_cache_dtype.startswith("fp8")
        self._sinks_fp32: torch.Tensor | None = None

    def forward(
        self,
        layer: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        kv_cache: torch.Tensor,
        attn_metadata: TritonAttentionMetadata,
        output: torch.Tensor,
        output_scale: torch.Tensor | None = None,
        output_block_scale: torch.Tensor | None = None,
    ) -> torch.Tensor:
        split: Split | None = getattr(attn_metadata, "cubinet", None)
        quantises = output_scale is not None or output_block_scale is not None
        if split is None or quantises or not self._serves or not self._decode(layer, query, kv_cache, attn_metadata, output, split):
            return super().forward(
                layer, query, key, value, kv_cache, attn_metadata, output, output_scale, output_block_scale
            )
        if split.rest is not None:
            first = split.tokens
            super().forward(layer, query[first:], key[first:], value[first:], kv_cache, split.rest, output[first:])
        return output

    def _decode(
        self, layer: Any, query: torch.Tensor, kv_cache: torch.Tensor, metadata: TritonAttentionMetadata,
        output: torch.Tensor, split: Split,
    ) -> bool:
        """Writes the output of the batch's decodes. Returns False if no kernel serves this layer."""
        k, v = kv_cache.split(self.head_size, dim=-1)  # [blocks, heads_kv, block, head_size]
        scales = (self.scale, 1.0)
        if self._quantised:
            k, v = k.view(torch.float8_e4m3fn), v.view(torch.float8_e4m3fn)
            scales = (self.scale * layer._k_scale_float, layer._v_scale_float)
        uniform = split.tokens == split.requests * split.max_query_len
        offsets = None if uniform else metadata.query_start_loc[: split.requests + 1]
        shape = (-1, self.num_heads, self.head_size)
        given = Tensors(output[: split.tokens].view(shape), metadata.block_table[: split.requests],
                        metadata.seq_lens[: split.requests], offsets, None, self._sinks())
        options = Options(split.kv_len, split.max_query_len, "hnd", scales, max(self.sliding_window[0] + 1, 0),
                          float(self.logits_soft_cap))
        q = query[: split.tokens].view(shape)
        try:
            plan = find_or_plan("vLLM's decode", _names, q, k, v, given, options, q.get_device())
        except Error as error:
            logging.getLogger("cubinet").warning("a layer stays with vLLM's Triton kernel: %s", error)
            self._serves = False
            return False
        run(plan, _names, q, k, v, given, q.get_device())
        return True

    def _sinks(self) -> torch.Tensor | None:
        if self.sinks is None or self.sinks.dtype == torch.float32:
            return self.sinks
        if self._sinks_fp32 is None:
            self._sinks_fp32 = self.sinks.float()
        return self._sinks_fp32


class CubinetBackend(TritonAttentionBackend):
    """vLLM's Triton backend whose decodes run on cubinet's kernels. Its cache is that of the base."""

    @staticmethod
    def get_name() -> str:
        return "CUSTOM"

    @staticmethod
    def get_impl_cls() -> type[CubinetImpl]:
        return CubinetImpl

    @staticmethod
    def get_builder_cls() -> type[CubinetMetadataBuilder]:
        return CubinetMetadataBuilder
