# SPDX-License-Identifier: Apache-2.0
"""Prompts that no kernel serves, by PyTorch's kernel, on a GPU. Run with `-m gpu`."""
import pytest

import cubinet
from paged_cache import attend, close, gpu_runtime, HEADS_KV, HEADS_Q, randn  # noqa: F401
import cubinet.pytorch
from cubinet.flash_attn import flash_attn_func

pytestmark = pytest.mark.gpu


def test_head_dims_without_a_kernel_go_to_varlen_attn_and_are_counted():
    q, k, v = (randn(1, 130, heads, 32) for heads in (HEADS_Q, HEADS_KV, HEADS_KV))
    before = cubinet.pytorch.calls()
    o, lse, _ = flash_attn_func(q, k, v, causal=True, return_attn_probs=True)
    expected, sums = attend(q[0], k[0].float(), v[0].float())
    close(o[0], expected)
    close(lse[0], sums)
    assert cubinet.pytorch.calls().fallback == before.fallback + 1
    with pytest.raises(cubinet.Unsupported, match="softcap"):
        flash_attn_func(q, k, v, causal=True, softcap=20.0)
    cubinet.pytorch.configure(fallback="never")
    try:
        with pytest.raises(cubinet.Unsupported, match="fallback"):
            flash_attn_func(q, k, v)
    finally:
        cubinet.pytorch.configure(fallback="varlen_attn")
