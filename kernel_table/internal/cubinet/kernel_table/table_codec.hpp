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

// A table of rows as bytes, little-endian, that says of itself what its columns are:
//
//   <table>  ::= "CTAB" u16 kTableVersion <columns> <rows>
//   <columns>::= u32 count { <string> name, u8 kind }
//   <rows>   ::= u32 count { one value a column, then u32 count { <string> name <string> value } }  ; extras
//   value    ::= kinds 0 integer, 1 flag, 2 data type, 3 enumeration: u32
//                kind 4 text: <string> ; kind 5 digest: 32 bytes
//
// A column of a name that the reader does not know becomes an extra column of every row; one that the reader
// knows and the table lacks has its default. So a table of fewer or more columns is read by the same version;
// the version counts changes of this grammar. Rows of a table have neither version nor source: they are those
// of the file that holds the table, and so is the checksum. Version history: 3 (2026-11) layout and pin,
// neither version nor source nor a checksum; 1 and 2 were never released.
inline constexpr std::uint16_t kTableVersion = 3;

// "10.7f": the form in which tables hold a target, which every one has, known to this build or not.
std::string stored_target(SmTarget target);
// corruption for text that is none.
Result<SmTarget> parse_stored_target(std::string_view text);

// invalid_argument for a row that is out of range.
Result<Bytes> encode_table(std::span<const KernelRow> rows);

// Any bytes give rows or an error: unsupported for a newer version, corruption for everything else that is
// not a table, invalid_argument for a row out of range.
Result<std::vector<KernelRow>> decode_table(ByteView bytes);

}  // namespace cubinet
