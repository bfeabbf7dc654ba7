# SPDX-License-Identifier: Apache-2.0
"""Calls every operation of DeepGEMM that has kernels for 9.0, with random problems, on the stand-in device that record.py
preloads. Prints how many calls of each operation the host code accepted, and the last refusal of each, as JSON.

Usage: calls.py COUNT SEED"""
import json
import os
import random
import sys

import deep_gemm
import torch

FLOAT8, BFLOAT16, FLOAT32, INT32 = torch.float8_e4m3fn, torch.bfloat16, torch.float32, torch.int32


def empty(*shape, dtype=BFLOAT16, major="K"):
    """Returns a tensor of this shape whose last dimension, or last but one, is contiguous."""
    if major == "K":
        return torch.empty(shape, dtype=dtype, device="cuda")
    return torch.empty((*shape[:-2], shape[-1], shape[-2]), dtype=dtype, device="cuda").transpose(-1, -2)


def blocks(size, width):
    return (size + width - 1) // width


def scaled(*shape, rows=1, width=128, major="K"):
    """Returns an e4m3 tensor and its scales, one for each block of `rows` x `width`."""
    *outer, mn, k = shape
    return empty(*shape, dtype=FLOAT8), empty(*outer, blocks(mn, rows), blocks(k, width), dtype=FLOAT32, major=major)


