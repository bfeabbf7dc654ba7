#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""transformers' generate_batch through cubinet's kernel folder, beside its `paged|sdpa`: a Llama of 8B's shapes with
random weights. Shows tokens per second with transformers' own settings, which batches cubinet served, that nothing was
compiled, and the error of the logits along the same tokens against float32 weights. Also generate() with a static
cache. With --fa3, FlashAttention 3's wheel (tokenspeed-fa3) takes part as a kernel folder."""
import argparse
import json
import os
import statistics
import sys
import tempfile

from rounds import compare, row, run_rounds, write

PEER = "sdpa"
FA3 = "fa3/flash-attn3"
FA3_MODULE = "from flash_attn_interface import flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache\n"
FA3_METADATA = {"id": "_fa3_flash_attn3_cuda", "name": "fa3-flash-attn3", "version": 1, "license": "BSD-3-Clause",
                "python-depends": [], "backend": {"type": "cuda"}}


def write_fa3(folder):
    """Writes a kernel folder over the installed wheel of FlashAttention 3. Returns its entry of LOCAL_KERNELS."""
    variant = os.path.join(folder, "build", "torch-cuda")
    os.makedirs(variant)
    with open(os.path.join(variant, "__init__.py"), "w", encoding="utf-8") as module:
        module.write(FA3_MODULE)
    with open(os.path.join(variant, "metadata.json"), "w", encoding="utf-8") as metadata:
        json.dump(FA3_METADATA, metadata)
    return f"{FA3}={folder}"


def make_model(options):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=options.layers,
        num_attention_heads=32, num_key_value_heads=8, head_dim=128, max_position_embeddings=8192, rope_theta=500000.0,
        rms_norm_eps=1e-5, tie_word_embeddings=False)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    model.generation_config.eos_token_id = model.generation_config.pad_token_id = None
    return model.eval()


