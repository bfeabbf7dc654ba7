# SPDX-License-Identifier: Apache-2.0
"""The arguments of cubinet.flash_attn, with a stand-in for PyTorch whose tensors are not there."""
import os
import textwrap
from pathlib import Path

import pytest

STAND_IN = Path(__file__).parent / "stand_in"

SETUP = """
import os
import sys
import torch
import cubinet
import cubinet.pytorch
from cubinet.runtime import Runtime

T, int32 = torch.Tensor, torch.int32
made = []

class OnStream:
    # The stand-in states no current stream.
    def __init__(self, attention):
        self.attention, self.info = attention, attention.info
    def run(self, **given):
        made.append(given)
        self.attention.run(stream=0, **given)

plain = Runtime.attention
Runtime.attention = lambda self, *a, **k: OnStream(plain(self, *a, **k))
cubinet.pytorch.configure(runtime=Runtime(driver=os.environ["DRIVER"]), fallback="never")
from cubinet.flash_attn import flash_attn_func, flash_attn_varlen_func

def offsets(entries):
    return T(entries, dtype=int32)

def varlen(q=(600, 8, 128), k=(900, 2, 128), v=(900, 2, 128), cu_q=5, cu_k=5, max_q=200, max_k=300, **more):
    more = {"causal": True} | more
    return flash_attn_varlen_func(T(*q), T(*k), T(*v), offsets(cu_q), offsets(cu_k), max_q, max_k, **more)

def paged(q=(60, 8, 128), k=(40, 64, 2, 128), v=(40, 64, 2, 128), cu_q=5, cu_k=5, max_q=200, table=(4, 10), **more):
    return flash_attn_varlen_func(T(*q), T(*k), T(*v), offsets(cu_q), offsets(cu_k), max_q, 640, causal=True,
                                  block_table=T(*table, dtype=int32), **more)

def equal(q=(4, 100, 8, 128), k=(4, 200, 2, 128), v=(4, 200, 2, 128), **more):
    return flash_attn_func(T(*q), T(*k), T(*v), causal=True, **more)
"""


@pytest.fixture
def flash_attn(run_python):
    """Runs code after SETUP in a process whose `torch` is the stand-in. Returns what it prints."""

    def run(code):
        paths = os.pathsep.join(filter(None, [str(STAND_IN), os.environ.get("PYTHONPATH", ""), *_package()]))
        done = run_python(SETUP + textwrap.dedent(code), PYTHONPATH=paths)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def _package():
    import cubinet

    return [str(Path(cubinet.__file__).parents[1])]


def test_results_have_the_shapes_of_flash_attention(flash_attn):
    printed = flash_attn("""
        o, lse, _ = varlen(return_attn_probs=True)
        print(o.shape, lse.shape)
        o, lse, _ = equal(return_attn_probs=True)
        print(o.shape, lse.shape)
        print(varlen(k=(900, 2, 192), q=(600, 8, 192)).shape)
        print(len(made))
    """)
    assert printed.splitlines() == [
        "(600, 8, 128) (8, 600)", "(4, 100, 8, 128) (4, 8, 100)", "(600, 8, 128)", "3"]


def test_arguments_that_do_not_fit_are_refused_by_name(flash_attn):
    refusals = {
        "varlen(out=T(10, 8, 128))": "'out' has the shape [10, 8, 128]; expected [600, 8, 128]",
        "varlen(v=(10, 2, 128))": "'v' has the shape [10, 2, 128]; expected [900, 2, 128]",
        "varlen(v=(900, 1, 128))": "'v' has the shape [900, 1, 128]; expected [900, 2, 128]",
        "varlen(k=(900, 2, 64))": "'k' has a head_dim of 64, and 'q' has 128",
        "varlen(cu_k=9)": "'cu_seqlens_k' has 9 entries, and 'cu_seqlens_q' has 5",
        "varlen(cu_q=1, cu_k=1)": "'cu_seqlens_q' has 1 entries, and 'q' has 600 tokens",
        "varlen(max_q=200.0)": "'max_seqlen_q' is 200.0; pass an int",
        "varlen(max_q=0)": "'max_seqlen_q' is 0",
        "varlen(max_q=-5)": "'max_seqlen_q' is -5",
        "varlen(max_k=2**31)": "'max_seqlen_k' is 2147483648",
        "varlen(softmax_scale=0.0)": "'softmax_scale' is 0",
        "varlen(softmax_scale=-1.0)": "softmax_scale",
        "paged(out=T(10, 8, 128))": "'out' has the shape [10, 8, 128]; expected [60, 8, 128]",
        "paged(v=(39, 64, 2, 128))": "'v' has the shape [39, 64, 2, 128]; expected [40, 64, 2, 128]",
        "paged(cu_k=4)": "'cu_seqlens_k' has 4 entries, and 'cu_seqlens_q' has 5",
        "paged(table=(3, 10))": "'block_table' has the shape [3, 10]; expected [4, 10]",
        "paged(max_q=0)": "'max_seqlen_q' is 0",
        "equal(k=(2, 200, 2, 128), v=(2, 200, 2, 128))": "'k' has the shape [2, 200, 2, 128]; expected [4, 200, 2, 128]",
        "equal(v=(4, 7, 2, 128))": "'v' has the shape [4, 7, 2, 128]; expected [4, 200, 2, 128]",
        "equal(v=(800, 2, 128))": "'v' has the shape [800, 2, 128]; expected [batch, kv_len, heads_kv, head_dim]",
        "equal(softmax_scale=0.0)": "'softmax_scale' is 0",
    }
    printed = flash_attn(f"""
        for call in {list(refusals)!r}:
            try:
                eval(call)
                print("accepted")
            except cubinet.InvalidArgument as error:
                print(str(error).replace(chr(10), " "))
        print(len(made))
    """).splitlines()
    for (call, refusal), line in zip(refusals.items(), printed):
        assert refusal in line, call
    assert printed[-1] == "0"