class Problems:
    """One method for each operation. Each makes one random call."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pick = self.random.choice

    def rare(self):
        return self.random.randrange(8) == 0

    def dimensions(self):
        m = self.pick([1, 7, 16, 32, 64, 100, 128, 256, 512, 1024, 4096])
        return m, self.pick([64, 128, 576, 1536, 2112, 4096, 7168]), self.pick([64, 128, 512, 1536, 2048, 7168])

    def enough_rows(self, m):
        """For fewer rows the host code requests kernels of `sm90_fp8_gemm_1d1d.cuh` that the header itself refuses."""
        return m if self.rare() else max(m, 64)

    def compiled(self):
        return self.pick(["", "nk", "mnk", "n"])

    def settings(self):
        deep_gemm.set_num_sms(self.pick([132, 132, 132, 128, 78, 64]))
        deep_gemm.set_pdl(self.pick([False, True]))
        deep_gemm.set_ignore_compile_dims(self.pick([False, False, True]))
        deep_gemm.set_block_size_multiple_of(self.pick([1, 1, 1, 16, 32, (64, 32), (128, 1)]))

    def output(self, *shape):
        dtype = self.pick([BFLOAT16, FLOAT32])
        d = empty(*shape, dtype=dtype)
        return d, self.pick([None, d]) if dtype == FLOAT32 else None

    # ---- Dense and grouped GEMM ----

    def bf16_gemm(self):
        m, n, k = self.dimensions()
        d, c = self.output(m, n)
        a, b = empty(m, k, major=self.pick("KN")), empty(n, k, major=self.pick("KN"))
        deep_gemm.bf16_gemm_nt(a, b, d, c, compiled_dims=self.compiled())

    def bf16_grouped(self):
        groups = self.pick([1, 2, 4, 8, 32])
        m, n, k = self.dimensions()
        m = 128 * blocks(m, 128)
        b = empty(groups, n, k, major=self.pick("KN"))
        psum = self.pick([False, True])
        layout = torch.zeros(groups if psum else m, dtype=INT32, device="cuda")
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(empty(m, k), b, empty(m, n), layout, compiled_dims=self.compiled(),
                                                    use_psum_layout=psum)

    def bf16_masked(self):
        groups = self.pick([1, 2, 6, 32])
        m, n, k = self.dimensions()
        deep_gemm.m_grouped_bf16_gemm_nt_masked(empty(groups, m, k), empty(groups, n, k), empty(groups, m, n),
                                                torch.zeros(groups, dtype=INT32, device="cuda"), self.random.randint(1, m),
                                                compiled_dims=self.compiled())

    def bf16_k_grouped(self):
        groups = self.pick([1, 2, 4, 8])
        m, n, _ = self.dimensions()
        ks = [128 * self.random.randint(1, 8) for _ in range(groups)]
        d = empty(groups, m, n, dtype=FLOAT32)
        deep_gemm.k_grouped_bf16_gemm_tn_contiguous(empty(sum(ks), m), empty(sum(ks), n), d, ks,
                                                    torch.zeros(groups, dtype=INT32, device="cuda"), d,
                                                    compiled_dims=self.pick(["mn", ""]))

    def fp8_gemm(self):
        m, n, k = self.dimensions()
        rows, width = self.pick([(128, 128), (128, 128), (1, 128), (1, 32), (32, 32)])
        # Scales of single rows are for sums that are added to.
        m = self.enough_rows(m) if rows == 1 else m
        d = empty(m, n, dtype=FLOAT32 if rows == 1 else BFLOAT16)
        c = d if rows == 1 else None
        major = self.pick(["K", "MN"])
        deep_gemm.fp8_gemm_nt(scaled(m, k, width=width), scaled(n, k, rows=rows, width=width, major=major), d, c,
                              recipe=(1, rows, width), compiled_dims=self.compiled())

    def fp8_grouped(self):
        groups = self.pick([1, 2, 4, 8, 32])
        m, n, k = self.dimensions()
        m = 128 * blocks(m, 128)
        width = self.pick([128, 128, 32])
        psum = self.pick([False, True])
        layout = torch.zeros(groups if psum else m, dtype=INT32, device="cuda")
        rows = self.pick([128, width])
        b = scaled(groups, n, k, rows=rows, width=width, major=self.pick(["K", "MN"]))
        deep_gemm.m_grouped_fp8_gemm_nt_contiguous(scaled(m, k, width=width), b, empty(m, n), layout, recipe=(1, rows, width),
                                                   compiled_dims=self.compiled(), use_psum_layout=psum)

    def fp8_masked(self):
        groups = self.pick([1, 2, 6, 32])
        m, n, k = self.dimensions()
        deep_gemm.m_grouped_fp8_gemm_nt_masked(scaled(groups, m, k),
                                               scaled(groups, n, k, rows=128, major=self.pick(["K", "MN"])),
                                               empty(groups, m, n), torch.zeros(groups, dtype=INT32, device="cuda"),
                                               self.random.randint(1, m), compiled_dims=self.compiled())

    def fp8_k_grouped(self):
        groups = self.pick([1, 2, 4, 8])
        m, n, _ = self.dimensions()
        m = self.enough_rows(m)
        ks = [128 * self.random.randint(1, 8) for _ in range(groups)]
        d = empty(groups, m, n, dtype=FLOAT32)
        call = self.pick([deep_gemm.k_grouped_fp8_gemm_tn_contiguous, deep_gemm.k_grouped_fp8_gemm_nt_contiguous])
        shapes = [(sum(ks), size) if call is deep_gemm.k_grouped_fp8_gemm_tn_contiguous else (size * sum(ks),)
                  for size in (m, n)]
        operands = [(empty(*shape, dtype=FLOAT8), empty(sum(ks) // 128, size, dtype=FLOAT32))
                    for shape, size in zip(shapes, (m, n))]
        call(*operands, d, ks, torch.zeros(groups, dtype=INT32, device="cuda"), d, compiled_dims=self.pick(["mn", ""]))

    # ---- Einsum ----

    def einsum(self):
        b, h, r, d = self.pick([1, 32, 128, 1000]), self.pick([8, 16, 128]), self.pick([128, 512]), self.pick([64, 128, 256])
        expression = self.pick(["bhr,hdr->bhd", "bhd,hdr->bhr"])
        shapes = [(b, h, r), (h, d, r), (b, h, d)] if expression.startswith("bhr") else [(b, h, d), (h, d, r), (b, h, r)]
        deep_gemm.einsum(expression, *[empty(*shape) for shape in shapes])

    def einsum_split(self):
        s, m, n, k = (self.pick([1, 4, 129, 512]), self.pick([128, 384, 512]), self.pick([96, 256, 512]),
                      self.pick([64, 128, 2048]))
        d = empty(m, n, dtype=FLOAT32)
        deep_gemm.einsum("bmk,bnk->mn", empty(s, m, k), empty(s, n, k), d, d)

    def fp8_einsum(self):
        b, h, r, d = self.pick([1, 32, 128, 1024]), self.pick([8, 16]), self.pick([512, 4096]), self.pick([128, 1024])
        deep_gemm.fp8_einsum("bhr,hdr->bhd", scaled(b, h, r), scaled(h, d, r, rows=128), empty(b, h, d))

    # ---- Logits ----

    def mqa_logits(self):
        q, kv, heads = self.pick([1, 64, 2048]), self.pick([256, 4096]), self.pick([16, 32, 64])
        dim = self.pick([32, 64, 128])
        bounds = [torch.zeros(q, dtype=INT32, device="cuda") for _ in range(2)]
        deep_gemm.fp8_fp4_mqa_logits(empty(q, heads, dim, dtype=FLOAT8),
                                     (empty(kv, dim, dtype=FLOAT8), empty(kv, dtype=FLOAT32)),
                                     empty(q, heads, dtype=FLOAT32), *bounds, kv)

    def paged_logits(self):
        batch, tokens, heads = self.pick([1, 32, 100, 512]), self.pick([1, 2, 3, 4]), self.pick([16, 32, 64])
        dim, page, sms = self.pick([32, 64, 128]), self.pick([64, 64, 64, 32]), deep_gemm.get_num_sms()
        lengths = torch.zeros((batch,) if self.rare() else (batch, tokens), dtype=INT32, device="cuda")
        indices = torch.zeros(batch, dtype=INT32, device="cuda") if self.rare() else None
        meta = empty(sms + 1, 2, dtype=INT32)
        refusal = None
        try:
            meta = deep_gemm.get_paged_mqa_logits_metadata(lengths, page, sms, indices)
        except RuntimeError as error:
            refusal = error
        deep_gemm.fp8_fp4_paged_mqa_logits(empty(batch, tokens, heads, dim, dtype=FLOAT8),
                                           empty(64, page, 1, dim + 4, dtype=torch.uint8),
                                           empty(batch * tokens, heads, dtype=FLOAT32), lengths,
                                           empty(batch, 8, dtype=INT32), meta, 512, indices)
        if refusal:
            raise refusal

    # ---- Layouts, hyper-connections, mixture of experts ----

    def layouts(self):
        outer = self.pick([(), (), (4,)])
        m, k = self.pick([1, 64, 128, 4096]), self.pick([128, 384, 1536, 7168])
        sf = empty(*outer, m, blocks(k, 128), dtype=FLOAT32, major=self.pick(["K", "MN"]))
        if self.pick([True, False]):
            deep_gemm.get_mn_major_tma_aligned_tensor(sf)
            return
        psum = torch.zeros(self.pick([1, 4, 8]), dtype=INT32, device="cuda") if self.pick([True, False]) else None
        deep_gemm._C.get_mn_major_tma_aligned_packed_ue8m0_tensor(sf, psum)

    def grouped_layouts(self):
        groups, m, psum = self.pick([1, 4, 8]), self.pick([128, 4096]), self.pick([False, True])
        ks = [128 * self.random.randint(1, 8) for _ in range(groups)]
        width = self.pick([32, 128])
        deep_gemm._C.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(
            empty(sum(ks) // width, m, dtype=FLOAT32), torch.zeros(groups, dtype=INT32, device="cuda"),
            None if psum else ks, width, 128, psum, self.pick([False, True]))

    def prenorm(self):
        m, n, k = self.pick([1, 13, 137, 4096]), self.pick([8, 16, 24, 32]), self.pick([4096, 7168, 28672])
        splits = self.pick([None, 1, 4, 16])
        outer = () if splits is None else (splits,)
        deep_gemm.tf32_hc_prenorm_gemm(empty(m, k), empty(n, k, dtype=FLOAT32), empty(*outer, m, n, dtype=FLOAT32),
                                       empty(*outer, m, dtype=FLOAT32), splits)

    def mega_moe(self):
        ranks, experts, topk = self.pick([1, 2, 4, 8]), self.pick([32, 64, 256]), self.pick([2, 6, 8])
        hidden, inner = self.pick([2048, 4096, 7168]), self.pick([512, 1024, 2048, 3072])
        most = deep_gemm._C.get_token_alignment_for_sm90_mega_moe() * self.pick([1, 2, 8])
        tokens = self.pick([1, 8, 64, 128, most])
        # Any address of a buffer of events makes the host code request a kernel that records them.
        os.environ["DG_SM90_TRACE_PTR"] = "4096" if self.rare() else "0"
        os.environ["DG_SM90_TRACE_EPI"] = self.pick(["0", "1"])
        layout = (ranks, experts, most, topk, hidden, inner, True, "swiglu")
        size = deep_gemm._C.get_symm_buffer_size_for_sm90_mega_moe(*layout)
        buffer = torch.empty(size, dtype=torch.int8, device="cuda")
        local = experts // ranks
        weights = [scaled(local, rows, columns, rows=128) for rows, columns in ((2 * inner, hidden), (hidden, inner))]
        deep_gemm._C.fp8_mega_moe(empty(min(tokens, most), hidden), *weights[0], *weights[1], None, buffer,
                                  [buffer.data_ptr()] * ranks, 0, most, experts, topk, (128, 128, 128), "swiglu",
                                  self.pick([None, 10.0]), self.pick([False, True]), self.pick([0, 0, min(tokens, most)]))
        x, x_sf, topk_index, topk_weights, *_ = deep_gemm._C.slice_symm_buffer_for_sm90_mega_moe(buffer, *layout)
        count = min(tokens, most)
        deep_gemm.mega_moe_pre_dispatch_sm90(empty(count, hidden), torch.zeros((count, topk), dtype=INT32, device="cuda"),
                                             empty(count, topk, dtype=FLOAT32), x, x_sf, topk_index, topk_weights, count)


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    problems = Problems(seed)
    operations = [name for name in vars(Problems) if name not in ("settings", "rare", "enough_rows", "dimensions", "compiled", "output")
                  and not name.startswith("_")]
    report = {name: {"accepted": 0, "refused": {}} for name in operations}
    for _ in range(count):
        for name in operations:
            problems.settings()
            try:
                getattr(problems, name)()
                report[name]["accepted"] += 1
            except RuntimeError as error:
                reason = str(error).splitlines()[0]
                report[name]["refused"][reason] = report[name]["refused"].get(reason, 0) + 1
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