def make_prompts(count, longest):
    import torch

    generator = torch.Generator().manual_seed(1)
    lengths = [max(5, longest * (index + 1) // count) for index in range(count)]
    return [torch.randint(10, 128000, (length,), generator=generator).tolist() for length in lengths]


def generate(model, name, prompts, new_tokens, blocks, eager=False):
    """Returns the outputs of generate_batch, in the order of the prompts, and the seconds from the first prompt's start
    to the last token."""
    import torch
    from transformers import ContinuousBatchingConfig, GenerationConfig

    model.set_attn_implementation(name)
    config = ContinuousBatchingConfig(num_blocks=blocks, max_batch_tokens=2048, allow_block_sharing=False)
    if eager:
        config.use_cuda_graph = False
    generation = GenerationConfig(max_new_tokens=new_tokens, do_sample=False, eos_token_id=-1, pad_token_id=0)
    with torch.no_grad():
        outputs = model.generate_batch(inputs=prompts, generation_config=generation, continuous_batching_config=config)
    by_prompt = {tuple(output.prompt_ids): output for output in outputs.values()}
    ordered = [by_prompt[tuple(prompt)] for prompt in prompts]
    assert all(len(output.generated_tokens) == new_tokens for output in ordered), "a request ended early"
    begin = min(output.lifespan[0] for output in ordered)
    end = max(output.lifespan[1] for output in ordered)
    return ordered, end - begin


class ForcedTokens:
    """A hook of the model that makes each sequence continue with given tokens, and keeps the logits of decode steps."""

    def __init__(self, sequences, prompt_lengths):
        self.next = {}
        self.logits = {}
        self.decode_batches = 0
        for index, (sequence, length) in enumerate(zip(sequences, prompt_lengths)):
            for position in range(length - 1, len(sequence) - 1):
                key = (position, sequence[position])
                assert key not in self.next, "two sequences cannot be told apart"
                self.next[key] = (sequence[position + 1], index)

    def __call__(self, _model, _arguments, given, output):
        import torch

        tokens, positions = given["input_ids"][0].tolist(), given["position_ids"][0].tolist()
        rows = given["logits_indices"].tolist()
        decodes = given.get("block_table") is not None
        self.decode_batches += decodes
        logits = output.logits
        forced = torch.zeros_like(logits)
        for place, row_index in enumerate(rows):
            at = place if logits.shape[1] == len(rows) else row_index
            found = self.next.get((positions[row_index], tokens[row_index]))
            if found is None:  # padding, or a part of a prompt
                continue
            forced[0, at, found[0]] = 1
            self.logits[(found[1], positions[row_index])] = logits[0, at].float().cpu()
        output.logits = forced
        return output


def forced_logits(model, name, prompts, sequences, blocks):
    hook = ForcedTokens(sequences, [len(prompt) for prompt in prompts])
    handle = model.register_forward_hook(hook, with_kwargs=True)
    try:
        new_tokens = len(sequences[0]) - len(prompts[0])
        outputs, _ = generate(model, name, prompts, new_tokens, blocks, eager=True)
    finally:
        handle.remove()
    for output, prompt, sequence in zip(outputs, prompts, sequences):
        assert list(output.generated_tokens) == sequence[len(prompt):], "the tokens were not forced"
    return hook


def exact_logits(model, prompts, sequences):
    """The logits of the same weights in float32, along the sequences."""
    import copy

    import torch

    exact = copy.deepcopy(model).float()
    exact.set_attn_implementation("sdpa")
    logits = {}
    with torch.no_grad():
        for index, (prompt, sequence) in enumerate(zip(prompts, sequences)):
            out = exact(input_ids=torch.tensor([sequence[:-1]], device="cuda")).logits[0, len(prompt) - 1 :].cpu()
            for step, each in enumerate(out):
                logits[(index, len(prompt) - 1 + step)] = each
    del exact
    torch.cuda.empty_cache()
    return logits


def error_of(given, exact):
    """The root mean square error of the logits over all rows, relative to that of the exact ones."""
    assert given.keys() == exact.keys(), f"{len(given)} rows of logits, and {len(exact)} expected"
    wrong = sum(float((given[key] - exact[key]).square().sum()) for key in exact)
    return (wrong / sum(float(value.square().sum()) for value in exact.values())) ** 0.5


def error_row(name, errors):
    ratio = errors["cubinet"] / errors[PEER]
    return {"name": name, "unit": "relative", "median": {key: float(f"{value:.5g}") for key, value in errors.items()},
            "ratios": {f"cubinet : {PEER}": {"median": round(ratio, 4), "goal": 1.1, "met": ratio <= 1.1}}}


def static_logits(model, name, prompts, sequences):
    """The logits of decode steps with a static cache, along the sequences. They begin with equally long prompts."""
    import torch
    from transformers import StaticCache

    model.set_attn_implementation(name)
    ids = torch.tensor(sequences, device="cuda")
    first, last = len(prompts[0]), ids.shape[1] - 1
    cache = StaticCache(config=model.config, max_cache_len=-(-ids.shape[1] // 64) * 64)
    logits = {}
    with torch.no_grad():
        for begin, end in ((0, first), *((at, at + 1) for at in range(first, last))):
            mask = torch.ones(ids.shape[0], end, dtype=torch.long, device="cuda")
            positions = torch.arange(begin, end, device="cuda")[None]
            out = model(input_ids=ids[:, begin:end], attention_mask=mask, position_ids=positions, past_key_values=cache,
                        use_cache=True, logits_to_keep=1).logits
            for row, each in enumerate(out[:, -1].float().cpu()):
                logits[(row, end - 1)] = each
    return logits


def static_tokens(model, name, prompts, new_tokens):
    """The tokens of generate() with a static cache."""
    import torch

    model.set_attn_implementation(name)
    ids = torch.tensor(prompts, device="cuda")
    with torch.no_grad():
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=new_tokens, do_sample=False,
                             cache_implementation="static", disable_compile=True, pad_token_id=0)
    return out.tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--longest", type=int, default=1024)
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fa3", action="store_true", help="beside FlashAttention 3's wheel, too")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        from cubinet.hf_kernel import NAME, write_hf_kernel

        kernels = [write_hf_kernel(os.path.join(folder, "kernel"))]
        if options.fa3:
            kernels.append(write_fa3(os.path.join(folder, "fa3")))
        os.environ["LOCAL_KERNELS"] = ":".join(kernels)
        os.environ["CUBINET_HOME"] = os.path.join(folder, "home")
        import torch

        import cubinet.pytorch
        from cubinet.pytorch.plans import current_runtime

        model = make_model(options)
        prompts = make_prompts(options.prompts, options.longest)
        pages = sum(-(-(len(prompt) + options.new_tokens) // 256) for prompt in prompts) + options.prompts
        tokens = options.prompts * options.new_tokens

        def speed(name):
            return tokens / generate(model, name, prompts, options.new_tokens, pages)[1]

        contenders = {"cubinet": lambda: speed(NAME), PEER: lambda: speed(PEER)}
        if options.fa3:
            contenders["FA3"] = lambda: speed(FA3)
        values = run_rounds(contenders, options.rounds)
        rows = [row("generate_batch", "tokens/s", values, compare(values, "cubinet", dict.fromkeys(contenders.keys() - {"cubinet"})))]
        sdpa = rows[0]["ratios"].get(f"cubinet : {PEER}")
        if sdpa:
            sdpa |= {"goal": 1.2, "met": sdpa["median"] >= 1.2}
        rows[0]["calls_of_graphs"] = cubinet.pytorch.calls().__dict__
        rows[0]["compiled"] = current_runtime().counters().compiled
        print(rows[0], file=sys.stderr, flush=True)

        few = prompts[:: max(1, options.prompts // 4)][:4]
        outputs, _ = generate(model, NAME, few, 32, pages)
        sequences = [prompt + list(output.generated_tokens) for prompt, output in zip(few, outputs)]
        before = cubinet.pytorch.calls().decode
        ours = forced_logits(model, NAME, few, sequences, pages)
        served = cubinet.pytorch.calls().decode - before
        peers = forced_logits(model, PEER, few, sequences, pages)
        exact = exact_logits(model, few, sequences)
        errors = {"cubinet": error_of(ours.logits, exact), PEER: error_of(peers.logits, exact)}
        rows.append(error_row("error of logits", errors))
        rows.append({"name": "decode batches served", "unit": "calls of a layer", "median": {
            "cubinet": served, "batches x layers": ours.decode_batches * options.layers}, "ratios": {}})
        print(rows[1:], file=sys.stderr, flush=True)
        equal = [prompt[:64] for prompt in prompts if len(prompt) >= 64][:4]
        texts = static_tokens(model, NAME, equal, 32)
        exact = exact_logits(model, equal, texts)
        errors = {"cubinet": error_of(static_logits(model, NAME, equal, texts), exact),
                  PEER: error_of(static_logits(model, PEER, equal, texts), exact)}
        rows.append(error_row("error of logits, static cache", errors))
        rows.append({"name": "kernels compiled", "unit": "count", "ratios": {},
                     "median": {"cubinet": current_runtime().counters().compiled}})
    write(options.output, "transformers_generate", options.commit, rows)
    print(statistics.mean(values["cubinet"]) if values.get("cubinet") else "cubinet failed", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
