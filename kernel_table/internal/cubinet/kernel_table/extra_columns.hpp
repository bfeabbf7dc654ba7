// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/byte_stream.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>

#include <span>
#include <vector>

namespace cubinet {

// How extra columns lie in every format: u32 count { <string> name <string> value }.
void write_extras(ByteWriter& writer, std::span<const ExtraColumn> extras);
// corruption for more than 4096 of them, or for bytes that end before them.
Result<std::vector<ExtraColumn>> read_extras(ByteReader& reader);

}  // namespace cubinet
