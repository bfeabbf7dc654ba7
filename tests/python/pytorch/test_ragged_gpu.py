# SPDX-License-Identifier: Apache-2.0
"""Sequences with different numbers of query tokens, on a GPU. Run with `-m gpu`."""
import pytest

import cubinet
from paged_cache import attend, close, DIM, gpu_runtime, HEADS_Q, int32, LENGTHS, PagedCache, randn, torch  # noqa: F401
import cubinet.pytorch
from cubinet.flash_attn import flash_attn_varlen_func

pytestmark = pytest.mark.gpu


def test_varlen_over_pages_is_ragged_decode():
    cache, counts = PagedCache(64), (1, 4, 2)
    q, offsets = randn(sum(counts), HEADS_Q, DIM), int32(0, 1, 5, 7)
    ends = torch.tensor((0, *LENGTHS), device="cuda").cumsum(0).to(torch.int32)
    before = cubinet.pytorch.calls()
    o, lse, _ = flash_attn_varlen_func(q, cache.k, cache.v, offsets, ends, max(counts), max(LENGTHS), causal=True,
                                       block_table=cache.table, return_attn_probs=True)
    assert cubinet.pytorch.calls().decode == before.decode + 1
    for row, length in enumerate(LENGTHS):
        part = slice(int(offsets[row]), int(offsets[row + 1]))
        expected, sums = attend(q[part], *cache.rows(row, length))
        close(o[part], expected)
        close(lse[:, part], sums)
