# SPDX-License-Identifier: Apache-2.0
"""FlashInfer's functional decode call on a GPU, beside float32 arithmetic. Run with `-m gpu`."""
import math

import pytest

import cubinet

from paged_cache import DIM, HEADS_Q, LENGTHS, PagedCache, attend, close, gpu_runtime, int32, randn, torch  # noqa: F401
from cubinet.flashinfer import trtllm_batch_decode_with_kv_cache

pytestmark = pytest.mark.gpu


def decode(query, cache, **options):
    workspace = torch.empty(16 << 20, dtype=torch.uint8, device="cuda")
    values = {"kv_cache": (cache.k, cache.v), "workspace_buffer": workspace, "block_tables": cache.table,
              "seq_lens": cache.lengths, "max_seq_len": max(LENGTHS), "bmm1_scale": DIM**-0.5, "kv_layout": "NHD"}
    return trtllm_batch_decode_with_kv_cache(query, **(values | options))


def test_layouts_scales_and_windows_equal_float32():
    cache, query = PagedCache(64), randn(len(LENGTHS), HEADS_Q, DIM)
    heads_first = torch.stack((cache.k, cache.v), 1).transpose(2, 3).contiguous()
    one = torch.ones(1, device="cuda")
    cases = [({}, {}), ({"kv_cache": heads_first, "kv_layout": "HND"}, {}), ({"window_left": 99}, {"window": 99}),
             ({"bmm1_scale": one * DIM**-0.5}, {}), ({"enable_pdl": True}, {}),
             ({"bmm1_scale_log2": one * DIM**-0.5 / math.log(2)}, {})]
    for options, reference in cases:
        o = decode(query, cache, **options)
        for row, length in enumerate(LENGTHS):
            close(o[row], attend(query[row : row + 1], *cache.rows(row, length), **reference)[0][0])
    close(decode(query, cache, bmm2_scale=0.5), decode(query, cache) * 0.5)


def test_several_tokens_of_a_request_and_base_2_sums():
    cache, query = PagedCache(16), randn(2 * len(LENGTHS), HEADS_Q, DIM)
    lengths = int32(2, 517, 700)
    o, lse = decode(query, cache, seq_lens=lengths, q_len_per_req=2, return_lse=True)
    offsets = int32(0, 2, 4, 6)
    ragged = decode(query, cache, seq_lens=lengths, cum_seq_lens_q=offsets, max_q_len=2)
    for row, length in enumerate((2, 517, 700)):
        part = slice(2 * row, 2 * row + 2)
        expected, sums = attend(query[part], *cache.rows(row, length))
        close(o[part], expected)
        close(ragged[part], expected)
        close(lse[part].T * math.log(2), sums)


def test_wrong_arguments_are_refused_by_their_names():
    cache, query = PagedCache(64), randn(len(LENGTHS), HEADS_Q, DIM)
    wrong = {
        "workspace_buffer": torch.empty(16, dtype=torch.uint8, device="cuda"), "kv_layout": "DNH", "backend": "xqa",
        "block_tables": cache.table[:, :3].contiguous(), "seq_lens": cache.lengths.long(), "mask": cache.table,
        "kv_cache": (cache.k,), "o_scale": 2.0, "max_q_len": 2, "bmm1_scale": -1.0,
    }
    for name, value in wrong.items():
        with pytest.raises((cubinet.InvalidArgument, cubinet.Unsupported), match=f"'{name}'"):
            decode(query, cache, **{name: value})