DESCALES = """
from cubinet.flash_attn import flash_attn_with_kvcache

e4m3, fp32 = torch.float8_e4m3fn, torch.float32
shared = lambda: T(4, 2, dtype=fp32, strides=(0, 1))
each = lambda: T(4, 2, dtype=fp32)

def narrow(kv_type=e4m3, **more):
    return flash_attn_varlen_func(
        T(600, 8, 128, dtype=kv_type), T(900, 2, 128, dtype=kv_type), T(900, 2, 128, dtype=kv_type), offsets(5), offsets(5),
        200, 300, causal=True, **more)

def decode(kv_type=e4m3, q_type=torch.bfloat16, **more):
    cache = [T(40, 64, 2, 128, dtype=kv_type) for _ in range(2)]
    return flash_attn_with_kvcache(T(4, 1, 8, 128, dtype=q_type), *cache, cache_seqlens=T(4, dtype=int32),
                                   block_table=T(4, 10, dtype=int32), causal=True, **more)
"""


def test_descales_are_scales_of_kv_heads(flash_attn):
    printed = flash_attn(textwrap.dedent(DESCALES) + textwrap.dedent("""
        for call in (narrow, decode):
            for scales in (shared, each):
                o = call(k_descale=scales(), v_descale=scales())
                given = made[-1]
                print(o.dtype, given["k_head_scales"].shape, given["v_head_scales"].shape)
            call(q_descale=each())
            print(made[-1]["k_head_scales"].shape, made[-1]["v_head_scales"].shape)
            call()
            print(made[-1]["k_head_scales"])
        print(decode(q_type=e4m3, k_descale=each()).dtype)
        print(paged(k=(40, 64, 2, 128), v=(40, 64, 2, 128)).dtype, made[-1]["k_head_scales"])
    """))
    assert printed.splitlines() == [
        "torch.bfloat16 (2,) (2,)", "torch.bfloat16 (4, 2) (4, 2)", "(4, 2) (4, 2)", "None",
        "torch.bfloat16 (2,) (2,)", "torch.bfloat16 (4, 2) (4, 2)", "(4, 2) (4, 2)", "None",
        "torch.bfloat16", "torch.bfloat16 None"]


def test_descales_that_no_kernel_reads_are_refused(flash_attn):
    printed = flash_attn(textwrap.dedent(DESCALES) + textwrap.dedent("""
        def refused(call, **more):
            try:
                call(**more)
                print("accepted")
            except (cubinet.Error, TypeError) as error:
                print(type(error).__name__, str(error).replace(chr(10), " "))

        refused(narrow, kv_type=torch.bfloat16, v_descale=each())
        refused(decode, kv_type=torch.bfloat16, k_descale=each())
        refused(narrow, k_descale=T(4, 8, dtype=fp32))
        refused(decode, v_descale=T(2, dtype=fp32))
        refused(decode, k_descale=0.5)
        refused(decode, q_descale=each(), k=T(4, 1, 2, 128), v=T(4, 1, 2, 128))
        print(len(made))
    """)).splitlines()
    wanted = ["Unsupported 'v_descale' is given, and K has elements of type torch.bfloat16",
              "Unsupported 'k_descale' is given, and K has elements of type torch.bfloat16",
              "InvalidArgument 'k_descale' has the shape [4, 8]; expected [4, 2]",
              "InvalidArgument 'v_descale' has the shape [2]; expected [4, 2]",
              "TypeError 'k_descale' is of the type float, not Tensor",
              "Unsupported 'q_descale' and 'k' are given", "0"]
    assert len(printed) == len(wanted)
    for line, start in zip(printed, wanted):
        assert line.startswith(start), line


def test_prompts_without_tokens_give_empty_results_and_zeros(flash_attn):
    printed = flash_attn("""
        o, lse, _ = varlen(q=(0, 8, 128), max_q=0, return_attn_probs=True)
        print(o.shape, lse.shape)
        o, lse, _ = equal(q=(4, 0, 8, 128), return_attn_probs=True)
        print(o.shape, lse.shape)
        print(paged(q=(0, 8, 128), max_q=0).shape)
        print(varlen(q=(0, 8, 128), cu_q=1, cu_k=1, max_q=0).shape)
        o, lse, _ = varlen(k=(0, 2, 128), v=(0, 2, 128), max_k=0, return_attn_probs=True)
        print(o.shape, o.filled, lse.filled)
        print(len(made))
    """)
    assert printed.splitlines() == ["(0, 8, 128) (8, 0)", "(4, 0, 8, 128) (4, 8, 0)", "(0, 8, 128)", "(0, 8, 128)",
                                    "(600, 8, 128) 0.0 -inf", "0"]


def test_a_kernel_that_may_not_be_compiled_is_a_reason_to_fall_back(flash_attn):
    printed = flash_attn("""
        cubinet.pytorch.configure(runtime=Runtime(driver=os.environ["DRIVER"], compile="never"))
        for _ in range(2):
            try:
                varlen(q=(600, 16, 80), k=(900, 2, 80), v=(900, 2, 80))
            except cubinet.Unsupported as error:
                print("compiling is switched off" in str(error), "fallback to PyTorch's varlen_attn is off" in str(error))
        cubinet.pytorch.configure(runtime=Runtime(driver=os.environ["DRIVER"]))
        print(varlen(q=(600, 16, 80), k=(900, 2, 80), v=(900, 2, 80)).shape)
    """)
    assert printed.splitlines() == ["True True", "True True", "(600, 16, 80)"]
