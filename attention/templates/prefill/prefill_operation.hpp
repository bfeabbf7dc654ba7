// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "templates/operation_class.hpp"

#include <memory>

namespace cubinet {

// Returns the class of prefill attention: any number of query tokens of each sequence over a paged
// or contiguous KV cache, with the families of prefill_families(). It also serves generation that
// decode attention declines, and, before decode attention, generation of many rows per KV head on
// Hopper, such as the verification of drafts.
std::shared_ptr<const OperationClass> prefill_operation();

}  // namespace cubinet
