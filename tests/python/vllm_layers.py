# SPDX-License-Identifier: Apache-2.0
"""One attention layer of vLLM for each of two backends, over the same cache, with the metadata of a batch."""
import contextlib
import json
import os

import torch
from vllm.config import CacheConfig, ModelConfig, SchedulerConfig, VllmConfig, set_current_vllm_config
from vllm.forward_context import set_forward_context
from vllm.model_executor.layers.attention import Attention
from vllm.v1.attention.backend import CommonAttentionMetadata
from vllm.v1.attention.backends.triton_attn import TritonAttentionBackend
from vllm.v1.kv_cache_interface import FullAttentionSpec

from cubinet.vllm_backend import CubinetBackend

MODEL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "intermediate_size": 1024, "num_hidden_layers": 1,
    "vocab_size": 1000, "max_position_embeddings": 32768, "rms_norm_eps": 1e-5, "rope_theta": 1e4,
    "torch_dtype": "bfloat16",
}


def make_config(folder, heads_q, heads_kv, dim, block, max_model_len, cache_dtype="auto"):
    values = {"hidden_size": heads_q * dim, "num_attention_heads": heads_q, "num_key_value_heads": heads_kv, "head_dim": dim}
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(MODEL | values, file)
    model = ModelConfig(model=str(folder), tokenizer=str(folder), skip_tokenizer_init=True, dtype="bfloat16",
                        max_model_len=max_model_len)
    cache = CacheConfig(block_size=block, cache_dtype=cache_dtype)
    scheduler = SchedulerConfig(max_num_seqs=256, max_num_batched_tokens=8192, max_model_len=max_model_len,
                                is_encoder_decoder=False)
    return VllmConfig(model_config=model, cache_config=cache, scheduler_config=scheduler)


class Layers:
    """`run(name)` runs the layer of a backend, "cubinet" or "triton", on the last batch. K and V of both caches are equal."""

    def __init__(self, folder, heads_q=32, heads_kv=8, dim=128, block=16, max_model_len=4096, blocks=2048, cache_dtype="auto",
                 **options):
        self.heads_q, self.heads_kv, self.dim, self.block = heads_q, heads_kv, dim, block
        self.config = make_config(folder, heads_q, heads_kv, dim, block, max_model_len, cache_dtype)
        self.width = max_model_len // block
        self.layers, self.builders, self.names = {}, {}, {}
        content = torch.randn(blocks, heads_kv, block, 2 * dim, device="cuda", dtype=torch.bfloat16)
        if cache_dtype != "auto":
            content = content.to(torch.float8_e4m3fn).view(torch.uint8)
        for name, backend in (("cubinet", CubinetBackend), ("triton", TritonAttentionBackend)):
            with set_current_vllm_config(self.config):
                prefix = f"model.{name}.0.attn"
                layer = Attention(heads_q, dim, dim**-0.5, heads_kv, cache_config=self.config.cache_config, prefix=prefix,
                                  attn_backend=backend, **options).cuda()
                layer.kv_cache = content.clone()
                layer.impl.supports_quant_query_input = False  # as cubinet: queries of 16 bits over a cache of 8
                spec = FullAttentionSpec(block_size=block, num_kv_heads=heads_kv, head_size=dim, dtype=torch.bfloat16)
                self.builders[name] = backend.get_builder_cls()(spec, [prefix], self.config, torch.device("cuda"))
            self.layers[name], self.names[name] = layer, prefix
        self.blocks = torch.randperm(blocks, device="cuda").to(torch.int32)

    def batch(self, q_lens, kv_lens):
        """Prepares a batch: its requests have these new tokens, and these tokens in all."""
        offsets = torch.tensor([0, *q_lens]).cumsum(0).to(torch.int32)
        lengths = torch.tensor(kv_lens, dtype=torch.int32)
        table = torch.zeros(len(q_lens), self.width, dtype=torch.int32, device="cuda")
        used, slots = 0, []
        for row, (q_len, kv_len) in enumerate(zip(q_lens, kv_lens)):
            count = -(-kv_len // self.block)
            table[row, :count] = self.blocks[used : used + count]
            used += count
            places = torch.arange(kv_len - q_len, kv_len, device="cuda")
            slots.append(table[row, places // self.block].long() * self.block + places % self.block)
        tokens = int(offsets[-1])
        self.slots = torch.cat(slots)
        self.metadata = {}
        for name, builder in self.builders.items():
            common = CommonAttentionMetadata(
                query_start_loc=offsets.cuda(), query_start_loc_cpu=offsets, seq_lens=lengths.cuda(), num_reqs=len(q_lens),
                num_actual_tokens=tokens, max_query_len=max(q_lens), max_seq_len=max(kv_lens), block_table_tensor=table,
                slot_mapping=self.slots)
            self.metadata[name] = builder.build(0, common)
        self.q, self.k, self.v = (torch.randn(tokens, heads * self.dim, device="cuda", dtype=torch.bfloat16)
                                  for heads in (self.heads_q, self.heads_kv, self.heads_kv))

    @contextlib.contextmanager
    def context(self, name):
        names = self.names[name]
        with set_current_vllm_config(self.config), set_forward_context(
                {names: self.metadata[name]}, self.config, slot_mapping={names: self.slots}):
            yield

    def run(self, name):
        with self.context(name), torch.inference_mode():
            return self.layers[name](self.q, self.k, self.v)
