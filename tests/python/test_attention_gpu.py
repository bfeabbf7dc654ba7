# SPDX-License-Identifier: Apache-2.0
"""Attention on a GPU with tensors of PyTorch, beside float32 arithmetic. Run with `-m gpu`."""
import math

import pytest

import cubinet
from cubinet import AttentionProblem

pytestmark = pytest.mark.gpu

LENGTHS = (1, 517, 1000)
HEADS_Q, HEADS_KV, DIM = 32, 8, 128


@pytest.fixture(scope="module")
def torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU")
    torch.manual_seed(1)
    return torch


@pytest.fixture(scope="module")
def gpu_runtime(tmp_path_factory):
    with cubinet.Runtime(home=tmp_path_factory.mktemp("gpu") / "home") as runtime:
        yield runtime


class Cache:
    """A paged cache whose sequences have their pages in a random order. Entries behind the last page are -1."""

    def __init__(self, torch, page, order="nhd", layout="separate", kv_len=1000):
        batch, width = len(LENGTHS), -(-kv_len // page)
        pages = batch * width
        self.torch, self.page, self.order = torch, page, order
        shape = (pages, page, HEADS_KV, DIM) if order == "nhd" else (pages, HEADS_KV, page, DIM)
        if layout == "packed":
            both = torch.randn(*shape[:3], 2 * DIM, device="cuda", dtype=torch.bfloat16)
            self.k, self.v = both[..., :DIM], both[..., DIM:]
        else:
            self.k, self.v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        self.table = torch.randperm(pages, device="cuda").to(torch.int32).reshape(batch, width)
        self.lengths = torch.tensor(LENGTHS, dtype=torch.int32, device="cuda")

    def rows(self, sequence, length):
        """K and V of a sequence, [length, heads, dim], as float32."""
        pages = self.table[sequence].long()
        result = []
        for tensor in (self.k, self.v):
            chosen = tensor[pages] if self.order == "nhd" else tensor[pages].transpose(1, 2)
            result.append(chosen.reshape(-1, HEADS_KV, DIM)[:length].float())
        return result


def reference(torch, q, cache, lengths=LENGTHS):
    """O and log-sum-exp of one query token a sequence, in float32."""
    outputs, sums = [], []
    for index, length in enumerate(lengths):
        k, v = (part.repeat_interleave(HEADS_Q // HEADS_KV, dim=1) for part in cache.rows(index, length))
        logits = torch.einsum("hd,khd->hk", q[index, 0].float(), k) / math.sqrt(DIM)
        outputs.append(torch.einsum("hk,khd->hd", logits.softmax(-1), v))
        sums.append(logits.logsumexp(-1))
    return torch.stack(outputs)[:, None], torch.stack(sums)[:, None]


def problem(page, **members):
    values = {"batch": len(LENGTHS), "kv_len": 1000, "heads_q": HEADS_Q, "heads_kv": HEADS_KV, "page_size": page}
    return AttentionProblem(**(values | members))


def make_q(torch):
    return torch.randn(len(LENGTHS), 1, HEADS_Q, DIM, device="cuda", dtype=torch.bfloat16)


def close(torch, given, expected, tolerance=1e-2):
    torch.testing.assert_close(given.float(), expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize(("page", "order", "layout"), [
    (16, "nhd", "separate"), (64, "nhd", "separate"), (64, "hnd", "separate"), (64, "hnd", "packed"),
    (16, "nhd", "packed")])
def test_decode_equals_float32(torch, gpu_runtime, page, order, layout):
    cache, q = Cache(torch, page, order, layout), make_q(torch)
    o = torch.full_like(q, float("nan"))
    lse = torch.full((len(LENGTHS), 1, HEADS_Q), float("nan"), device="cuda")
    expected, sums = reference(torch, q, cache)
    with gpu_runtime.attention(problem(page, kv_order=order, lse=True)) as attention, attention.workspace() as workspace:
        given = {"q": q, "k": cache.k, "v": cache.v, "o": o, "page_table": cache.table, "kv_lengths": cache.lengths,
                 "lse": lse, "workspace": workspace}
        attention.check(**given)
        attention.run(**given)
        close(torch, o, expected)
        close(torch, lse, sums)


def test_a_run_follows_the_current_stream(torch, gpu_runtime):
    cache, q = Cache(torch, 64), make_q(torch)
    o, late = torch.empty_like(q), torch.zeros_like(q)
    expected, _ = reference(torch, q, cache)
    with gpu_runtime.attention(problem(64)) as attention, attention.workspace() as workspace:
        torch.cuda.synchronize()
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            torch.cuda._sleep(500_000_000)
            late.copy_(q)
            attention.run(q=late, k=cache.k, v=cache.v, o=o, page_table=cache.table, kv_lengths=cache.lengths,
                          workspace=workspace)
        assert not side.query()
        side.synchronize()
        close(torch, o, expected)


def test_a_captured_run_is_replayed_with_other_lengths(torch, gpu_runtime):
    cache, q = Cache(torch, 64), make_q(torch)
    o = torch.empty_like(q)
    with gpu_runtime.attention(problem(64)) as attention, attention.workspace() as workspace:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            attention.run(q=q, k=cache.k, v=cache.v, o=o, page_table=cache.table, kv_lengths=cache.lengths,
                          workspace=workspace)
        for lengths in (LENGTHS, (64, 3, 999)):
            cache.lengths.copy_(torch.tensor(lengths, dtype=torch.int32))
            graph.replay()
            close(torch, o, reference(torch, q, cache, lengths)[0])


def test_new_tokens_of_a_fused_projection_are_appended(torch, gpu_runtime):
    cache = Cache(torch, 64)
    fused = torch.randn(len(LENGTHS), 1, HEADS_Q + 2 * HEADS_KV, DIM, device="cuda", dtype=torch.bfloat16)
    q, k, v = fused.split((HEADS_Q, HEADS_KV, HEADS_KV), dim=2)
    o = torch.empty_like(q)
    with gpu_runtime.attention(problem(64, append=True)) as attention, attention.workspace() as workspace:
        attention.run(q=q, k=cache.k, v=cache.v, o=o, page_table=cache.table, kv_lengths=cache.lengths, new_k=k,
                      new_v=v, workspace=workspace)
        for index, length in enumerate(LENGTHS):
            rows = cache.rows(index, length)
            assert torch.equal(rows[0][-1], k[index, 0].float())
            assert torch.equal(rows[1][-1], v[index, 0].float())
        close(torch, o, reference(torch, q, cache)[0])


def test_two_parts_merge_to_the_whole(torch, gpu_runtime):
    cache, q = Cache(torch, 64), make_q(torch)
    tokens = len(LENGTHS)
    parts = []
    with gpu_runtime.attention(problem(64, lse=True)) as attention, attention.workspace() as workspace, \
            gpu_runtime.merge(HEADS_Q, DIM) as merge:
        # The first 512 tokens are the first 8 pages of a sequence; the others begin at a page too.
        first = cache.lengths.clamp(max=512)
        second = cache.lengths - first
        rest = cache.table.roll(-8, dims=1).contiguous()
        for lengths, table in ((first, cache.table), (second, rest)):
            o = torch.empty_like(q)
            lse = torch.empty(tokens, 1, HEADS_Q, device="cuda")
            attention.run(q=q, k=cache.k, v=cache.v, o=o, page_table=table, kv_lengths=lengths, lse=lse,
                          workspace=workspace)
            parts.append((o.view(tokens, HEADS_Q, DIM), lse.view(tokens, HEADS_Q)))
        merged, sums = torch.empty_like(parts[0][0]), torch.empty_like(parts[0][1])
        merge.run(first_o=parts[0][0], first_lse=parts[0][1], second_o=parts[1][0], second_lse=parts[1][1], o=merged,
                  lse=sums)
        expected, expected_sums = reference(torch, q, cache)
        close(torch, merged, expected[:, 0])
        close(torch, sums, expected_sums[:, 0])


def test_wrong_tensors_are_refused_before_any_launch(torch, gpu_runtime):
    cache, q = Cache(torch, 64), make_q(torch)
    with gpu_runtime.attention(problem(64)) as attention, attention.workspace() as workspace:
        given = {"q": q, "k": cache.k, "v": cache.v, "o": torch.zeros_like(q), "page_table": cache.table,
                 "kv_lengths": cache.lengths, "workspace": workspace}
        for name, wrong in (("q", q.cpu()), ("q", q.half()), ("k", cache.k[:, :32]), ("o", q.transpose(2, 3)),
                            ("page_table", cache.table[:, :3]), ("kv_lengths", cache.lengths.long())):
            with pytest.raises(cubinet.InvalidArgument, match=f"'{name}'"):
                attention.run(**(given | {name: wrong}))
        assert torch.count_nonzero(given["o"]) == 0
