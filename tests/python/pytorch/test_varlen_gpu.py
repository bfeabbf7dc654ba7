# SPDX-License-Identifier: Apache-2.0
"""Contiguous prompts by PyTorch's kernel, on a GPU. Run with `-m gpu`."""
import pytest

import cubinet
from paged_cache import attend, close, DIM, gpu_runtime, HEADS_KV, HEADS_Q, int32, randn  # noqa: F401
import cubinet.pytorch
from cubinet.flash_attn import flash_attn_func, flash_attn_varlen_func

pytestmark = pytest.mark.gpu


def test_contiguous_prompts_go_to_varlen_attn_and_are_counted():
    lengths = (5, 130)
    q, k, v = (randn(sum(lengths), heads, DIM) for heads in (HEADS_Q, HEADS_KV, HEADS_KV))
    offsets = int32(0, 5, 135)
    before = cubinet.pytorch.calls()
    for options, reference in (({"causal": True}, {}), ({}, {"causal": False}),
                               ({"causal": True, "window_size": (17, 0)}, {"window": 17})):
        o, lse, _ = flash_attn_varlen_func(q, k, v, offsets, offsets, 130, 130, return_attn_probs=True, **options)
        for part in (slice(0, 5), slice(5, 135)):
            expected, sums = attend(q[part], k[part].float(), v[part].float(), **reference)
            close(o[part], expected)
            close(lse[:, part], sums)
    whole, lse, _ = flash_attn_func(q[None, 5:], k[None, 5:], v[None, 5:], causal=True, return_attn_probs=True)
    expected, sums = attend(q[5:], k[5:].float(), v[5:].float())
    close(whole[0], expected)
    close(lse[0], sums)
    assert cubinet.pytorch.calls().fallback == before.fallback + 4
    cubinet.pytorch.configure(fallback="never")
    try:
        with pytest.raises(cubinet.Unsupported, match="fallback"):
            flash_attn_func(q[None], k[None], v[None])
    finally:
        cubinet.pytorch.configure(fallback="varlen_attn")
