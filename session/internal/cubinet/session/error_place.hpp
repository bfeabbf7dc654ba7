// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <string>
#include <utility>

namespace cubinet {

// Returns the error with the location of its cause ("'FILE', line 3") before the message. An empty
// location changes nothing.
inline Error with_place(Error error, const std::string& where) {
  if (!where.empty()) error.message = where + ": " + error.message;
  return error;
}

}  // namespace cubinet
