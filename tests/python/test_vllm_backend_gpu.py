# SPDX-License-Identifier: Apache-2.0
"""cubinet's backend beside vLLM's Triton backend, on the same tensors. Run with `-m gpu` where vLLM is installed."""
import pytest

pytest.importorskip("vllm")

from paged_cache import gpu_runtime, torch  # noqa: E402,F401

import cubinet.pytorch  # noqa: E402
from vllm_layers import Layers  # noqa: E402

pytestmark = pytest.mark.gpu

BATCHES = {
    "decodes": ([1] * 5, [1, 17, 512, 1000, 4096]),
    "drafts": ([4] * 4, [4, 100, 1023, 2048]),
    "decodes of several lengths": ([1, 5, 3], [700, 800, 3]),
    "mixed": ([1, 1, 3, 200, 513], [1000, 64, 300, 200, 700]),
    "prompts": ([300, 65], [300, 400]),
}


def check(layers, name):
    before = cubinet.pytorch.calls().decode
    results = {backend: layers.run(backend) for backend in ("cubinet", "triton")}
    torch.testing.assert_close(results["cubinet"].float(), results["triton"].float(), atol=2e-2, rtol=2e-2)
    assert torch.equal(layers.layers["cubinet"].kv_cache, layers.layers["triton"].kv_cache)
    assert cubinet.pytorch.calls().decode - before == (0 if name == "prompts" else 1)


@pytest.mark.parametrize("block", [16, 64])
def test_decodes_run_on_cubinet_and_equal_triton(tmp_path, block):
    layers = Layers(tmp_path, block=block)
    for name, (q_lens, kv_lens) in BATCHES.items():
        layers.batch(q_lens, kv_lens)
        check(layers, name)


def test_windows_soft_caps_and_an_eight_bit_cache_equal_triton(tmp_path):
    for options in ({"per_layer_sliding_window": 128}, {"logits_soft_cap": 30.0}, {"cache_dtype": "fp8"}):
        layers = Layers(tmp_path, **options)
        for name in ("decodes", "mixed"):
            layers.batch(*BATCHES[name])
            check(layers, name)


def test_a_captured_decode_equals_triton(tmp_path):
    layers = Layers(tmp_path)
    layers.batch(*BATCHES["decodes"])
    layers.run("cubinet")
    graph = torch.cuda.CUDAGraph()
    with layers.context("cubinet"), torch.inference_mode():
        with torch.cuda.graph(graph):
            output = layers.layers["cubinet"](layers.q, layers.k, layers.v)
    metadata = layers.metadata["cubinet"]
    for lengths in ([1, 17, 512, 1000, 4096], [900, 3, 44, 1000, 2000]):
        metadata.seq_lens.copy_(torch.tensor(lengths, dtype=torch.int32))
        layers.metadata["triton"].seq_lens.copy_(metadata.seq_lens)
        graph.replay()
        torch.testing.assert_close(output.float(), layers.run("triton").float(), atol=2e-2, rtol=2e-2)
