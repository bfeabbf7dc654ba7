// SPDX-License-Identifier: Apache-2.0
#include "bundle/dictionary_content.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <queue>
#include <vector>

namespace cubinet {
namespace {

// The size of a chosen part. On published cubins, 512 bytes give 1 % more than 2048 or 4096.
constexpr std::size_t kPartBytes = 2048;
// The size of a compared word, an instruction. 8 or 32 bytes give 1 to 2 % more.
constexpr std::size_t kWordBytes = 16;
// Words are distinguished by this many bits of their hash, and one in kOneIn is counted, at every
// occurrence.
constexpr unsigned kSlotBits = 23;
constexpr std::uint64_t kOneIn = 8;

struct Part {
  ByteView bytes;
  std::size_t first;  // of its slots
  std::size_t behind;
};

struct Candidate {
  std::uint64_t gain;
  std::size_t part;
  bool operator<(const Candidate& other) const {
    return gain != other.gain ? gain < other.gain : part > other.part;
  }
};

std::uint64_t hash_of(const std::byte* word) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::memcpy(&low, word, sizeof(low));
  std::memcpy(&high, word + sizeof(low), sizeof(high));
  const std::uint64_t mixed = (low ^ (low >> 29U)) * 0x9E3779B97F4A7C15U + high;
  const std::uint64_t hash = (mixed ^ (mixed >> 32U)) * 0xBF58476D1CE4E5B9U;
  return hash ^ (hash >> 29U);
}

class Chooser {
 public:
  Chooser(ByteView samples, std::span<const std::size_t> sizes)
      : uses_(std::size_t{1} << kSlotBits), seen_(uses_.size()) {
    std::size_t offset = 0;
    std::uint32_t number = 0;
    for (const std::size_t size : sizes) {
      ++number;
      for (std::size_t from = 0; from < size; from += kPartBytes)
        add_part(samples, offset + from, size - from, number);
      offset += size;
    }
  }

  // In the order of the samples, so that adjacent parts stay adjacent.
  Bytes choose(std::size_t size) {
    std::vector<Candidate> candidates;
    for (std::size_t part = 0; part < parts_.size(); ++part)
      candidates.push_back({gain_of(part), part});
    std::priority_queue<Candidate> queue({}, std::move(candidates));
    std::vector<std::size_t> chosen;
    std::size_t bytes = 0;
    while (!queue.empty()) {
      Candidate best = queue.top();
      queue.pop();
      // Gains only decrease, so a part that is still first after recounting is the best.
      best.gain = gain_of(best.part);
      const Part& part = parts_[best.part];
      if (best.gain == 0 || bytes + part.bytes.size() > size) continue;
      if (!queue.empty() && best < queue.top()) {
        queue.push(best);
        continue;
      }
      chosen.push_back(best.part);
      bytes += part.bytes.size();
      for (std::size_t i = part.first; i < part.behind; ++i)
        uses_[slots_[i]] = 0;
    }
    std::sort(chosen.begin(), chosen.end());
    Bytes content;
    for (const std::size_t part : chosen)
      content.insert(content.end(), parts_[part].bytes.begin(), parts_[part].bytes.end());
    return content;
  }

 private:
  // `left` is the number of bytes of the sample from there on.
  void add_part(ByteView samples, std::size_t offset, std::size_t left, std::uint32_t sample) {
    Part part{samples.subspan(offset, std::min(kPartBytes, left)), slots_.size(), 0};
    // Includes the words that reach into the next part.
    const std::size_t end = offset + std::min(kPartBytes + kWordBytes - 1, left);
    for (std::size_t i = offset; i + kWordBytes <= end; ++i) {
      const std::uint64_t hash = hash_of(samples.data() + i);
      if (hash % kOneIn != 0) continue;
      const auto slot = static_cast<std::uint32_t>(hash >> (64U - kSlotBits));
      slots_.push_back(slot);
      if (seen_[slot] == sample) continue;  // repetitions inside a sample need no dictionary
      seen_[slot] = sample;
      ++uses_[slot];
    }
    std::sort(slots_.begin() + static_cast<std::ptrdiff_t>(part.first), slots_.end());
    slots_.erase(std::unique(slots_.begin() + static_cast<std::ptrdiff_t>(part.first), slots_.end()),
                 slots_.end());
    part.behind = slots_.size();
    parts_.push_back(part);
  }

  // Returns how many other samples have each word.
  std::uint64_t gain_of(std::size_t part) const {
    std::uint64_t gain = 0;
    for (std::size_t i = parts_[part].first; i < parts_[part].behind; ++i)
      gain += std::max<std::uint32_t>(uses_[slots_[i]], 1) - 1;
    return gain;
  }

  std::vector<std::uint32_t> uses_;  // by slot: the samples that have such a word
  std::vector<std::uint32_t> seen_;  // by slot: the last of them
  std::vector<std::uint32_t> slots_;
  std::vector<Part> parts_;
};

}  // namespace

Bytes choose_dictionary_content(ByteView samples, std::span<const std::size_t> sizes, std::size_t size) {
  return Chooser(samples, sizes).choose(size);
}

}  // namespace cubinet
