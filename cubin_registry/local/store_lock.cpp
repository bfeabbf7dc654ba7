// SPDX-License-Identifier: Apache-2.0
#include "local/store_lock.hpp"

namespace cubinet {

void StoreLock::release() {
  lock_.reset();
  if (held() && holders_ != nullptr) holders_->fetch_add(1, std::memory_order_release);
  state_ = State::none;
}

Result<void> StoreLock::take(State wanted, std::chrono::milliseconds limit) {
  if (state_ == wanted) return {};
  release();
  const auto sharing = wanted == State::shared ? FileSystem::Sharing::shared : FileSystem::Sharing::exclusive;
  CUBINET_TRY_ASSIGN(lock_, lock_within(files_, path_, sharing, limit, log_));
  state_ = wanted;
  return {};
}

}  // namespace cubinet
