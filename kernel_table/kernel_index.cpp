// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/kernel_table/kernel_index.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace cubinet {
namespace {

// A slot is a cache line. A fuller table saves memory, an emptier one saves probes.
constexpr std::size_t kSlotsPerTwoEntries = 3;

struct Entry {
  SelectorEncoding encoding;
  std::size_t target_rank;
  std::uint32_t number;
};

// Orders rows with the same selector and target, independently of their input order.
bool goes_before(const KernelRow& a, const KernelRow& b) {
  if (a.traits.step_kv != b.traits.step_kv) return a.traits.step_kv > b.traits.step_kv;
  if (a.traits.step_q != b.traits.step_q) return a.traits.step_q > b.traits.step_q;
  if (a.traits.groups_heads_q != b.traits.groups_heads_q) return a.traits.groups_heads_q;
  if (a.traits.stages != b.traits.stages) return a.traits.stages > b.traits.stages;
  return std::tie(a.implementation, a.pin, a.function_name, a.digest) <
         std::tie(b.implementation, b.pin, b.function_name, b.digest);
}

}  // namespace

KernelIndex KernelIndex::build(KernelRows rows, ComputeCapability device, KernelRows unusable) {
  KernelIndex index;
  const std::size_t usable = rows.size();
  index.rows_ = std::move(rows);
  index.rows_.insert(index.rows_.end(), unusable.begin(), unusable.end());
  index.device_ = device;
  std::map<SmTarget, std::size_t> rank;
  for (const SmTarget target : targets_for(device))
    rank.emplace(target, rank.size());
  std::vector<Entry> entries;
  std::set<std::string_view> unknown;
  for (std::uint32_t number = 0; number < index.rows_.size(); ++number) {
    const KernelRow& row = *index.rows_[number];
    const auto found = rank.find(row.target);
    if (found == rank.end()) {
      ++index.usage_.other_targets;
    } else if (number >= usable) {
      ++index.usage_.refused;
    } else if (!row.understood()) {
      ++index.usage_.not_understood;
      for (const ExtraColumn& extra : row.extras) {
        if (!extra.is_off()) unknown.insert(extra.name);
      }
    } else {
      entries.push_back({encode_selector(row.selector), found->second, number});
    }
  }
  index.usage_.unknown_columns.assign(unknown.begin(), unknown.end());
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    if (a.encoding != b.encoding) return a.encoding < b.encoding;
    if (a.target_rank != b.target_rank) return a.target_rank < b.target_rank;
    return goes_before(index.row(a.number), index.row(b.number));
  });
  std::size_t slots = 16;
  while (slots * 2 < entries.size() * kSlotsPerTwoEntries)
    slots *= 2;
  index.slots_.resize(slots);
  index.numbers_.reserve(entries.size());
  for (const Entry& entry : entries)
    index.numbers_.push_back(entry.number);
  for (std::size_t begin = 0; begin < entries.size();) {
    std::size_t end = begin + 1;
    while (end < entries.size() && entries[end].encoding == entries[begin].encoding)
      ++end;
    index.insert(entries[begin].encoding, static_cast<std::uint32_t>(begin),
                 static_cast<std::uint32_t>(end - begin));
    begin = end;
  }
  return index;
}

void KernelIndex::insert(const SelectorEncoding& encoding, std::uint32_t first, std::uint32_t count) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t position = hash_of(encoding) & mask;
  while (slots_[position].count != 0)
    position = (position + 1) & mask;
  slots_[position] = {encoding, first, count};
  count_usage(first, count);
}

// Counts a selector's rows. Rows that differ in traits, implementation or pin are separate kernels.
// Each counts once, by its best target.
void KernelIndex::count_usage(std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const KernelRow& candidate = row(numbers_[first + i]);
    bool counted = false;
    for (std::uint32_t j = 0; j < i && !counted; ++j) {
      const KernelRow& earlier = row(numbers_[first + j]);
      counted = earlier.traits == candidate.traits && earlier.implementation == candidate.implementation &&
                earlier.pin == candidate.pin;
    }
    if (counted) continue;
    ++usage_.usable;
    if (candidate.target.kind == TargetKind::specific) ++usage_.specific;
    if (candidate.target.kind == TargetKind::family) ++usage_.family;
    if (candidate.target.kind == TargetKind::baseline) ++usage_.baseline;
  }
}

std::string KernelIndex::Usage::passed_over() const {
  constexpr std::size_t kNamed = 3;
  if (not_understood == 0) return "";
  std::string names;
  for (std::size_t i = 0; i < std::min(unknown_columns.size(), kNamed); ++i)
    names += (i > 0 ? ", " : "") + printable(unknown_columns[i], kQuotedBytes);
  if (unknown_columns.size() > kNamed)
    names += " and " + std::to_string(unknown_columns.size() - kNamed) + " more";
  return plural(not_understood, "row") + " passed over, with a variant on that this version does not know (" +
         names + ")";
}

std::span<const std::uint32_t> KernelIndex::find(const SelectorEncoding& encoding) const {
  if (slots_.empty()) return {};
  const std::size_t mask = slots_.size() - 1;
  // The loop ends because at most two thirds of the slots are used.
  for (std::size_t position = hash_of(encoding) & mask;; position = (position + 1) & mask) {
    const Slot& slot = slots_[position];
    if (slot.count == 0) return {};
    if (slot.encoding == encoding) return {numbers_.data() + slot.first, slot.count};
  }
}

}  // namespace cubinet
