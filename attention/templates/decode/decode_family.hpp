// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cubinet {

// The tile of a kernel that computes decode attention.
struct DecodeTile {
  std::uint32_t q = 16;   // rows
  std::uint32_t kv = 64;  // tokens of a step
  std::uint32_t stages = 2;

  friend bool operator==(const DecodeTile&, const DecodeTile&) = default;
};

// A tile that a plan may use if an SM can hold `blocks` of its CTAs.
struct DecodeCandidate {
  DecodeTile tile;
  std::uint32_t blocks = 1;
};

// The resources of a CTA of the main kernel.
struct DecodeBlock {
  std::uint32_t threads = 0;
  std::uint32_t shared_bytes = 0;  // by the template's formula; tests compare the two
  std::uint32_t registers = 255;   // the most that a thread uses
  std::uint32_t slice = 16;        // a CTA starts to read at a multiple of this many tokens
  std::uint32_t warps = 4;         // warps with KV of their own; warps that share KV count as four
  // The most partial results of a tile that the last CTA to finish it combines faster than a second
  // kernel, if this was measured for the family.
  std::optional<std::uint32_t> partials_inside = std::nullopt;
  // The CTAs of a cluster, which process as many adjacent tiles of a sequence, and whether the
  // template has a parameter for the size of the cluster.
  std::uint32_t cluster = 1;
  bool names_cluster = false;
  KvReader reader = KvReader::warps;
};

// A template whose kernels compute decode attention: everything that a plan needs to know about it.
// All families share one argument (AttentionDecodeParameters), one division of work and one layout
// of partial results. Each has one entry point, named like the template, and is defined in the
// header of its name. Plain data; the functions are pure. REQUIRES for the functions: decode_gap()
// finds nothing.
struct DecodeFamily {
  const char* name;  // name of the template
  // Returns one sentence that states what the family has no kernel for, on devices that it may run
  // on, or an empty string if it serves the problem. It need not repeat what the template's
  // declaration states about parameters and targets.
  std::string (*gap)(const AttentionProblem& problem, ComputeCapability device);
  // Returns whether the family precedes those that are not preferred (decode_families()). `source`
  // names the measurement or fact behind the preference.
  bool (*preferred)(const AttentionProblem& problem, ComputeCapability device);
  const char* source;
  // Returns the tiles among which the cost model chooses. Of nearly equal ones, and for splits of a
  // fixed length, the first that fits the device is used, so the order must not depend on the batch
  // and the lengths. A tile may be too large for every device.
  std::vector<DecodeCandidate> (*tiles)(const AttentionProblem& problem);
  DecodeBlock (*block)(const AttentionProblem& problem, const DecodeTile& tile);
  // Returns whether the estimates for the problem were compared with times of the other families of
  // which this is true, so that the cost model chooses among them. Null: never.
  bool (*is_compared)(const AttentionProblem& problem) = nullptr;
  // If true, the template has the parameter `numerics`.
  bool has_numerics = false;
};

// Returns whether the cost model chooses between tiles of 64 rows of attention_decode_wgmma and
// tiles of attention_decode, which have fewer rows. Several small ones are faster if there are few
// tiles or KV is short, although each reads KV: more SMs read it, and the four warps of a CTA read
// it in one step. On an H200 two sequences of 68 tokens with 128 rows took 5.3 us instead of 9.7,
// and 16 sequences of 256 tokens with 48 rows 6.7 instead of 9.4. KV of more than 128 tokens is
// compared for head dims of 128, whose rates are fitted to times of both.
bool compares_small_tiles(const AttentionProblem& problem);

// Returns what no family has a parameter or argument for, or an empty string if the families can
// express the problem.
std::string decode_gap(const AttentionProblem& problem, ComputeCapability device);

// Returns one sentence that states that the family has no invariant numerics if the problem asks
// for them, or an empty string.
std::string numerics_gap(const DecodeFamily& family, const AttentionProblem& problem);

// Returns whether a family's template has the head dims and the page size.
bool decode_has_sizes(const AttentionProblem& problem);

// Returns the specification of the kernel without its tile, which all plans of the problem share.
// The second overload includes the tile.
KernelSpec decode_specification(const DecodeFamily& family, const AttentionProblem& problem);
KernelSpec decode_specification(const DecodeFamily& family, const AttentionProblem& problem,
                                const DecodeTile& tile);

// The template of the kernels that combine the partial results of a tile.
inline constexpr const char* kCombineTemplate = "attention_combine";
// Returns the specification of the kernel that combines the partial results of a family's kernel.
KernelSpec combine_specification(const DecodeFamily& family, const AttentionProblem& problem,
                                 const DecodeTile& tile);

// Bytes of an element that tensor cores multiply: bf16 or fp16.
inline constexpr std::uint32_t kProductBytes = 2;
// Returns whether KV has 8-bit elements, which are multiplied as fp16.
bool converts_kv(const AttentionProblem& problem);

// Returns the most partial results of a tile that the last CTA to finish it folds faster than a
// second kernel, with invariant numerics.
std::uint32_t segments_folded_inside(const AttentionProblem& problem, const DecodeTile& tile);

// The first devices that convert to 8-bit types.
inline constexpr ComputeCapability kFirstWithConversions{8, 9};
// Returns the packed rows of one KV head: its query heads times query tokens.
std::uint64_t rows_of_kv_head(const AttentionProblem& problem);
// Returns the rows of the smallest tile that holds all packed rows, or 64 if none does.
std::uint32_t smallest_tile_q(const AttentionProblem& problem);
// Returns the bytes of K and V of one token and KV head. Latent attention stores them once.
std::uint32_t kv_row_bytes(const AttentionProblem& problem);
// Returns the larger one of the two head dims.
std::uint32_t widest_head(const AttentionProblem& problem);

}  // namespace cubinet
