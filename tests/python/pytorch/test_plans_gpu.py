# SPDX-License-Identifier: Apache-2.0
"""Plans in CUDA graphs, on a GPU. Run with `-m gpu`."""
import pytest

import cubinet
from paged_cache import attend, close, DIM, gpu_runtime, HEADS_Q, int32, LENGTHS, PagedCache, randn, torch  # noqa: F401
from cubinet.flash_attn import flash_attn_with_kvcache

pytestmark = pytest.mark.gpu

FILL = "__global__ void fill(float* y, float a, int n) { if (threadIdx.x < n) y[threadIdx.x] = a; }"


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


def test_a_capture_neither_compiles_nor_loads(gpu_runtime):
    """A new Runtime has loaded no attention, and no other test has this window, whose plan would be kept."""
    cache, q = PagedCache(64), randn(len(LENGTHS), 1, HEADS_Q, DIM)
    given = {"cache_seqlens": cache.lengths, "block_table": cache.table, "causal": True, "window_size": (77, 0)}
    fresh = cubinet.Runtime(gpu_runtime.configuration)
    other = fresh.kernel(cubinet.SourceProgram(FILL)).function()  # opens the driver before the capture
    cubinet.pytorch.configure(runtime=fresh)
    try:
        with pytest.raises(cubinet.NotFound, match=r"nothing is compiled or loaded .* is not loaded on device 0"):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                flash_attn_with_kvcache(q, cache.k, cache.v, **given)
        torch.cuda.synchronize()
        assert fresh.memory().modules == 1
        assert fresh.counters().compiled <= 1
        expected = flash_attn_with_kvcache(q, cache.k, cache.v, **given)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            o = flash_attn_with_kvcache(q, cache.k, cache.v, **given)
        graph.replay()
        close(o, expected)
    finally:
        other.close()
        cubinet.pytorch.configure(runtime=gpu_runtime)


def test_a_graph_keeps_a_kernel_that_was_closed_forgotten_and_trimmed(gpu_runtime):
    kernel = gpu_runtime.kernel(cubinet.SourceProgram(FILL))
    y = torch.zeros(32, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with kernel.function() as fill, torch.cuda.graph(graph):
        fill.launch(y, 3.0, 32, grid=1, block=32, stream=torch.cuda.current_stream())
    assert kernel.forget()
    gpu_runtime.trim()
    # Other modules would take the memory of an unloaded one.
    others = [
        gpu_runtime.kernel(cubinet.SourceProgram(FILL.replace("= a", f"= a + {n}"))).function() for n in range(8)
    ]
    for _ in range(3):
        y.zero_()
        graph.replay()
        torch.cuda.synchronize()
        assert y.tolist() == [3.0] * 32
    assert len(others) == 8
