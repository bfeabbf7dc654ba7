// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/byte_stream.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>

#include <span>
#include <vector>

namespace cubinet {

// Writes extra columns. Every format stores them as: u32 count { <string> name <string> value }.
void write_extras(ByteWriter& writer, std::span<const ExtraColumn> extras);
// Returns corruption for more than 4096 extra columns or for truncated bytes.
Result<std::vector<ExtraColumn>> read_extras(ByteReader& reader);

}  // namespace cubinet
