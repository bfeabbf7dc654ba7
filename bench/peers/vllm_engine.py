#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens per second of vLLM's whole engine: cubinet's backend and vLLM's Triton backend on the same prompts.

A model of Llama 8B's shapes with vLLM's dummy weights, which are the same for both. Each backend has an engine in a process
of its own, because an engine has one; the parent lets one generate at a time. Needs vLLM 0.26.0 and cubinet's plug-in.
"""
import argparse
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time

from rounds import compare, row, run_rounds, write

BACKENDS = {"cubinet": "CUSTOM", "triton": "TRITON_ATTN"}
LENGTHS = (5, 17, 64, 100, 200, 333, 500, 1000)
NEW_TOKENS = 128
# name, decoder layers, requests, whether decode batches run in CUDA graphs
CASES = [
    ("32 requests, 32 layers", 32, 32, True), ("128 requests, 32 layers", 32, 128, True), ("1 request, 32 layers", 32, 1, True),
    ("32 requests, 8 layers, eager", 8, 32, False),
]


def make_model(folder, layers):
    """Writes the configuration of the model."""
    model = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": layers, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "vocab_size": 128256, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
        "dtype": "bfloat16", "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
        "attention_bias": False, "mlp_bias": False,
    }
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(model, file)


def serve(pipe, backend, folder, requests, in_graphs):
    """Makes an engine. For each message it generates, and answers seconds, tokens and calls of cubinet's kernels."""
    # FlashInfer, which vLLM would take for sampling, need not be installed.
    os.environ |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_NO_USAGE_STATS": "1", "VLLM_PLUGINS": "cubinet",
                   "VLLM_USE_FLASHINFER_SAMPLER": "0"}
    import torch
    from vllm import LLM, SamplingParams

    import cubinet.pytorch

    options = {"enforce_eager": True}
    if in_graphs:
        sizes = [1, 2, 4, 8, 16, 32, 64, 128]
        options = {"compilation_config": {"mode": 0, "cudagraph_mode": "FULL_DECODE_ONLY", "cudagraph_capture_sizes": sizes}}
    engine = LLM(model=folder, load_format="dummy", skip_tokenizer_init=True, max_model_len=4096, gpu_memory_utilization=0.4,
                 enable_prefix_caching=False, block_size=16, seed=0, attention_backend=backend, **options)
    torch.manual_seed(1)
    prompts = [{"prompt_token_ids": torch.randint(10, 100000, (LENGTHS[index % len(LENGTHS)],)).tolist()}
               for index in range(requests)]
    parameters = SamplingParams(temperature=0.0, max_tokens=NEW_TOKENS, ignore_eos=True, detokenize=False)
    pipe.send("ready")
    while pipe.recv() == "generate":
        begin = time.perf_counter()
        outputs = engine.generate(prompts, parameters, use_tqdm=False)
        seconds = time.perf_counter() - begin
        pipe.send((seconds, [list(each.outputs[0].token_ids) for each in outputs], cubinet.pytorch.calls().decode))


class Engine:
    """An engine in a process of its own."""

    def __init__(self, context, name, folder, requests, in_graphs):
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, BACKENDS[name], folder, requests, in_graphs))
        self.process.start()
        self.receive(300)

    def receive(self, seconds):
        limit = time.monotonic() + seconds
        while not self.pipe.poll(1):
            if not self.process.is_alive() or time.monotonic() > limit:
                self.process.kill()
                raise RuntimeError("an engine does not answer; its messages say why")
        return self.pipe.recv()

    def generate(self):
        self.pipe.send("generate")
        return self.receive(120)

    def close(self):
        self.pipe.send("end")
        self.process.join()


def run_case(name, layers, requests, in_graphs, rounds):
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        make_model(folder, layers)
        engines = {key: Engine(context, key, folder, requests, in_graphs) for key in BACKENDS}
        first = {key: engine.generate() for key, engine in engines.items()}
        equal = sum(a == b for a, b in zip(first["cubinet"][1], first["triton"][1]))
        made = requests * NEW_TOKENS
        values = run_rounds({key: lambda engine=engine: 1e3 * engine.generate()[0] / made for key, engine in engines.items()},
                            rounds)
        calls = engines["cubinet"].generate()[2]
        for engine in engines.values():
            engine.close()
    if calls == 0:
        raise RuntimeError("cubinet served no call")
    print(name, {key: 1e3 / statistics.median(seen) for key, seen in values.items()}, "tokens per second;", equal, "of",
          requests, "requests have equal tokens;", calls, "calls of cubinet", file=sys.stderr, flush=True)
    return row(f"{name}; {equal} of {requests} with equal tokens", "ms per token", values, compare(values, "cubinet", {"triton": 1.0}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    options = parser.parse_args()
    rows = []
    for case in CASES:
        rows.append(run_case(*case, options.rounds))
        write(options.output, "vllm_engine", options.commit, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
