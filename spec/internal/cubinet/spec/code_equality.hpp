// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>

namespace cubinet {

// Returns whether two cubins of one source have the same code (CubinCode) and refer to the same
// variables, by name. Constants (.nv.constant3) and the table of variables' addresses
// (.nv.constant4) may be in another order, and the offsets in the instructions with them. Returns
// corruption for bytes that are not a cubin.
Result<bool> have_equal_code(ByteView first, ByteView second);

}  // namespace cubinet
