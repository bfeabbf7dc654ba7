// SPDX-License-Identifier: Apache-2.0
#include "nvrtc_copies.hpp"

#include <algorithm>

namespace cubinet {
namespace {

// Returns null if the library cannot be copied. The threads then share the other copies, which only
// takes longer.
std::shared_ptr<const NvrtcApi> copy_of(const NvrtcApi& original) {
  auto copy = original.copy();
  return copy ? *std::move(copy) : nullptr;
}

}  // namespace

NvrtcCopies::NvrtcCopies(std::shared_ptr<const NvrtcApi> original) : original_(std::move(original)) {
  std::promise<std::shared_ptr<const NvrtcApi>> loaded;
  loaded.set_value(original_);
  copies_.push_back(std::make_unique<Copy>());
  copies_.front()->api = loaded.get_future().share();
}

NvrtcCopies::Copy& NvrtcCopies::choose(unsigned users, std::promise<std::shared_ptr<const NvrtcApi>>& added,
                                       bool& adds) {
  const std::lock_guard lock(mutex_);
  const auto fewest = std::min_element(copies_.begin(), copies_.end(),
                                       [](const auto& a, const auto& b) { return a->users < b->users; });
  adds = (*fewest)->users >= users && copies_.size() < kMaximum;
  if (adds) {
    copies_.push_back(std::make_unique<Copy>());
    copies_.back()->api = added.get_future().share();
  }
  Copy& chosen = adds ? *copies_.back() : **fewest;
  ++chosen.users;
  return chosen;
}

NvrtcCopies::Copy& NvrtcCopies::acquire(unsigned users) {
  std::promise<std::shared_ptr<const NvrtcApi>> added;
  bool adds = false;
  Copy& copy = choose(users, added, adds);
  if (adds) added.set_value(copy_of(*original_));
  return copy;
}

std::size_t NvrtcCopies::count() const {
  const std::lock_guard lock(mutex_);
  return copies_.size();
}

NvrtcCopies::Lease::Lease(NvrtcCopies& copies, unsigned users)
    : copies_(copies), copy_(copies.acquire(users)) {}

NvrtcCopies::Lease::~Lease() {
  const std::lock_guard lock(copies_.mutex_);
  --copy_.users;
}

const NvrtcApi& NvrtcCopies::Lease::api() const {
  const auto& api = copy_.api.get();
  return api == nullptr ? *copies_.original_ : *api;
}

}  // namespace cubinet
