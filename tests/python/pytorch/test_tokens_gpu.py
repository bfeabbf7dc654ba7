# SPDX-License-Identifier: Apache-2.0
"""Query tokens of all sequences in one tensor, on a GPU. Run with `-m gpu`."""
import pytest

import cubinet
from paged_cache import DIM, HEADS_Q, LENGTHS, PagedCache, attend, close, gpu_runtime, int32, randn, torch  # noqa: F401
from cubinet.pytorch.tokens import Options, Tensors, find_or_plan, run

pytestmark = pytest.mark.gpu

NAMES = {"q": "query", "k": "cache", "v": "cache", "o": "result", "page_table": "table"}


def decode(q, cache, given, options):
    plan = find_or_plan("decode", NAMES, q, cache.k, cache.v, given, options, 0)
    run(plan, NAMES, q, cache.k, cache.v, given, 0)


def test_soft_caps_and_offsets_equal_float32():
    cache, counts = PagedCache(64), (1, 3, 2)
    q = randn(sum(counts), HEADS_Q, DIM)
    given = Tensors(torch.empty_like(q), cache.table, cache.lengths, int32(0, 1, 4, 6))
    decode(q, cache, given, Options(max(LENGTHS), max(counts), "nhd", (DIM**-0.5, 1.0), soft_cap=20.0))
    begin = 0
    for row, (count, length) in enumerate(zip(counts, LENGTHS)):
        expected, _ = attend(q[begin : begin + count], *cache.rows(row, length), softcap=20.0)
        close(given.out[begin : begin + count], expected)
        begin += count


def test_unequal_tokens_without_offsets_are_refused():
    cache, q = PagedCache(64), randn(4, HEADS_Q, DIM)
    given = Tensors(torch.empty_like(q), cache.table, cache.lengths)
    with pytest.raises(cubinet.InvalidArgument, match="'query' has 4 tokens for 3 sequences"):
        decode(q, cache, given, Options(max(LENGTHS), 1, "nhd", (DIM**-0.5, 1.0)))
