// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/sink_scope.hpp>

#include <string>

namespace cubinet {
namespace {

thread_local int sink_depth = 0;

}  // namespace

SinkScope::SinkScope() {
  ++sink_depth;
}

SinkScope::~SinkScope() {
  --sink_depth;
}

Result<void> SinkScope::check_outside(const char* what) {
  if (sink_depth == 0) return {};
  return Error{ErrorCode::busy, std::string("a log sink or a range hook cannot ") + what,
               "call it after the callback has returned, or on another thread"};
}

}  // namespace cubinet
