# SPDX-License-Identifier: Apache-2.0
"""Scratch memory of streams and captures, on a GPU. Run with `-m gpu`."""
import pytest

import cubinet
from paged_cache import DIM, gpu_runtime, HEADS_Q, LENGTHS, PagedCache, randn, torch  # noqa: F401
from cubinet.flash_attn import flash_attn_with_kvcache

pytestmark = pytest.mark.gpu


def test_streams_have_scratch_memory_of_their_own():
    cache, q = PagedCache(64), randn(len(LENGTHS), 1, HEADS_Q, DIM)
    expected = flash_attn_with_kvcache(q, cache.k, cache.v, cache_seqlens=cache.lengths, block_table=cache.table, num_splits=4)
    torch.cuda.synchronize()
    streams, outputs = [torch.cuda.Stream() for _ in range(4)], []
    for _ in range(50):
        for stream in streams:
            with torch.cuda.stream(stream):
                outputs.append(flash_attn_with_kvcache(q, cache.k, cache.v, cache_seqlens=cache.lengths,
                                                       block_table=cache.table, num_splits=4))
    torch.cuda.synchronize()
    assert all(torch.equal(o, expected) for o in outputs)
