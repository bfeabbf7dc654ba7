# SPDX-License-Identifier: Apache-2.0
"""Contiguous caches as paged ones, on a GPU. Run with `-m gpu`."""
import pytest

import cubinet
from paged_cache import attend, close, DIM, gpu_runtime, HEADS_KV, HEADS_Q, int32, randn  # noqa: F401
from cubinet.flash_attn import flash_attn_with_kvcache

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("layout", ["tokens first", "heads first"])
def test_a_contiguous_cache_is_paged_by_its_strides(layout):
    q = randn(2, 1, HEADS_Q, DIM)
    shape = (4, 320, HEADS_KV, DIM)
    k, v = (randn(*shape) if layout == "tokens first" else randn(4, HEADS_KV, 320, DIM).transpose(1, 2) for _ in range(2))
    rows, lengths = (3, 1), (320, 77)
    o = flash_attn_with_kvcache(q, k, v, cache_seqlens=int32(*lengths), cache_batch_idx=int32(*rows))
    for index, (row, length) in enumerate(zip(rows, lengths)):
        close(o[index], attend(q[index], k[row, :length].float(), v[row, :length].float())[0])
    full = flash_attn_with_kvcache(randn(4, 1, HEADS_Q, DIM), k, v)
    number = flash_attn_with_kvcache(randn(4, 1, HEADS_Q, DIM), k, v, cache_seqlens=320)
    assert full.shape == number.shape == (4, 1, HEADS_Q, DIM)
