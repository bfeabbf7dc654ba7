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
  return Error{ErrorCode::unavailable,
               "the registry's home '" + store_.home().root().string() + "' cannot be written",
               "name another folder with `HomeOptions::path`"};
}

}  // namespace cubinet
