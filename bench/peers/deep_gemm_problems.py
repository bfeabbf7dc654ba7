# SPDX-License-Identifier: Apache-2.0
"""Problems of DeepGEMM: its five operations of decode and prefill on Hopper, each against float32 of PyTorch, and ten
shapes of DeepSeek-V3 and Llama-3-70B to time."""
import math

import torch

import deep_gemm
from deep_gemm.utils.layout import get_mn_major_tma_aligned_tensor

BLOCK_KV = 64
L2_BYTES = 256 << 20  # operands that are read in turn exceed the L2 cache


def random(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def quantized(x, rows):
    """e4m3 with a scale for each block of `rows` x 128 of the last two dimensions. The last block may have fewer rows."""
    *outer, m, k = x.shape
    padded = torch.nn.functional.pad(x, (0, 0, 0, -m % rows)).float()
    blocks = padded.view(*outer, -1, rows, k // 128, 128)
    scales = blocks.abs().amax(dim=(-3, -1), keepdim=True).clamp(1e-4) / 448
    values = (blocks / scales).to(torch.float8_e4m3fn).view(padded.shape)[..., :m, :].contiguous()
    return values, scales.view(*outer, -1, k // 128)


def for_launches(pair, aligned):
    """If `aligned`, the scales have the layout of the kernel. Otherwise each call launches a kernel that makes it."""
    values, scales = pair
    return values, get_mn_major_tma_aligned_tensor(scales) if aligned else scales


def dequantized(pair, rows):
    values, scales = pair
    return values.float() * scales.repeat_interleave(rows, -2)[..., :values.shape[-2], :].repeat_interleave(128, -1)


def error(result, expected):
    """Root mean square of the difference, in that of the expected values."""
    return ((result.float() - expected).norm() / expected.norm()).item()


class Dense:
    """D = A B^T, in bf16 or in e4m3 with scales (1 x 128 of A, 128 x 128 of B). With `copies` of B it is for timing."""

    def __init__(self, m, n, k, fp8, copies=0):
        a = random(m, k)
        weights = [random(n, k) for _ in range(max(copies, 1))]
        self.d = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        self.fp8 = fp8
        if not fp8:
            self.a, self.weights = a, weights
            return
        self.plain = quantized(a, 1)
        self.a = for_launches(self.plain, copies > 0)
        self.weights = [quantized(b, 128) for b in weights]

    def launch(self, copy=0):
        gemm = deep_gemm.fp8_gemm_nt if self.fp8 else deep_gemm.bf16_gemm_nt
        gemm(self.a, self.weights[copy], self.d)

    def check(self):
        b = self.weights[0]
        expected = dequantized(self.plain, 1) @ dequantized(b, 128).T if self.fp8 else self.a.float() @ b.float().T
        return error(self.d, expected)


class Grouped:
    """Each group has a matrix B of its own. Its rows of A follow each other (contiguous), or begin a slot of the same
    size for each group (masked)."""

    def __init__(self, groups, rows, n, k, masked, copies=0):
        self.masked, self.groups, self.rows = masked, groups, rows
        a = random(groups, rows, k)
        values, scales = quantized(a, 1)
        self.plain = values, scales
        self.weights = [quantized(random(groups, n, k), 128) for _ in range(max(copies, 1))]
        self.d = torch.zeros(groups, rows, n, device="cuda", dtype=torch.bfloat16)
        if masked:
            self.a = for_launches(self.plain, copies > 0)
            self.used = [rows // 4 + (index * 29) % (rows // 2) for index in range(groups)]
            self.layout = torch.tensor(self.used, device="cuda", dtype=torch.int32)
        else:
            self.a = for_launches((values.view(-1, k), scales.view(groups * rows, -1)), copies > 0)
            self.used = [rows] * groups
            self.layout = torch.arange(groups, device="cuda", dtype=torch.int32).repeat_interleave(rows)

    def launch(self, copy=0):
        if self.masked:
            deep_gemm.fp8_m_grouped_gemm_nt_masked(self.a, self.weights[copy], self.d, self.layout, sum(self.used) // self.groups)
        else:
            deep_gemm.m_grouped_fp8_gemm_nt_contiguous(
                self.a, self.weights[copy], self.d.view(-1, self.d.shape[-1]), self.layout)

    def check(self):
        values, scales = self.weights[0]
        worst = 0.0
        for group, used in enumerate(self.used):
            a = dequantized((self.plain[0][group], self.plain[1][group]), 1)[:used]
            expected = a @ dequantized((values[group], scales[group]), 128).T
            worst = max(worst, error(self.d[group, :used], expected))
        return worst


class PagedLogits:
    """Logits of DeepSeek's indexer: for each token of a paged e4m3 cache the weighted sum of relu(q k) over the heads."""

    def __init__(self, batch, length, heads=64, dim=128):
        blocks = math.ceil(length / BLOCK_KV)
        self.batch, self.length = batch, length
        self.q = random(batch, 1, heads, dim).to(torch.float8_e4m3fn)
        self.weights = torch.randn(batch, heads, device="cuda", dtype=torch.float32)
        keys = random(batch * blocks, BLOCK_KV, dim).float()
        self.scales = keys.abs().amax(dim=-1).clamp(1e-4) / 448
        self.keys = (keys / self.scales.unsqueeze(-1)).to(torch.float8_e4m3fn)
        cache = torch.empty(batch * blocks, BLOCK_KV * (dim + 4), device="cuda", dtype=torch.uint8)
        cache[:, :BLOCK_KV * dim] = self.keys.view(batch * blocks, -1).view(torch.uint8)
        cache[:, BLOCK_KV * dim:] = self.scales.view(torch.uint8)
        self.cache = cache.view(batch * blocks, BLOCK_KV, 1, dim + 4)
        self.lengths = [length - 61 * index for index in range(batch)]
        self.context = torch.tensor(self.lengths, device="cuda", dtype=torch.int32).view(batch, 1)
        self.table = torch.randperm(batch * blocks, device="cuda").to(torch.int32).view(batch, blocks)

    def launch(self, copy=0):
        plan = deep_gemm.get_paged_mqa_logits_metadata(self.context, BLOCK_KV, deep_gemm.get_num_sms())
        self.logits = deep_gemm.fp8_paged_mqa_logits(
            self.q, self.cache, self.weights, self.context, self.table, plan, self.length)

    def check(self):
        worst = 0.0
        for index, length in enumerate(self.lengths):
            pages = self.table[index].long()
            keys = (self.keys[pages].float() * self.scales[pages].unsqueeze(-1)).flatten(0, 1)[:length]
            scores = torch.relu(keys @ self.q[index, 0].float().T) @ self.weights[index]
            worst = max(worst, error(self.logits[index, :length], scores))
        return worst


# Name, tolerance and problem. A result in bf16 has an error of 1.7e-3 by rounding alone; the tensor
# cores add products of e4m3 with fewer bits than float32. The logits are float32.
OPERATIONS = {
    "bf16": (2.5e-3, lambda: Dense(256, 4096, 2048, fp8=False)),
    "fp8 1d2d": (3e-3, lambda: Dense(256, 4096, 2048, fp8=True)),
    "fp8 grouped, contiguous": (3e-3, lambda: Grouped(4, 256, 4096, 2048, masked=False)),
    "fp8 grouped, masked": (3e-3, lambda: Grouped(4, 256, 2048, 4096, masked=True)),
    "paged MQA logits": (2e-3, lambda: PagedLogits(8, 4096)),
}

SHAPES = {
    "V3 q_a, kv_a, fp8 64 x 2112 x 7168": lambda copies: Dense(64, 2112, 7168, True, copies(2112 * 7168)),
    "V3 q_b, fp8 4096 x 24576 x 1536": lambda copies: Dense(4096, 24576, 1536, True, copies(24576 * 1536)),
    "V3 o, fp8 128 x 7168 x 16384": lambda copies: Dense(128, 7168, 16384, True, copies(7168 * 16384)),
    "V3 down, fp8 4096 x 7168 x 2048": lambda copies: Dense(4096, 7168, 2048, True, copies(7168 * 2048)),
    "V3 experts, fp8 contiguous 8 x 512 x 4096 x 7168":
        lambda copies: Grouped(8, 512, 4096, 7168, False, copies(8 * 4096 * 7168)),
    "V3 experts, fp8 masked 32 x 128 x 7168 x 2048":
        lambda copies: Grouped(32, 128, 7168, 2048, True, copies(32 * 7168 * 2048)),
    "Llama qkv, bf16 64 x 10240 x 8192": lambda copies: Dense(64, 10240, 8192, False, copies(2 * 10240 * 8192)),
    "Llama o, bf16 4096 x 8192 x 8192": lambda copies: Dense(4096, 8192, 8192, False, copies(2 * 8192 * 8192)),
    "Llama gate and up, fp8 64 x 57344 x 8192": lambda copies: Dense(64, 57344, 8192, True, copies(57344 * 8192)),
    "Llama down, fp8 4096 x 8192 x 28672": lambda copies: Dense(4096, 8192, 28672, True, copies(8192 * 28672)),
}


def shape(name, copies=None):
    """Makes the problem, with as many copies of the weights as exceed the L2 cache, or with `copies`."""
    return SHAPES[name](lambda weight_bytes: copies or math.ceil(L2_BYTES / weight_bytes))
