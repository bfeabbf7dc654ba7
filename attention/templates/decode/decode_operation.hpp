// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "templates/operation_class.hpp"

#include <memory>

namespace cubinet {

// Returns the class of decode attention: one or a few query tokens of each sequence over a paged KV
// cache, with the families of decode_families().
std::shared_ptr<const OperationClass> decode_operation();

}  // namespace cubinet
