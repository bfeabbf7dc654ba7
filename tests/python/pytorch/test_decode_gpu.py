# SPDX-License-Identifier: Apache-2.0
"""Decode over paged caches on a GPU, beside float32 arithmetic. Run with `-m gpu`."""
import pytest

import cubinet
from paged_cache import attend, close, DIM, gpu_runtime, HEADS_KV, HEADS_Q, int32, LENGTHS, PagedCache, randn, torch  # noqa: F401
from cubinet.flash_attn import flash_attn_with_kvcache

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("page", [16, 64, 256])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_decode_over_pages_equals_float32(page, dtype):
    cache, q = PagedCache(page, dtype), randn(len(LENGTHS), 1, HEADS_Q, DIM, dtype=dtype)
    o, lse = flash_attn_with_kvcache(q, cache.k, cache.v, cache_seqlens=cache.lengths, block_table=cache.table, causal=True,
                                     return_softmax_lse=True)
    assert o.shape == q.shape and o.dtype == dtype and lse.shape == (len(LENGTHS), HEADS_Q, 1)
    for row, length in enumerate(LENGTHS):
        expected, sums = attend(q[row], *cache.rows(row, length))
        close(o[row], expected)
        close(lse[row], sums)


def test_a_full_cache_keeps_its_tokens():
    cache, q = PagedCache(64), randn(len(LENGTHS), 1, HEADS_Q, DIM)
    k, v = (randn(len(LENGTHS), 1, HEADS_KV, DIM) for _ in range(2))
    cache.table.copy_(torch.arange(cache.table.numel(), device="cuda").view_as(cache.table))
    before, full = cache.k.clone(), cache.width * cache.page
    flash_attn_with_kvcache(q, cache.k, cache.v, k, v, cache_seqlens=int32(full, full + 9, 2**31 - 1),
                            block_table=cache.table, causal=True)
    assert torch.equal(cache.k, before)


@pytest.mark.parametrize("q_len", [1, 3])
def test_new_tokens_are_appended_behind_lengths_without_them(q_len):
    cache = PagedCache(256)
    fused = randn(len(LENGTHS), q_len, HEADS_Q + 2 * HEADS_KV, DIM)
    q, k, v = fused.split((HEADS_Q, HEADS_KV, HEADS_KV), dim=2)
    before = cache.lengths.clone()
    o = flash_attn_with_kvcache(q, cache.k, cache.v, k, v, cache_seqlens=cache.lengths, block_table=cache.table, causal=True)
    assert torch.equal(cache.lengths, before)
    for row, length in enumerate(LENGTHS):
        keys, values = cache.rows(row, length + q_len)
        assert torch.equal(keys[length:], k[row].float())
        assert torch.equal(values[length:], v[row].float())
        close(o[row], attend(q[row], keys, values)[0])


def test_a_row_of_padding_has_no_tokens_and_changes_no_cache():
    # transformers pads batches so: the length is -1 before the new token, and the pages are -1.
    cache, q = PagedCache(256), randn(len(LENGTHS) + 1, 1, HEADS_Q, DIM)
    k, v = (randn(len(LENGTHS) + 1, 1, HEADS_KV, DIM) for _ in range(2))
    table = torch.cat((cache.table, torch.full_like(cache.table[:1], -1)))
    before = cache.k.clone()
    o = flash_attn_with_kvcache(q, cache.k, cache.v, k, v, cache_seqlens=int32(*LENGTHS, -1), block_table=table, causal=True)
    assert torch.count_nonzero(o[-1]) == 0
    assert int((cache.k != before).flatten(1).any(1).sum()) == len(LENGTHS)
    for row, length in enumerate(LENGTHS):
        close(o[row], attend(q[row], *cache.rows(row, length + 1))[0])


def test_rotary_tables_rotate_queries_and_new_keys():
    cache, q = PagedCache(64), randn(len(LENGTHS), 1, HEADS_Q, DIM)
    k, v = (randn(len(LENGTHS), 1, HEADS_KV, DIM) for _ in range(2))
    positions = cache.width * 64
    angles = torch.outer(torch.arange(positions, device="cuda"), 10000 ** -(torch.arange(0, DIM, 2, device="cuda") / DIM))
    cos, sin = angles.cos().to(torch.bfloat16), angles.sin().to(torch.bfloat16)
    given_q = q.clone()
    for interleaved in (True, False):
        flash_attn_with_kvcache(q, cache.k, cache.v, k, v, cos, sin, cache.lengths, block_table=cache.table, causal=True,
                                rotary_interleaved=interleaved)
        assert torch.equal(q, given_q)
        for row, length in enumerate(LENGTHS):
            x = k[row, 0].float()
            first, second = (x[:, ::2], x[:, 1::2]) if interleaved else (x[:, :64], x[:, 64:])
            c, s = cos[length].float(), sin[length].float()
            parts = first * c - second * s, first * s + second * c
            expected = torch.stack(parts, -1).flatten(1) if interleaved else torch.cat(parts, -1)
            close(cache.rows(row, length + 1)[0][-1], expected)
