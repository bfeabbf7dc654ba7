# SPDX-License-Identifier: Apache-2.0
"""A serving loop on a GPU: two ranks record, a process without a GPU builds the bundle, a third rank is prepared from
it, frozen, and serves without a compilation. Run with `-m gpu`."""
import os
import subprocess
import sys

import pytest

from paged_cache import DIM, HEADS_Q, PagedCache, randn  # skips without a GPU

import cubinet
import cubinet.pytorch
from cubinet.flash_attn import flash_attn_with_kvcache

pytestmark = pytest.mark.gpu

BUILD = """
import sys, cubinet
merged, bundle, home = sys.argv[1:]
report = cubinet.prebuild(bundle, workload=cubinet.Workload.read(merged), home=home)
assert report["kernels"] and not report["unserved"], report
"""


def serve(page, q_len):
    """One decode step of a rank."""
    cache = PagedCache(page)
    q = randn(cache.batch, q_len, HEADS_Q, DIM)
    return flash_attn_with_kvcache(q, cache.k, cache.v, cache_seqlens=cache.lengths, block_table=cache.table, causal=True)


def test_what_two_ranks_recorded_is_served_frozen_without_a_compilation(tmp_path):
    recorded = []
    for page, q_len in ((16, 1), (64, 2)):
        with cubinet.Runtime(home=tmp_path / "home", record=True) as rank:
            cubinet.pytorch.configure(runtime=rank)
            serve(page, q_len)
            recorded.append(rank.workload())
    merged = recorded[0].merge(recorded[1])
    assert len(merged.entries()) >= 2
    merged.write(tmp_path / "merged.workload")
    built = subprocess.run(
        [sys.executable, "-c", BUILD, *(str(tmp_path / name) for name in ("merged.workload", "w.bundle", "builds"))],
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""}, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    with cubinet.Runtime(home="", bundles=tmp_path / "w.bundle", compile="never") as rank:
        report = rank.prepare(merged)
        assert report["loaded"] == len(merged.entries()) and report["compiled"] == 0
        rank.freeze()
        (tmp_path / "w.bundle").write_bytes(b"another file")
        cubinet.pytorch.configure(runtime=rank)
        for page, q_len in ((16, 1), (64, 2)):
            assert serve(page, q_len).isfinite().all()
        with cubinet.caller("a test"), pytest.raises(cubinet.NotFound, match="frozen"):
            rank.kernel("rms_norm", hidden_size=64).function()
        assert rank.counters().compiled == 0 and rank.refusals().entries[0].caller == "a test"
