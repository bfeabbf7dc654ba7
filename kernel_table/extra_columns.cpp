// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/byte_stream.hpp>
#include <cubinet/kernel_table/extra_columns.hpp>

namespace cubinet {

void write_extras(ByteWriter& writer, std::span<const ExtraColumn> extras) {
  writer.u32(static_cast<std::uint32_t>(extras.size()));
  for (const ExtraColumn& extra : extras) {
    writer.string(extra.name);
    writer.string(extra.value);
  }
}

Result<std::vector<ExtraColumn>> read_extras(ByteReader& reader) {
  // The limit is far above any table. It prevents a damaged count from causing large allocations.
  constexpr std::uint32_t kMaximumExtras = 4096;
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  if (count > kMaximumExtras) return Error{ErrorCode::corruption, "a kernel row has too many extra columns"};
  std::vector<ExtraColumn> extras;
  for (std::uint32_t i = 0; i < count; ++i) {
    ExtraColumn& extra = extras.emplace_back();
    CUBINET_TRY_ASSIGN(extra.name, reader.string());
    CUBINET_TRY_ASSIGN(extra.value, reader.string());
  }
  return extras;
}

}  // namespace cubinet
