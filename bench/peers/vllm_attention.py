#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The GPU's time of one attention layer of vLLM in CUDA graphs: cubinet's backend and vLLM's Triton backend on the same
tensors. Writing the new tokens to the cache is vLLM's own in both."""
import argparse
import pathlib
import statistics
import sys
import tempfile

from rounds import compare, row, run_rounds, write

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/python"))

SHAPES = [
    ("1 request of 4000 tokens", 1, 4000, 1), ("8 requests of 1000 tokens", 8, 1000, 1),
    ("32 requests of 2000 tokens", 32, 2000, 1), ("128 requests of 500 tokens", 128, 500, 1),
    ("16 requests of 2000 tokens, 4 new", 16, 2000, 4),
]
LAUNCHES = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    options = parser.parse_args()

    import torch
    from vllm_layers import Layers

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        layers = Layers(folder, block=16, blocks=8192)
        for name, batch, length, q_len in SHAPES:
            layers.batch([q_len] * batch, [length - index % 7 for index in range(batch)])
            graphs, outputs = {}, {}
            for backend in ("cubinet", "triton"):
                for _ in range(3):
                    outputs[backend] = layers.run(backend)
                torch.cuda.synchronize()
                graphs[backend] = torch.cuda.CUDAGraph()
                with layers.context(backend), torch.inference_mode(), torch.cuda.graph(graphs[backend]):
                    for _ in range(LAUNCHES):
                        layers.layers[backend](layers.q, layers.k, layers.v)
            torch.testing.assert_close(outputs["cubinet"].float(), outputs["triton"].float(), atol=2e-2, rtol=2e-2)

            def time_of(backend, graphs=graphs):
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                for _ in range(5):
                    graphs[backend].replay()
                end.record()
                end.synchronize()
                return begin.elapsed_time(end) * 1e3 / (5 * LAUNCHES)

            values = run_rounds({backend: lambda backend=backend: time_of(backend) for backend in graphs}, options.rounds)
            rows.append(row(name, "us", values, compare(values, "cubinet", {"triton": 1.0})))
            print(name, {key: statistics.median(seen) for key, seen in values.items()}, file=sys.stderr, flush=True)
    write(options.output, "vllm_attention", options.commit, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
