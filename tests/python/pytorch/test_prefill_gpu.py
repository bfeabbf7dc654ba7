# SPDX-License-Identifier: Apache-2.0
"""Contiguous prompts by cubinet's kernels, on a GPU. Run with `-m gpu`."""
import pytest

import cubinet
from paged_cache import attend, close, DIM, gpu_runtime, HEADS_KV, HEADS_Q, int32, LENGTHS, PagedCache, randn, torch  # noqa: F401
import cubinet.pytorch
from cubinet.flash_attn import flash_attn_func, flash_attn_varlen_func

pytestmark = pytest.mark.gpu

COUNTS = (5, 130, 1)
ENDS = (0, 5, 135, 136)


def prompts(dim=DIM):
    return [randn(sum(COUNTS), heads, dim) for heads in (HEADS_Q, HEADS_KV, HEADS_KV)]


def test_contiguous_prompts_equal_float32_and_are_not_fallbacks():
    q, k, v = prompts()
    offsets, sinks = int32(*ENDS), randn(HEADS_Q)
    before = cubinet.pytorch.calls()
    cases = [({"causal": True}, {}), ({}, {"causal": False}), ({"causal": True, "window_size": (17, 0)}, {"window": 17}),
             ({"causal": True, "softcap": 20.0}, {"softcap": 20.0}), ({"causal": True, "s_aux": sinks}, {"sinks": sinks})]
    for options, reference in cases:
        o, lse, _ = flash_attn_varlen_func(q, k, v, offsets, offsets, 130, 130, return_attn_probs=True, **options)
        for begin, end in zip(ENDS, ENDS[1:]):
            part = slice(begin, end)
            expected, sums = attend(q[part], k[part].float(), v[part].float(), **reference)
            close(o[part], expected)
            close(lse[:, part], sums)
    after = cubinet.pytorch.calls()
    assert (after.decode - before.decode, after.fallback - before.fallback) == (len(cases), 0)


def test_query_tokens_are_the_last_of_longer_sequences():
    q, (_, k, v) = randn(7, HEADS_Q, DIM), prompts()
    o = flash_attn_varlen_func(q, k, v, int32(0, 2, 6, 7), int32(*ENDS), 4, 130, causal=True)
    for q_part, kv_part in ((slice(0, 2), slice(0, 5)), (slice(2, 6), slice(5, 135)), (slice(6, 7), slice(135, 136))):
        close(o[q_part], attend(q[q_part], k[kv_part].float(), v[kv_part].float())[0])


def test_sequences_of_equal_length_are_a_batch():
    q, k, v = (randn(2, 60, 3, heads, DIM)[:, :, 1] for heads in (HEADS_Q, HEADS_KV, HEADS_KV))
    o, lse, _ = flash_attn_func(q, k, v, causal=True, return_attn_probs=True)
    for row in range(2):
        expected, sums = attend(q[row], k[row].float(), v[row].float())
        close(o[row], expected)
        close(lse[row], sums)


def test_prompts_over_pages_are_prefill():
    cache, counts = PagedCache(64), (1, 300, 513)
    q, offsets = randn(sum(counts), HEADS_Q, DIM), int32(0, 1, 301, 814)
    ends = torch.tensor((0, *LENGTHS), device="cuda").cumsum(0).to(torch.int32)
    o = flash_attn_varlen_func(q, cache.k, cache.v, offsets, ends, max(counts), max(LENGTHS), causal=True,
                               block_table=cache.table)
    for row, length in enumerate(LENGTHS):
        part = slice(int(offsets[row]), int(offsets[row + 1]))
        close(o[part], attend(q[part], *cache.rows(row, length))[0])


def test_prompts_of_other_lengths_share_a_plan():
    q, k, v = prompts()
    flash_attn_varlen_func(q, k, v, int32(*ENDS), int32(*ENDS), 130, 130, causal=True)
    plans = cubinet.pytorch.calls().plans
    offsets = int32(0, 136, 136, 136)
    o = flash_attn_varlen_func(q, k, v, offsets, offsets, 136, 136, causal=True)
    assert cubinet.pytorch.calls().plans == plans
    close(o, attend(q, k.float(), v.float())[0])


def test_a_compiled_prefill_is_one_graph():
    q, k, v = prompts()
    offsets = int32(*ENDS)

    def step(q, k, v):
        return flash_attn_varlen_func(q * 2, k, v, offsets, offsets, 130, 130, causal=True) + 1

    close(torch.compile(step, fullgraph=True)(q, k, v), step(q, k, v))


def test_a_wrong_argument_of_prefill_is_refused_by_its_name():
    q, k, v = prompts()
    given = {"q": q, "k": k, "v": v, "cu_seqlens_q": int32(*ENDS), "cu_seqlens_k": int32(*ENDS)}
    wrong = {"q": [q.cpu(), q[0]], "k": [k.cpu(), k[:, :, ::2]], "v": [v[0]],
             "cu_seqlens_q": [int32(*ENDS).long()], "cu_seqlens_k": [int32(*ENDS).long()]}
    for name, values in wrong.items():
        for value in values:
            with pytest.raises((cubinet.InvalidArgument, cubinet.Unsupported), match=f"'{name}'"):
                flash_attn_varlen_func(**(given | {name: value}), max_seqlen_q=130, max_seqlen_k=130)
