// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cubinet {

// The shape of a kernel that computes decode attention.
struct DecodeTile {
  std::uint32_t q = 16;   // rows
  std::uint32_t kv = 64;  // tokens of a step
  std::uint32_t stages = 2;

  friend bool operator==(const DecodeTile&, const DecodeTile&) = default;
};

// What a tile is good for: to be taken where so many blocks of it share a multiprocessor, where
// there are as many tiles, of all sequences and KV heads, for each multiprocessor, and where each
// of those blocks would have so many steps of KV.
struct DecodeTileRule {
  DecodeTile tile;
  std::uint32_t blocks;
  double tiles = 0;
  double steps = 0;
};

// A block of the main kernel.
struct DecodeBlock {
  std::uint32_t threads = 0;
  std::uint32_t shared_bytes = 0;  // as the template's formula says; tests hold the two together
  std::uint32_t registers = 255;   // that the kernel takes at most, of a thread
  std::uint32_t slice = 16;        // it begins to read at a multiple of so many tokens
  std::uint32_t warps = 4;         // that work on KV of their own; what works together counts as four
  // The most partial results of a tile that the block which ends last combines sooner than a second
  // kernel does, if it was measured for the family.
  std::optional<std::uint32_t> pieces_inside = std::nullopt;
  // Blocks of a cluster, which take as many tiles of a sequence side by side, and whether the
  // template has a parameter of them.
  std::uint32_t cluster = 1;
  bool names_cluster = false;
};

// A template whose kernels compute decode attention: all that a plan has to know of it. They have
// one argument (AttentionDecodeParameters), one division of work, one layout of partial results and
// one entry point, which has the template's name. Plain data; the functions are pure. REQUIRES, of
// these: decode_gap() finds nothing.
struct DecodeFamily {
  const char* name;  // of the template
  // What it has no kernel for, in a sentence, on devices that it may run on; empty where it serves.
  // What the template's own declaration says of its parameters and targets need not be said again.
  std::string (*gap)(const AttentionProblem& problem, ComputeCapability device);
  // Whether it goes before those behind it in decode_families(), and the measurement or fact behind
  // that.
  bool (*preferred)(const AttentionProblem& problem, ComputeCapability device);
  const char* source;
  // The first that fits the device is taken. Nothing is too large to be named.
  std::vector<DecodeTileRule> (*tiles)(const AttentionProblem& problem);
  DecodeBlock (*block)(const AttentionProblem& problem, const DecodeTile& tile);
};

// Each in the file of its name.
extern const DecodeFamily kAttentionDecode;
extern const DecodeFamily kAttentionDecodeSwapped;
extern const DecodeFamily kAttentionDecodeWgmma;
extern const DecodeFamily kAttentionLatent;
extern const DecodeFamily kAttentionLatentNarrow;
extern const DecodeFamily kAttentionWide;

// All of them in the order in which they are asked: those that are preferred, then the others.
std::vector<const DecodeFamily*> decode_families(const AttentionProblem& problem, ComputeCapability device);

// What no family has a parameter or argument for; empty where it can be said.
std::string decode_gap(const AttentionProblem& problem, ComputeCapability device);

// The kernel's specification but for its tile: what every plan of the problem has in common.
KernelSpec decode_specification(const DecodeFamily& family, const AttentionProblem& problem);
KernelSpec decode_specification(const DecodeFamily& family, const AttentionProblem& problem,
                                const DecodeTile& tile);

// The template that combines the partial results of a tile.
inline constexpr const char* kCombineTemplate = "attention_combine";
// Returns the specification of the kernel that combines the partial results of a family's kernel.
KernelSpec combine_specification(const DecodeFamily& family, const AttentionProblem& problem,
                                 const DecodeTile& tile);

// Bytes of an element that is multiplied: bf16 or fp16.
inline constexpr std::uint32_t kProductBytes = 2;
// KV has eight bits, which are multiplied as fp16.
bool converts_kv(const AttentionProblem& problem);
// Query heads of one KV head times query tokens.
std::uint64_t rows_of_kv_head(const AttentionProblem& problem);
// Rows of the smallest tile that holds these, 64 where none does.
std::uint32_t smallest_tile_q(const AttentionProblem& problem);
// Of K and V of a token and KV head, which latent attention has once.
std::uint32_t kv_row_bytes(const AttentionProblem& problem);
std::uint32_t divide_up(std::uint32_t a, std::uint32_t b);

}  // namespace cubinet
