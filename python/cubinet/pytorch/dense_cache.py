# SPDX-License-Identifier: Apache-2.0
"""A contiguous KV cache, [batch, tokens, heads_kv, head_dim], as a paged one."""

from __future__ import annotations

import torch

from cubinet.errors import InvalidArgument

# Sizes of pages that the kernels have, the best first.
_page_sizes = (64, 16, 8)

# By batch, pages of a sequence, distance of sequences, device and stream: a kernel of the stream
# writes the table.
_tables: dict[tuple[int, int, int, int, int], torch.Tensor] = {}


def pages_of(k: torch.Tensor, v: torch.Tensor, stream: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns views of K and V as pages, [pages, page size, heads_kv, head_dim], and their page table.

    `stream` is the current stream. The views share the memory of the tensors, in whatever order its heads and tokens are.
    """
    batch, tokens = k.shape[:2]
    page = next((size for size in _page_sizes if tokens % size == 0), 0)
    if page == 0 or tokens == 0:
        raise InvalidArgument(f"'k_cache' has {tokens} tokens for each sequence, which are no pages",
                              "make its length a multiple of 64, 16 or 8, or pass 'block_table'")
    if v.shape[:2] != k.shape[:2]:
        raise InvalidArgument(f"'v_cache' has the shape {list(v.shape)}, and 'k_cache' has {list(k.shape)}",
                              "pass caches of equal batch and length")
    k_pages, k_step = _view("k_cache", k, page)
    v_pages, v_step = _view("v_cache", v, page)
    if k_step != v_step:
        raise InvalidArgument(f"'v_cache' has the strides {v.stride()}, and 'k_cache' has {k.stride()}",
                              "pass caches of the same layout")
    return k_pages, v_pages, _table(batch, tokens // page, k_step, k.get_device(), stream)


def _view(name: str, cache: torch.Tensor, page: int) -> tuple[torch.Tensor, int]:
    """Returns the pages, and how many lie between the first pages of two sequences."""
    batch, tokens, heads, columns = cache.shape
    of_batch, of_token, of_head, of_column = cache.stride()
    of_page = page * of_token
    if batch > 1 and (of_page == 0 or of_batch % of_page != 0):
        raise InvalidArgument(f"'{name}' has the strides {cache.stride()}, with which it has no pages of {page} tokens",
                              "pass a cache whose batch stride is a multiple of a page")
    step = of_batch // of_page if batch > 1 else tokens // page
    count = (batch - 1) * step + tokens // page
    return cache.as_strided((count, page, heads, columns), (of_page, of_token, of_head, of_column)), step


def _table(batch: int, pages: int, step: int, device: int, stream: int) -> torch.Tensor:
    key = (batch, pages, step, device, stream)
    table = _tables.get(key)
    if table is not None:
        return table
    first = step * torch.arange(batch, dtype=torch.int32, device=device)
    table = first[:, None] + torch.arange(pages, dtype=torch.int32, device=device)
    # A table of a capture has its values only after a replay.
    if not torch.cuda.is_current_stream_capturing():
        _tables[key] = table
    return table
