// SPDX-License-Identifier: Apache-2.0
#include "local/home_access.hpp"

namespace cubinet {

Result<void> HomeAccess::check_process() const {
  if (in_original_process()) return {};
  return Error{ErrorCode::unavailable, "the registry was opened before this process was forked",
               "open it again in the child"};
}

Result<void> HomeAccess::check_writable() const {
  CUBINET_TRY(check_process());
  if (writable_) return {};
  if (!why_read_only_.empty())
    return Error{ErrorCode::unavailable, why_read_only_, "name another folder with `HomeOptions::path`"};
  return Error{ErrorCode::unavailable,
               "the home '" + store_.home().root().string() + "' was opened for reading only",
               "open it for writing"};
}

}  // namespace cubinet
