#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the workload of a node that serves Llama-3-70B, Qwen3-480B, GPT-OSS and DeepSeek-V3 on
# H200s, without a GPU: decode, speculative decode and the write of new tokens, at the batch sizes
# that a server captures graphs for. The benchmark `cubinet_bench prepare` uses it.
#
# Usage: bench/serving_workload.sh TOOL WORKLOAD
set -euo pipefail
tool=$1 workload=$2
rm -f "$workload"

add() { # OPTION...: one problem for each batch and KV length
  local batch length
  for batch in 1 8 32 128; do
    for length in 1024 8192 32768; do
      "$tool" select attention --device sm_90 --sm-count 132 --batch "$batch" --kv-len "$length" \
        --workload "$workload" "$@" >/dev/null
    done
  done
}

llama=(--heads-q 8 --heads-kv 1 --page-size 16)               # 64/8 heads on 8 devices
qwen=(--heads-q 12 --heads-kv 1 --page-size 64)               # 96/8 heads on 8 devices
gpt_oss=(--heads-q 8 --heads-kv 1 --head-dim-qk 64 --page-size 64 --sinks) # 64/8 heads on 8 devices
deepseek=(--op mla-decode --heads-q 16 --page-size 64)        # 128 heads on 8 devices
deepseek_whole=(--op mla-decode --heads-q 128 --page-size 64) # attention is not divided among the devices

add "${llama[@]}"
add "${llama[@]}" --dtype-q bf16 --dtype-kv e4m3
add "${llama[@]}" --q-len 4
add "${llama[@]}" --q-len 4 --dtype-kv e4m3
add "${llama[@]}" --q-len 8 --mask custom # a tree of drafted tokens
add "${qwen[@]}"
add "${qwen[@]}" --dtype-kv e4m3
add "${qwen[@]}" --q-len 8
add "${gpt_oss[@]}"
add "${gpt_oss[@]}" --window 128
add "${gpt_oss[@]}" --dtype-kv e4m3
add "${gpt_oss[@]}" --dtype-kv e4m3 --window 128
add "${gpt_oss[@]}" --q-len 4
add "${gpt_oss[@]}" --q-len 4 --window 128
add "${deepseek[@]}"
add "${deepseek[@]}" --q-len 2
add "${deepseek[@]}" --dtype-q e4m3 --dtype-o bf16
add "${deepseek_whole[@]}"
add "${deepseek_whole[@]}" --q-len 2
add "${deepseek_whole[@]}" --dtype-q e4m3 --dtype-o bf16
add "${llama[@]}" --append --rope-dim 128
add "${qwen[@]}" --append --rope-dim 128 --dtype-kv e4m3
add "${gpt_oss[@]}" --append --rope-dim 64
add --heads-q 64 --heads-kv 8 --page-size 64 --lse
