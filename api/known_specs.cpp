// SPDX-License-Identifier: Apache-2.0
#include "known_specs.hpp"

#include <functional>
#include <string_view>
#include <utility>

namespace cubinet {
namespace {

// boost::hash_combine's mix for 64 bits: the golden ratio spreads equal low bits.
std::uint64_t combine(std::uint64_t hash, std::uint64_t value) {
  return hash ^ (value + 0x9e3779b97f4a7c15U + (hash << 12U) + (hash >> 4U));
}

template <class T>
std::uint64_t hash_of(const T& value) {
  return std::hash<T>{}(value);
}
template <class T>
std::uint64_t hash_of(const std::vector<T>& values) {
  std::uint64_t hash = values.size();
  for (const T& value : values)
    hash = combine(hash, hash_of(value));
  return hash;
}

// Leaves out the compiler's options, which rarely distinguish requests. Equality compares them.
std::uint64_t hash_of(const KernelSpec& spec) {
  std::uint64_t hash = combine(hash_of(std::string_view(spec.name)), static_cast<std::uint64_t>(spec.maker));
  for (const auto& [name, value] : spec.parameters) {
    hash = combine(hash, hash_of(std::string_view(name)));
    hash = combine(hash, std::visit([](const auto& held) { return hash_of(held); }, value));
  }
  return hash;
}

}  // namespace

KnownSpecs::~KnownSpecs() {
  for (const auto& bucket : buckets_) {
    for (const Entry* entry = bucket.load(std::memory_order_relaxed); entry != nullptr;)
      delete std::exchange(entry, entry->next);
  }
}

const CachedKernel* KnownSpecs::find(const KernelSpec& requested) const {
  return find(requested, hash_of(requested));
}

const CachedKernel* KnownSpecs::find(const KernelSpec& requested, std::uint64_t hash) const {
  const Entry* entry = buckets_[hash % kBuckets].load(std::memory_order_acquire);
  for (; entry != nullptr; entry = entry->next) {
    if (entry->hash == hash && entry->requested == requested) return entry->kernel.get();
  }
  return nullptr;
}

void KnownSpecs::add(const KernelSpec& requested, std::shared_ptr<const CachedKernel> kernel) {
  const std::uint64_t hash = hash_of(requested);
  std::atomic<const Entry*>& bucket = buckets_[hash % kBuckets];
  const std::lock_guard lock(mutex_);
  if (find(requested, hash) != nullptr) return;
  bucket.store(new Entry{hash, requested, std::move(kernel), bucket.load(std::memory_order_relaxed)},
               std::memory_order_release);
}

}  // namespace cubinet
