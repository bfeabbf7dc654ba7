// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>

namespace cubinet {

// Returns whether two cubins of one source have the same code (CubinCode) and refer to the same
// variables, by name. The tables of variables' addresses (.nv.constant4) may differ in length and
// order, and the slot numbers in the instructions with them. Returns corruption for bytes that are
// not a cubin.
Result<bool> have_equal_code(ByteView first, ByteView second);

}  // namespace cubinet
