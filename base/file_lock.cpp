// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_lock.hpp>

#include <cerrno>

namespace cubinet {

bool knows_no_locks(const Error& error) {
  return error.native == ENOLCK || error.native == EOPNOTSUPP || error.native == ENOSYS ||
         error.native == EINVAL;
}

}  // namespace cubinet
