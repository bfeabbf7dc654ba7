// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/error.hpp>

namespace cubinet {

// Returns whether FileSystem::lock failed because the file system does not support flock.
bool knows_no_locks(const Error& error);

}  // namespace cubinet
