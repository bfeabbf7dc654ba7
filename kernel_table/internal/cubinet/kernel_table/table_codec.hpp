// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// A table of rows as little-endian bytes, which describe their own columns:
//
//   <table>  ::= "CTAB" u16 kTableVersion <columns> <rows>
//   <columns>::= u32 count { <string> name, u8 kind }
//   <rows>   ::= u32 count { one value per column,
//                            then u32 count { <string> name <string> value } }  ; extras
//   value    ::= kinds 0 integer, 1 flag, 2 data type, 3 enumeration: u32
//                kind 4 text: <string> ; kind 5 digest: 32 bytes
//
// A column that the reader does not know becomes an extra column of every row. A known column that
// the table lacks has its default. So the same version reads tables with fewer or more columns; the
// version counts changes of this grammar. Rows of a table have neither version nor source. Version,
// source and checksum belong to the file that holds the table. Version history: 3 (2026-11) layout
// and pin, neither version nor source nor a checksum; 1 and 2 were never released.
inline constexpr std::uint16_t kTableVersion = 3;

// Returns the form in which tables store a target: "10.7f". Every target has one, even if this
// build does not know the target.
std::string stored_target(SmTarget target);
// Returns corruption for text that is not a stored target.
Result<SmTarget> parse_stored_target(std::string_view text);

// Returns invalid_argument for a row that is out of range.
Result<Bytes> encode_table(std::span<const KernelRow> rows);

// Decodes a table. Any bytes give rows or an error: unsupported for a newer version,
// invalid_argument for a row out of range, corruption for everything else that is not a table.
Result<std::vector<KernelRow>> decode_table(ByteView bytes);

}  // namespace cubinet
