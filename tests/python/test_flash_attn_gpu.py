# SPDX-License-Identifier: Apache-2.0
"""FlashAttention's functions on a GPU, beside float32 arithmetic. Run with `-m gpu`."""
import math

import pytest

import cubinet

pytestmark = pytest.mark.gpu

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("PyTorch finds no GPU", allow_module_level=True)

import cubinet.pytorch  # noqa: E402
from cubinet.flash_attn import flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache  # noqa: E402

HEADS_Q, HEADS_KV, DIM = 8, 2, 128
LENGTHS = (1, 517, 700)


@pytest.fixture(scope="module", autouse=True)
def gpu_runtime(tmp_path_factory):
    torch.manual_seed(1)
    runtime = cubinet.Runtime(home=tmp_path_factory.mktemp("gpu") / "home")
    cubinet.pytorch.configure(runtime=runtime)
    yield runtime


def randn(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def int32(*values):
    return torch.tensor(values, dtype=torch.int32, device="cuda")


class PagedCache:
    """Sequences of LENGTHS with 3 tokens to spare, whose pages are in a random order. -1 is behind the last page."""

    def __init__(self, page, dtype=torch.bfloat16):
        self.page, self.batch = page, len(LENGTHS)
        self.width = -(-(max(LENGTHS) + 3) // page) + 1
        pages = self.batch * self.width
        self.k, self.v = (randn(pages, page, HEADS_KV, DIM, dtype=dtype) for _ in range(2))
        self.table = torch.randperm(pages, device="cuda").to(torch.int32).reshape(self.batch, self.width)
        for row, length in enumerate(LENGTHS):
            self.table[row, -(-(length + 3) // page):] = -1
        self.lengths = int32(*LENGTHS)

    def rows(self, sequence, length):
        pages = self.table[sequence, : -(-length // self.page)].long()
        return [cache[pages].reshape(-1, HEADS_KV, DIM)[:length].float() for cache in (self.k, self.v)]


def attend(q, k, v, causal=True, window=-1, softcap=0.0, sinks=None):
    """O and log-sum-exps of one sequence in float32: q [q_len, heads_q, dim], k and v [length, heads_kv, dim]."""
    k, v = (part.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for part in (k, v))
    logits = torch.einsum("qhd,khd->hqk", q.float(), k) / math.sqrt(q.shape[-1])
    if softcap:
        logits = softcap * torch.tanh(logits / softcap)
    rows = torch.arange(k.shape[0] - q.shape[0], k.shape[0], device=q.device)[:, None]
    columns = torch.arange(k.shape[0], device=q.device)
    if causal:
        logits = logits.masked_fill(columns > rows, -math.inf)
    if window >= 0:
        logits = logits.masked_fill(columns < rows - window, -math.inf)
    maximum = logits.amax(-1, keepdim=True)
    weights = torch.exp(logits - maximum)
    total = weights.sum(-1, keepdim=True)
    if sinks is not None:
        total = total + torch.exp(sinks.float()[:, None, None] - maximum)
    return torch.einsum("hqk,khd->qhd", weights / total, v), (maximum + total.log()).squeeze(-1)


def close(given, expected, tolerance=1e-2):
    torch.testing.assert_close(given.float(), expected.float(), atol=tolerance, rtol=tolerance)


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
    # transformers pads batches for CUDA graphs: the length is -1 before the new token, the pages are -1.
    cache, q = PagedCache(256), randn(len(LENGTHS) + 1, 1, HEADS_Q, DIM)
    k, v = (randn(len(LENGTHS) + 1, 1, HEADS_KV, DIM) for _ in range(2))
    table = torch.cat((cache.table, torch.full_like(cache.table[:1], -1)))
    before = cache.k.clone()
    o = flash_attn_with_kvcache(q, cache.k, cache.v, k, v, cache_seqlens=int32(*LENGTHS, -1), block_table=table, causal=True)
    assert torch.count_nonzero(o[-1]) == 0
    assert int((cache.k != before).flatten(1).any(1).sum()) == len(LENGTHS)
    for row, length in enumerate(LENGTHS):
        close(o[row], attend(q[row], *cache.rows(row, length + 1))[0])


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


def test_varlen_over_pages_is_ragged_decode():
    cache, counts = PagedCache(64), (1, 4, 2)
    q, offsets = randn(sum(counts), HEADS_Q, DIM), int32(0, 1, 5, 7)
    ends = torch.tensor((0, *LENGTHS), device="cuda").cumsum(0).to(torch.int32)
    before = cubinet.pytorch.calls()
    o, lse, _ = flash_attn_varlen_func(q, cache.k, cache.v, offsets, ends, max(counts), max(LENGTHS), causal=True,
                                       block_table=cache.table, return_attn_probs=True)
    assert cubinet.pytorch.calls().decode == before.decode + 1
    for row, length in enumerate(LENGTHS):
        part = slice(int(offsets[row]), int(offsets[row + 1]))
        expected, sums = attend(q[part], *cache.rows(row, length))
        close(o[part], expected)
        close(lse[:, part], sums)


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


def test_streams_have_scratch_memory_of_their_own():
    cache, q = PagedCache(64), randn(len(LENGTHS), 1, HEADS_Q, DIM)
    expected = flash_attn_with_kvcache(q, cache.k, cache.v, cache_seqlens=cache.lengths, block_table=cache.table, num_splits=4)
    torch.cuda.synchronize()
    streams, outputs = [torch.cuda.Stream() for _ in range(4)], []
    for _ in range(50):
        for stream in streams:
            with torch.cuda.stream(stream):
                outputs.append(flash_attn_with_kvcache(q, cache.k, cache.v, cache_seqlens=cache.lengths,
                                                       block_table=cache.table, num_splits=4))
    torch.cuda.synchronize()
    assert all(torch.equal(o, expected) for o in outputs)


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
        "k": [k, k.half()],
        "window_size": [(3,), "ab", 3],
        "s_aux": [randn(HEADS_Q + 1)],
        "out": [torch.empty_like(q, dtype=torch.float16), torch.empty_like(q[:2])],
    }
    before = cubinet.pytorch.calls().decode
    for name, values in wrong.items():
        for value in values:
            with pytest.raises((cubinet.InvalidArgument, cubinet.Unsupported), match=f"'{name}'"):
                flash_attn_with_kvcache(**(given | {name: value}))
    with pytest.raises(cubinet.Unsupported, match="'cache_leftpad'"):
        flash_attn_with_kvcache(**given, cache_leftpad=cache.lengths)
    with pytest.raises(cubinet.Unsupported, match="gradient"):
        flash_attn_with_kvcache(**(given | {"q": q.clone().requires_grad_()}))
    assert cubinet.pytorch.calls().decode == before
