#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first attention kernel of a fresh process, from the call to launchable (peers: to the end of the first call), the
CUDA context there already. cubinet with an empty home, a warm home and a bundle; FlashInfer's first decode with an
empty workspace; flash-attn-4's first prefill. Every measurement is a process of its own; they take turns."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from rounds import compare, row, run_rounds, write

GOALS = {"FlashInfer": 0.1, "flash-attn-4": 0.4}


def first_flashinfer():
    """Head dim 128, page 64, 64/8 heads, bf16: its CUDA-core decode, the quickest of its decodes to build."""
    import flashinfer
    import torch

    query = torch.randn(1, 64, 128, dtype=torch.bfloat16, device="cuda")
    cache = torch.randn(64, 2, 64, 8, 128, dtype=torch.bfloat16, device="cuda")
    indptr = torch.tensor([0, 64], dtype=torch.int32)
    indices = torch.arange(64, dtype=torch.int32, device="cuda")
    last = torch.tensor([64], dtype=torch.int32)
    workspace = torch.zeros(128 << 20, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    start = time.perf_counter()
    wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD", backend="fa2")
    wrapper.plan(indptr, indices, last, 64, 8, 128, 64, q_data_type=torch.bfloat16, kv_data_type=torch.bfloat16)
    wrapper.run(query, cache)
    torch.cuda.synchronize()
    return time.perf_counter() - start


def first_flash_attn():
    """Head dim 128, 16 heads, 2048 tokens, causal, bf16."""
    import torch
    from flash_attn.cute import flash_attn_func

    q, k, v = (torch.randn(1, 2048, 16, 128, dtype=torch.bfloat16, device="cuda") for _ in range(3))
    torch.cuda.synchronize()
    start = time.perf_counter()
    flash_attn_func(q, k, v, causal=True)
    torch.cuda.synchronize()
    return time.perf_counter() - start


PEERS = {"FlashInfer": first_flashinfer, "flash-attn-4": first_flash_attn}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", help="the executable cubinet_bench")
    parser.add_argument("--peer", action="append", choices=list(PEERS), default=[])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    parser.add_argument("--worker", choices=list(PEERS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps({"seconds": PEERS[options.worker]()}))
        return 0

    scratch = tempfile.mkdtemp(prefix="cubinet-first-")
    warm = os.path.join(scratch, "warm")
    bundle = os.path.join(scratch, "kernels.cubundle")
    details = {}

    def run_process(command, env=None):
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[-2000:] or f"status {done.returncode}")
        return json.loads(done.stdout.splitlines()[-1])

    def ours(name, source, arguments):
        answer = run_process([options.bench, "first", *arguments()])
        if answer["source"] != source:
            raise RuntimeError(f"came from {answer['source']}, not from {source}")
        details.setdefault(name, []).append(answer)
        return answer["seconds"]

    def peer(name):
        folder = tempfile.mkdtemp(dir=scratch)
        env = dict(os.environ, FLASHINFER_WORKSPACE_BASE=folder, FLASHINFER_DISABLE_VERSION_CHECK="1",
                   CUDA_CACHE_DISABLE="1")
        seconds = run_process([sys.executable, os.path.abspath(__file__), "--worker", name], env)["seconds"]
        shutil.rmtree(folder, ignore_errors=True)
        return seconds

    names = {
        "empty home": ("compiled", lambda: ["--home", tempfile.mkdtemp(dir=scratch)]),
        "warm home": ("registry", lambda: ["--home", warm]),
        "bundle": ("bundle", lambda: ["--bundle", bundle]),
    }
    run_process([options.bench, "first", "--home", warm, "--write-bundle", bundle])
    contenders = {
        f"cubinet, {name}": lambda name=name, source=source, arguments=arguments: ours(name, source, arguments)
        for name, (source, arguments) in names.items()
    }
    contenders |= {name: lambda name=name: peer(name) for name in options.peer}
    values = run_rounds(contenders, options.rounds)
    shutil.rmtree(scratch, ignore_errors=True)
    ratios = compare(values, "cubinet, empty home", {name: GOALS[name] for name in options.peer})
    write(options.output, "first_kernel", options.commit,
          [row("first attention kernel of a process", "s", values, ratios)], last_of_each=
          {name: seen[-1] for name, seen in details.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
