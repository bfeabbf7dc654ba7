// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/sm_target.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace cubinet {

// The table of a cost model that a kernel belongs to, by what its time depends on.
enum class CostClass : std::uint8_t {
  memory_traffic = 0,  // the bytes of KV, and how CTAs share them: decode
  tile_waves = 1,      // the tiles that a CTA computes, times the waves of CTAs: published kernels
  products = 2,        // the products of all tiles, and those of the largest: prefill
};

// The part of a kernel that reads and multiplies KV. Each has rates of its own in the library's
// model.
enum class KvReader : std::uint8_t {
  warps,          // warps multiply KV that they load
  registers,      // warpgroups multiply KV from registers
  latent,         // attention_latent
  latent_narrow,  // attention_latent_narrow
  warpgroups,     // warpgroups multiply KV from shared memory; products only
};

// A kernel running a problem, reduced to the values that its time depends on. Counts of CTAs are
// doubles because they may exceed 2^63: a grid that CUDA would refuse is still compared with
// others.
struct KernelWork {
  CostClass cost_class = CostClass::memory_traffic;
  std::string_view implementation;  // KernelRow::implementation; for models other than the library's
  ComputeCapability device;
  std::uint32_t multiprocessors = 1;
  std::uint32_t blocks_per_multiprocessor = 1;
  std::uint32_t tile_size_q = 0;     // rows
  std::uint32_t cluster = 1;         // CTAs that copy K and V to each other
  std::uint32_t warps = 4;           // of a CTA, with KV of their own; warps that share KV count as four
  std::uint32_t element_bits = 16;   // bits of an element of K and V
  std::uint32_t row_bytes = 512;     // bytes of K and V of one token and head
  std::uint32_t splits = 1;          // the most CTAs that share a sequence's KV
  bool combines_apart = true;        // if false, one of these CTAs combines their results
  std::uint64_t longest_tokens = 0;  // KV tokens of the busiest CTA, in whole steps
  double blocks = 0;                 // CTAs with work
  double empty_blocks = 0;           // CTAs without work: splits that a short sequence does not use
  double bytes = 0;                  // bytes of K and V that all CTAs read; products: of all sequences
  double largest_block_bytes = 0;
  double work_items = 1;                 // the most tiles of which one CTA computes a part
  double all_work_items = 1;             // the work items of all CTAs
  double partial_bytes = 0;              // bytes of partial results that all CTAs write
  double combine_rounds = 0;             // rounds in which one CTA reads more partial results of its rows
  double combine_blocks = 0;             // CTAs of the kernel that combines partial results
  double sequences = 1;                  // each CTA of that kernel reads their lengths
  double ring_bytes = 0;                 // bytes that one CTA keeps in flight
  double operations = 0;                 // of the products of all tiles; two for each multiply-add
  double largest_block_operations = 0;   // of the largest tile
  double smallest_block_operations = 0;  // of the smallest tile
  double busiest_operations = 0;  // of the CTA that ends last and computes `work_items` tiles; 0: unknown
  KvReader reader = KvReader::warps;
};

// The parts of an estimate, in its unit. All zero if the model has no parts.
struct CostTerms {
  double start = 0;     // of the kernel, and CTAs without work
  double read = 0;      // KV is read and multiplied
  double items = 0;     // work items start and end
  double turnover = 0;  // a wave of CTAs follows another
  double combine = 0;   // partial results are written, read and combined

  double sum() const { return start + read + items + turnover + combine; }
};

// The estimated time of a kernel. Comparable between kernels of one implementation on one device;
// not a prediction.
struct KernelCost {
  double time = 0;
  bool in_microseconds = false;  // if false, the unit is the implementation's own
  CostTerms terms = {};
};

// An estimate of the time of kernels on a device. Every choice between tiles and splits queries it.
// Immutable and thread-safe.
class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual KernelCost cost(const KernelWork& work) const = 0;
};

// Returns the library's cost model, one object for the whole process. It has a table for each cost
// class, with a row for each measured device (cost_model.cpp). A device without a row uses the
// first one's. Never null.
std::shared_ptr<const CostModel> default_cost_model();

}  // namespace cubinet
