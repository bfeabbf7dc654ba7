# SPDX-License-Identifier: Apache-2.0
"""Plans in CUDA graphs, on a GPU. Run with `-m gpu`."""
import pytest

import cubinet
from paged_cache import attend, close, DIM, gpu_runtime, HEADS_Q, int32, LENGTHS, PagedCache, randn, torch  # noqa: F401
from cubinet.flash_attn import flash_attn_with_kvcache

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("page", [64])
def test_a_captured_call_is_replayed_with_other_lengths_on_another_stream(page, gpu_runtime):
    cache, q = PagedCache(page), randn(len(LENGTHS), 1, HEADS_Q, DIM)
    given = {"cache_seqlens": cache.lengths, "block_table": cache.table, "causal": True}
    flash_attn_with_kvcache(q, cache.k, cache.v, **given)
    compiled = gpu_runtime.counters().compiled
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = [flash_attn_with_kvcache(q, cache.k, cache.v, **given) for _ in range(3)]
    assert gpu_runtime.counters().compiled == compiled
    side = torch.cuda.Stream()
    for lengths in (LENGTHS, (3, 511, 600)):
        cache.lengths.copy_(int32(*lengths))
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            graph.replay()
        side.synchronize()
        for o in outputs:
            for row, length in enumerate(lengths):
                close(o[row], attend(q[row], *cache.rows(row, length))[0])
