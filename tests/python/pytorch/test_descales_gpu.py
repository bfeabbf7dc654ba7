# SPDX-License-Identifier: Apache-2.0
"""FlashAttention 3's scales of e4m3 tensors, on a GPU, beside float32 arithmetic. Run with `-m gpu`."""
import pytest

import cubinet
from paged_cache import attend, close, DIM, gpu_runtime, HEADS_KV, HEADS_Q, int32, LENGTHS, PagedCache, randn, torch  # noqa: F401
from cubinet.flash_attn import flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache

pytestmark = pytest.mark.gpu

BATCH = len(LENGTHS)
E4M3 = torch.float8_e4m3fn


def scales(batch=BATCH):
    return torch.rand(batch, HEADS_KV, device="cuda") + 0.5


def scaled(tensor, factors):
    """Multiplies [tokens, heads, dim] by one factor for each KV head."""
    return tensor.float() * factors.repeat_interleave(tensor.shape[1] // HEADS_KV)[None, :, None]


def narrow_cache(page=64):
    cache = PagedCache(page)
    cache.k, cache.v = cache.k.to(E4M3), cache.v.to(E4M3)
    return cache


@pytest.mark.parametrize("q_type", [torch.bfloat16, E4M3])
@pytest.mark.parametrize("shared", [False, True])
def test_decode_multiplies_by_the_scales_of_sequences_or_of_one_expanded_row(q_type, shared):
    cache, q = narrow_cache(), randn(BATCH, 1, HEADS_Q, DIM).to(q_type)
    q_scales, k_scales, v_scales = (scales(1).expand(BATCH, HEADS_KV) if shared else scales() for _ in range(3))
    o, lse = flash_attn_with_kvcache(
        q, cache.k, cache.v, cache_seqlens=cache.lengths, block_table=cache.table, causal=True, return_softmax_lse=True,
        q_descale=q_scales, k_descale=k_scales, v_descale=v_scales)
    assert o.dtype == torch.bfloat16
    for row, length in enumerate(LENGTHS):
        k, v = cache.rows(row, length)
        expected, sums = attend(scaled(q[row], q_scales[row]), scaled(k, k_scales[row]), scaled(v, v_scales[row]))
        close(o[row], expected, 3e-2)
        close(lse[row], sums)


def test_new_tokens_are_divided_by_the_scales_before_they_are_stored():
    cache, q = narrow_cache(), randn(BATCH, 1, HEADS_Q, DIM)
    k, v = (randn(BATCH, 1, HEADS_KV, DIM) for _ in range(2))
    k_scales, v_scales = scales(), scales()
    given = dict(cache_seqlens=cache.lengths, block_table=cache.table, causal=True)
    o = flash_attn_with_kvcache(q, cache.k, cache.v, k, v, k_descale=k_scales, v_descale=v_scales, **given)
    for row, length in enumerate(LENGTHS):
        keys, values = cache.rows(row, length + 1)
        assert torch.equal(keys[-1], (k[row, 0].float() / k_scales[row][:, None]).to(E4M3).float())
        close(o[row], attend(q[row], scaled(keys, k_scales[row]), scaled(values, v_scales[row]))[0], 3e-2)
    with pytest.raises(cubinet.Unsupported, match="q_descale"):
        flash_attn_with_kvcache(q, cache.k, cache.v, k, v, q_descale=k_scales, **given)


def test_prompts_have_the_scales_of_their_sequences():
    counts, ends = (5, 130, 1), (0, 5, 135, 136)
    q, k, v = (randn(136, heads, DIM).to(E4M3) for heads in (HEADS_Q, HEADS_KV, HEADS_KV))
    k_scales, v_scales = scales(), scales()
    o = flash_attn_varlen_func(q, k, v, int32(*ends), int32(*ends), max(counts), max(counts), causal=True,
                               k_descale=k_scales, v_descale=v_scales)
    assert o.dtype == torch.bfloat16
    for row in range(3):
        part = slice(ends[row], ends[row + 1])
        expected, _ = attend(q[part], scaled(k[part], k_scales[row]), scaled(v[part], v_scales[row]))
        close(o[part], expected, 0.1)
    equal = flash_attn_func(q[:5][None], k[:5][None], v[:5][None], causal=True, k_descale=k_scales[:1], v_descale=v_scales[:1])
    close(equal[0], o[:5])


def test_ragged_tokens_over_pages_have_the_scales_of_their_sequences():
    cache, q = narrow_cache(), randn(6, HEADS_Q, DIM)
    ends, v_scales = (0, 1, 4, 6), scales()
    o = flash_attn_varlen_func(q, cache.k, cache.v, int32(*ends), int32(0, *torch.tensor(LENGTHS).cumsum(0).tolist()), 3,
                               max(LENGTHS), causal=True, block_table=cache.table, v_descale=v_scales)
    for row, length in enumerate(LENGTHS):
        k, v = cache.rows(row, length)
        close(o[ends[row]:ends[row + 1]], attend(q[ends[row]:ends[row + 1]], k, scaled(v, v_scales[row]))[0], 3e-2)


def test_a_compiled_function_passes_the_scales_on():
    cache, q = narrow_cache(), randn(BATCH, 1, HEADS_Q, DIM)
    k_scales = scales()

    def step(q, k_scales):
        return flash_attn_with_kvcache(q, cache.k, cache.v, cache_seqlens=cache.lengths, block_table=cache.table, causal=True,
                                       k_descale=k_scales)

    close(torch.compile(step, fullgraph=True)(q, k_scales), step(q, k_scales))
