# SPDX-License-Identifier: Apache-2.0
"""The fallback and the counters, which need PyTorch but no GPU. Run with `-m gpu`."""
import pytest

import cubinet

pytest.importorskip("torch")

import cubinet.pytorch  # noqa: E402
from cubinet.pytorch import settings  # noqa: E402

pytestmark = pytest.mark.gpu


def test_the_fallback_can_be_forbidden():
    settings.check_fallback("f", "reason")
    cubinet.pytorch.configure(fallback="never")
    try:
        with pytest.raises(cubinet.Unsupported, match="f: reason"):
            settings.check_fallback("f", "reason")
    finally:
        cubinet.pytorch.configure(fallback="varlen_attn")
    with pytest.raises(cubinet.InvalidArgument, match="'fallback' is 'sdpa'"):
        cubinet.pytorch.configure(fallback="sdpa")


def test_calls_are_counted_by_their_kernels():
    before = cubinet.pytorch.calls()
    settings.count_decode()
    settings.count_fallback()
    settings.count_fallback()
    after = cubinet.pytorch.calls()
    assert (after.decode - before.decode, after.fallback - before.fallback) == (1, 2)
