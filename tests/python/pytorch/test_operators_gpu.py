# SPDX-License-Identifier: Apache-2.0
"""The operators under torch.compile, on a GPU. Run with `-m gpu`."""
import pytest

import cubinet
from paged_cache import close, DIM, gpu_runtime, HEADS_KV, HEADS_Q, PagedCache, randn, torch  # noqa: F401
from cubinet.flash_attn import flash_attn_with_kvcache

pytestmark = pytest.mark.gpu


def test_a_compiled_function_is_one_graph():
    caches = [PagedCache(64) for _ in range(2)]
    caches[1].k.copy_(caches[0].k), caches[1].v.copy_(caches[0].v), caches[1].table.copy_(caches[0].table)
    q, k, v = randn(3, 1, HEADS_Q, DIM), randn(3, 1, HEADS_KV, DIM), randn(3, 1, HEADS_KV, DIM)

    def step(q, cache_k, cache_v, k, v, lengths, table):
        o = flash_attn_with_kvcache(q * 2, cache_k, cache_v, k, v, cache_seqlens=lengths, block_table=table, causal=True)
        return o + flash_attn_with_kvcache(q, cache_k, cache_v, cache_seqlens=lengths + 1, block_table=table, causal=True)

    results = [function(q, cache.k, cache.v, k, v, cache.lengths, cache.table)
               for function, cache in zip((step, torch.compile(step, fullgraph=True)), caches)]
    close(results[1], results[0])
    assert torch.equal(caches[0].k, caches[1].k) and torch.equal(caches[0].v, caches[1].v)
