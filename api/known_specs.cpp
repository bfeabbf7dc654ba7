// SPDX-License-Identifier: Apache-2.0
#include "known_specs.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cubinet {
namespace {

template <class Word>
std::uint64_t load(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Returns up to eight bytes as a word. Different bytes of one length give different words. A copy
// of a variable length would be a call, so loads overlap instead.
std::uint64_t load_word(const char* bytes, std::size_t size) {
  if (size >= 8) return load<std::uint64_t>(bytes);
  if (size >= 4) return load<std::uint32_t>(bytes) | load<std::uint32_t>(bytes + size - 4) << 32U;
  return load<std::uint8_t>(bytes) | load<std::uint8_t>(bytes + size / 2) << 8U |
         load<std::uint8_t>(bytes + size - 1) << 16U;
}

// Passes all members of a specification to `add` as words. A string or list follows its length.
// Equal specifications give equal words, and unequal ones differ in at least one.
template <class Add>
void write_words(const KernelSpec& spec, const Add& add) {
  const auto add_bytes = [&add](const void* data, std::size_t size) {
    const auto* bytes = static_cast<const char*>(data);
    for (std::size_t at = 0; at < size; at += 8)
      add(load_word(bytes + at, size - at));
  };
  const auto add_list = [&](const auto& values, std::uint64_t kind) {  // a string or a vector of numbers
    add(values.size() << 8U | kind);
    add_bytes(values.data(), values.size() * sizeof *values.data());
  };
  const auto add_value = [&](const auto& value, std::uint64_t kind) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<Value>) {
      add(kind);
      add_bytes(&value, sizeof value);
    } else {
      add_list(value, kind);
    }
  };
  add_list(spec.name, static_cast<std::uint64_t>(spec.maker));
  add(spec.parameters.size());
  for (const auto& [name, value] : spec.parameters) {
    add_list(name, 0);
    // The usual types without a call by a table.
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      add_value(*number, value.index());
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      add_value(*text, value.index());
    } else {
      std::visit([&, kind = value.index()](const auto& held) { add_value(held, kind); }, value);
    }
  }
  for (const auto& [name, value] : spec.options) {
    add_list(name, 0);
    add_list(value, 0);
  }
}

// The words of a specification and their hash, for a comparison that does not read the map again.
// Does not allocate.
class SpecWords {
 public:
  explicit SpecWords(const KernelSpec& spec) : spec_(spec) {
    std::uint64_t* next = first_;
    std::uint64_t* const end = first_ + std::size(first_);
    std::size_t more = 0;
    std::uint64_t hash = 0;
    write_words(spec, [&](std::uint64_t word) {
      if (next != end) {
        *next++ = word;
      } else {
        ++more;
      }
      // The products do not wait for each other, only the sums do.
      hash = (hash << 23U | hash >> 41U) + word * kFactor;
    });
    count_ = static_cast<std::size_t>(next - first_) + more;
    hash_ = (hash ^ hash >> 32U) * kFactor;
    hash_ ^= hash_ >> 32U;
  }

  std::uint64_t hash() const { return hash_; }

  bool operator==(const std::vector<std::uint64_t>& words) const {
    if (words.size() != count_) return false;
    if (count_ <= std::size(first_)) return std::equal(words.begin(), words.end(), first_);
    // The source of a kernel, for example, is a long text.
    auto expected = words.begin();
    bool equal = true;
    write_words(spec_, [&](std::uint64_t word) { equal = equal && *expected++ == word; });
    return equal;
  }

  std::vector<std::uint64_t> copy() const {
    std::vector<std::uint64_t> words;
    words.reserve(count_);
    write_words(spec_, [&words](std::uint64_t word) { words.push_back(word); });
    return words;
  }

 private:
  // An odd number with about as many ones as zeros: 2^64 divided by the golden ratio.
  static constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15U;

  const KernelSpec& spec_;
  std::uint64_t first_[128];  // more than usual specifications have
  std::size_t count_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace

struct KnownSpecs::Entry {
  std::uint64_t hash;
  // The requested specification in one block, so that a comparison reads a few adjacent cache lines
  // instead of the nodes of a second map.
  std::vector<std::uint64_t> words;
  std::shared_ptr<const CachedKernel> kernel;
  const Entry* next;
};

KnownSpecs::~KnownSpecs() {
  for (const auto& bucket : buckets_) {
    for (const Entry* entry = bucket.load(std::memory_order_relaxed); entry != nullptr;)
      delete std::exchange(entry, entry->next);
  }
}

const CachedKernel* KnownSpecs::find(const KernelSpec& requested) const {
  const SpecWords words(requested);
  const Entry* entry = buckets_[words.hash() % kBuckets].load(std::memory_order_acquire);
  for (; entry != nullptr; entry = entry->next) {
    if (entry->hash == words.hash() && words == entry->words) return entry->kernel.get();
  }
  return nullptr;
}

void KnownSpecs::add(const KernelSpec& requested, std::shared_ptr<const CachedKernel> kernel) {
  const SpecWords words(requested);
  std::atomic<const Entry*>& bucket = buckets_[words.hash() % kBuckets];
  const std::lock_guard lock(mutex_);
  if (find(requested) != nullptr) return;
  bucket.store(
      new Entry{words.hash(), words.copy(), std::move(kernel), bucket.load(std::memory_order_relaxed)},
      std::memory_order_release);
}

}  // namespace cubinet
