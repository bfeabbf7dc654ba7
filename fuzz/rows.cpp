// SPDX-License-Identifier: Apache-2.0
// Reads the rows of an import: the table that a home stores, and one row of an identity.
#include "fuzz.hpp"
#include "imported/import_format.hpp"

#include <cubinet/kernel_table/row_codec.hpp>
#include <cubinet/kernel_table/table_codec.hpp>

namespace cubinet::fuzz {

void read(ByteView bytes) {
  static_cast<void>(decode_table(bytes));
  static_cast<void>(decode_row(bytes));
  static_cast<void>(decode_import(bytes));
}

}  // namespace cubinet::fuzz
