// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_lock.hpp>

#include <doctest/doctest.h>

#include <cerrno>

using namespace cubinet;

TEST_CASE("what says that a file system has no locks is told from what says that a lock cannot be had") {
  for (const int number : {ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL})
    CHECK(knows_no_locks(io_error("lock", number)));
  for (const int number : {0, EACCES, EIO, ESTALE, EINTR})
    CHECK_FALSE(knows_no_locks(io_error("lock", number)));
}
