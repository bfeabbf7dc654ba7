// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/error.hpp>

namespace cubinet {

// Whether FileSystem::lock failed as flock does where a file system has no locks.
bool knows_no_locks(const Error& error);

}  // namespace cubinet
