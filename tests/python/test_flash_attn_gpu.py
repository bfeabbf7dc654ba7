# SPDX-License-Identifier: Apache-2.0
"""FlashAttention's functions on a GPU, beside float32 arithmetic. Run with `-m gpu`."""
import pytest

import cubinet
from paged_cache import attend, close, DIM, gpu_runtime, HEADS_KV, HEADS_Q, int32, LENGTHS, PagedCache, randn, torch  # noqa: F401
import cubinet.pytorch
from cubinet.flash_attn import flash_attn_with_kvcache

pytestmark = pytest.mark.gpu


def test_options_equal_float32():
    cache, q = PagedCache(64), randn(len(LENGTHS), 3, HEADS_Q, DIM)
    sinks = randn(HEADS_Q)
    given = {"cache_seqlens": int32(3, 517, 700), "block_table": cache.table}
    cases = [({"causal": True, "window_size": (99, 0)}, {"window": 99}), ({"causal": False}, {"causal": False}),
             ({"causal": True, "softcap": 20.0}, {"softcap": 20.0}), ({"causal": True, "s_aux": sinks}, {"sinks": sinks}),
             ({"causal": True, "num_splits": 2}, {})]
    for options, reference in cases:
        o = flash_attn_with_kvcache(q, cache.k, cache.v, **given, **options)
        for row, length in enumerate((3, 517, 700)):
            close(o[row], attend(q[row], *cache.rows(row, length), **reference)[0])


def test_wrong_arguments_are_refused_by_their_names():
    cache, q = PagedCache(64), randn(len(LENGTHS), 1, HEADS_Q, DIM)
    k = randn(len(LENGTHS), 1, HEADS_KV, DIM)
    given = {"q": q, "k_cache": cache.k, "v_cache": cache.v, "cache_seqlens": cache.lengths, "block_table": cache.table}
    wrong = {
        "q": [q.cpu(), q[:, :, :, :100], q.float(), q[:0]],
        "k_cache": [cache.k.cpu(), cache.k[..., ::2], cache.k[:, :24]],
        "v_cache": [cache.v[:, :32], cache.v.half()],
        "cache_seqlens": [cache.lengths.long(), cache.lengths[:2], cache.lengths.cpu()],
        "block_table": [cache.table.long(), cache.table[:2], cache.table.cpu(), cache.table[0]],
        "k": [k.half(), k[:, :, :1], k.expand(-1, 2, -1, -1), k.cpu()],
        "window_size": [(3,), "ab", 3],
        "s_aux": [randn(HEADS_Q + 1)],
        "out": [torch.empty_like(q, dtype=torch.float16), torch.empty_like(q[:2])],
    }
    before = cubinet.pytorch.calls().decode
    for name, values in wrong.items():
        for value in values:
            with pytest.raises((cubinet.InvalidArgument, cubinet.Unsupported), match=f"'{name}'"):
                flash_attn_with_kvcache(**(given | ({"v": k} if name == "k" else {}) | {name: value}))
    with pytest.raises(cubinet.Unsupported, match="'cache_leftpad'"):
        flash_attn_with_kvcache(**given, cache_leftpad=cache.lengths)
    with pytest.raises(cubinet.Unsupported, match="gradient"):
        flash_attn_with_kvcache(**(given | {"q": q.clone().requires_grad_()}))
    assert cubinet.pytorch.calls().decode == before
