# SPDX-License-Identifier: Apache-2.0
"""Paged caches of PyTorch tensors on a GPU, and attention in float32. Skips the importing file without a GPU."""
import math

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("PyTorch finds no GPU", allow_module_level=True)

import cubinet  # noqa: E402
import cubinet.pytorch  # noqa: E402

HEADS_Q, HEADS_KV, DIM = 8, 2, 128
LENGTHS = (1, 517, 700)


@pytest.fixture(scope="module", autouse=True)
def gpu_runtime(tmp_path_factory):
    """The Runtime of the functions, with a home of its own."""
    torch.manual_seed(1)
    runtime = cubinet.Runtime(home=tmp_path_factory.mktemp("gpu") / "home")
    cubinet.pytorch.configure(runtime=runtime)
    return runtime


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
