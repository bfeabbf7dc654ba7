// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/cost_model.hpp>
#include <cubinet/attention/operation.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// The tile of a kernel that computes prefill attention, and how the kernel sums over its steps.
struct PrefillTile {
  std::uint32_t q = 64;   // rows
  std::uint32_t kv = 64;  // tokens of a step
  std::uint32_t stages = 2;
  std::uint32_t fold_steps = 0;  // steps between two folds of the output into fp32; 0: never
  std::uint32_t cluster = 1;     // CTAs that have adjacent tiles and copy K and V to each other

  friend bool operator==(const PrefillTile&, const PrefillTile&) = default;
};

// The resources of a CTA, and how it takes rows.
struct PrefillBlock {
  std::uint32_t threads = 0;
  std::uint32_t shared_bytes = 0;  // by the template's formula; tests compare the two
  std::uint32_t registers = 255;   // the most that a thread uses
  // Query heads of one KV head that share a tile: as many as the group has, or 1, or 2 in a
  // cluster. The rows of a tile are these heads times query tokens.
  std::uint32_t tile_heads = 1;
  // Parts of the columns of V. Each is computed as a tile of its own, with all columns of Q and K.
  std::uint32_t column_parts = 1;
};

// A template whose kernels compute prefill attention: everything that a plan needs to know about
// it. All families share one argument (AttentionPrefillParameters, which the tensor maps may
// follow). Each has one entry point, named like the template, and is defined in the header of its
// name. Plain data; the functions are pure. REQUIRES for the functions:
// prefill_expression_gap() finds nothing.
struct PrefillFamily {
  const char* name;  // name of the template
  // Returns one sentence that states what the family has no kernel for, on devices that it may run
  // on, or an empty string if it serves the problem. It need not repeat what the template's
  // declaration states about parameters and targets.
  std::string (*gap)(const AttentionProblem& problem, ComputeCapability device);
  // Returns whether the family precedes those that are not preferred (prefill_families()). `source`
  // names the measurement or fact behind the preference.
  bool (*preferred)(const AttentionProblem& problem, ComputeCapability device);
  const char* source;
  // Returns the tiles among which the cost model chooses. Of nearly equal ones, the first that fits
  // the device is used. A tile may be too large for every device.
  std::vector<PrefillTile> (*tiles)(const AttentionProblem& problem);
  PrefillBlock (*block)(const AttentionProblem& problem, const PrefillTile& tile);
  // If true, the argument is AttentionPrefillMapParameters, whose maps prefill_maps() describes. If
  // false, it is AttentionPrefillParameters.
  bool has_maps = false;
  // If true, the template has the parameter `numerics`.
  bool has_numerics = false;
  // If true, tiles may be divided into splits of KV, whose results attention_prefill_combine
  // combines (prefill_splits_kv()).
  bool has_splits = false;
  // Returns tiles that may be faster but have another error. Plans use them only by name, as the
  // tuner does if it has measured both. nullptr: there are none.
  std::vector<PrefillTile> (*tiles_of_other_error)(const AttentionProblem& problem) = nullptr;
  // If true, the template has the parameter `fold_steps`.
  bool has_folds = false;
  // If true, the template has the parameter `cluster_size`.
  bool has_clusters = false;
  KvReader reader = KvReader::warps;  // of the cost model
  // If true, the template has the parameter dtype_kv and converts KV of e4m3.
  bool converts_kv = false;
};

// Returns what no family has a parameter or argument for, or an empty string if the families can
// express the problem.
std::string prefill_expression_gap(const AttentionProblem& problem, ComputeCapability device);

// Returns the same, and that decode attention serves the problem if it does.
std::string prefill_gap(const AttentionProblem& problem, ComputeCapability device);

// Returns one sentence that states that the family has no invariant numerics if the problem asks
// for them, or an empty string.
std::string numerics_gap(const PrefillFamily& family, const AttentionProblem& problem);

// Returns whether the family may divide the KV of the problem's tiles. With invariant numerics it
// may not: segments are folded in ascending order, and attention_prefill_combine combines splits in
// another one.
bool prefill_splits_kv(const PrefillFamily& family, const AttentionProblem& problem);

// Returns the specification of the kernel without its tile, which all plans of the problem share.
// The second overload includes the tile.
KernelSpec prefill_specification(const PrefillFamily& family, const AttentionProblem& problem);
KernelSpec prefill_specification(const PrefillFamily& family, const AttentionProblem& problem,
                                 const PrefillTile& tile);

// Returns the tile of a kernel, or nullopt if the kernel does not have the template's tile
// parameters.
std::optional<PrefillTile> prefill_tile_of(const KernelSpec& kernel);

// Returns whether plans may use the tile if no request names its kernel: it has as many steps
// between two folds as one of the family's tiles.
bool folds_as_planned(const PrefillFamily& family, const AttentionProblem& problem, const PrefillTile& tile);

// Returns the tiles of all sequences, if each has q_len query tokens. Clusters have whole ones.
std::uint64_t prefill_tiles(const AttentionProblem& problem, const PrefillTile& tile,
                            const PrefillBlock& block);

}  // namespace cubinet
