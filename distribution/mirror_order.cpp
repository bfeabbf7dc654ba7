// SPDX-License-Identifier: Apache-2.0
#include "mirror_order.hpp"

#include <cubinet/base/text.hpp>

namespace cubinet {
MirrorOrder::MirrorOrder(std::size_t servers, std::chrono::milliseconds rest) {
  for (std::size_t i = 0; i < servers; ++i)
    breakers_.emplace_back(rest);
}

bool MirrorOrder::is_of_this_server(ErrorCode code) {
  return code == ErrorCode::not_found || code == ErrorCode::unavailable || code == ErrorCode::corruption ||
         code == ErrorCode::untrusted;
}

MirrorOrder::Turn MirrorOrder::next_turn() {
  Turn turn;
  for (std::size_t i = 0; i < breakers_.size(); ++i) {
    if (breakers_[i].may_ask()) turn.asked.push_back(i);
  }
  turn.passed_over = turn.asked.empty() ? 0 : breakers_.size() - turn.asked.size();
  for (std::size_t i = 0; turn.asked.size() + turn.passed_over < breakers_.size(); ++i)
    turn.asked.push_back(i);
  return turn;
}

// Keeps the more useful error: that one server lacks the content is less relevant than that another
// does not answer.
void MirrorOrder::add(std::optional<Error>& error, Error next) {
  if (!error) {
    error = std::move(next);
    return;
  }
  next.message = error->message + "; " + next.message;
  if (next.code == ErrorCode::not_found) next.code = error->code;
  error = std::move(next);
}

Result<void> MirrorOrder::conclude(Error error, std::size_t passed_over, std::optional<ErrorCode> accepted) {
  if (passed_over > 0) {
    // A server that was skipped may have it.
    if (error.code == ErrorCode::not_found) error.code = ErrorCode::unavailable;
    error.message +=
        "; " + plural(passed_over, "mirror") + " that gave no answer before was not asked again yet";
  }
  if (error.code == accepted) return {};
  return error;
}

}  // namespace cubinet
