// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/binary_format.hpp>
#include <cubinet/base/byte_stream.hpp>
#include <cubinet/kernel_table/column.hpp>
#include <cubinet/kernel_table/extra_columns.hpp>
#include <cubinet/kernel_table/table_codec.hpp>

#include <algorithm>
#include <array>
#include <iterator>

namespace cubinet {
namespace {

constexpr BinaryFormat kTableFormat{.name = "a kernel table",
                                    .magic = "CTAB",
                                    .newest = kTableVersion,
                                    .oldest = kTableVersion,
                                    .damage_remedy = "import its source again"};
// The limits are far above any table. They prevent a damaged count from causing large allocations.
constexpr std::uint32_t kMaximumColumns = 1024;
constexpr std::uint32_t kMaximumRows = 10'000'000;
constexpr std::size_t kNumbersAtOnce = 64;

enum class StoredKind : std::uint8_t { integer, flag, data_type, enumeration, text, digest };

// The columns that are not numbers. They follow those of kernel_columns().
enum class TextColumn { implementation, layout, pin, target, function_name, digest };
struct NamedTextColumn {
  std::string_view name;
  StoredKind kind;
  TextColumn column;
};
constexpr std::array<NamedTextColumn, 6> kTextColumns = {{
    {"implementation", StoredKind::text, TextColumn::implementation},
    {"layout", StoredKind::text, TextColumn::layout},
    {"pin", StoredKind::text, TextColumn::pin},
    {"target", StoredKind::text, TextColumn::target},
    {"function_name", StoredKind::text, TextColumn::function_name},
    {"digest", StoredKind::digest, TextColumn::digest},
}};

void write_text_column(ByteWriter& writer, const KernelRow& row, TextColumn column) {
  switch (column) {
    case TextColumn::implementation:
      return writer.string(row.implementation);
    case TextColumn::layout:
      return writer.string(row.layout);
    case TextColumn::pin:
      return writer.string(row.pin);
    case TextColumn::target:
      return writer.string(stored_target(row.target));
    case TextColumn::function_name:
      return writer.string(row.function_name);
    case TextColumn::digest:
      return writer.raw(row.digest.bytes);
  }
}

Result<void> read_text_column(ByteReader& reader, KernelRow& row, TextColumn column) {
  switch (column) {
    case TextColumn::implementation: {
      CUBINET_TRY_ASSIGN(row.implementation, reader.string());
      return {};
    }
    case TextColumn::layout: {
      CUBINET_TRY_ASSIGN(row.layout, reader.string());
      return {};
    }
    case TextColumn::pin: {
      CUBINET_TRY_ASSIGN(row.pin, reader.string());
      return {};
    }
    case TextColumn::target: {
      CUBINET_TRY_ASSIGN(const std::string text, reader.string());
      CUBINET_TRY_ASSIGN(row.target, parse_stored_target(text));
      return {};
    }
    case TextColumn::function_name: {
      CUBINET_TRY_ASSIGN(row.function_name, reader.string());
      return {};
    }
    case TextColumn::digest: {
      CUBINET_TRY_ASSIGN(row.digest, read_digest(reader));
      return {};
    }
  }
  return {};
}

// Reads a value of an unknown column as text.
Result<std::string> read_unknown(ByteReader& reader, StoredKind kind) {
  if (kind == StoredKind::text) return reader.string();
  if (kind == StoredKind::digest) {
    CUBINET_TRY_ASSIGN(const Sha256Digest digest, read_digest(reader));
    return digest.to_hex();
  }
  CUBINET_TRY_ASSIGN(const std::uint32_t number, reader.u32());
  return std::to_string(number);
}

// A column of the stored table: a known number, a known text, or unknown (both null).
struct StoredColumn {
  std::string name;
  StoredKind kind = StoredKind::integer;
  const Column* number = nullptr;
  const NamedTextColumn* text = nullptr;
  // The length of the run of number columns that begins here, at most kNumbersAtOnce.
  std::size_t numbers = 0;
};

Result<StoredColumn> read_column(ByteReader& reader) {
  StoredColumn column;
  CUBINET_TRY_ASSIGN(column.name, reader.string());
  CUBINET_TRY_ASSIGN(const std::uint8_t kind, reader.u8());
  if (kind > static_cast<std::uint8_t>(StoredKind::digest))
    return kTableFormat.damaged("has a column of unknown kind");
  column.kind = static_cast<StoredKind>(kind);
  column.number = find_column(column.name);
  for (const NamedTextColumn& text : kTextColumns) {
    if (text.name == column.name) column.text = &text;
  }
  const bool same_kind = column.number != nullptr
                             ? static_cast<std::uint8_t>(column.number->kind) == kind
                             : column.text == nullptr || column.text->kind == column.kind;
  if (!same_kind)
    return kTableFormat.damaged("has a column '" + column.name.substr(0, 60) + "' of another kind");
  return column;
}

Result<std::vector<StoredColumn>> read_columns(ByteReader& reader) {
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  if (count > kMaximumColumns) return kTableFormat.damaged("has too many columns");
  std::vector<StoredColumn> columns;
  for (std::uint32_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(columns.emplace_back(), read_column(reader));
    for (std::uint32_t j = 0; j < i; ++j) {
      if (columns[j].name == columns[i].name) return kTableFormat.damaged("has a column twice");
    }
  }
  for (std::size_t i = columns.size(), numbers = 0; i-- > 0;)
    columns[i].numbers = numbers = columns[i].number != nullptr ? std::min(numbers + 1, kNumbersAtOnce) : 0;
  return columns;
}

// Reads a run of number columns at once. Nearly all columns are adjacent numbers, so this reads a
// table in two thirds of the time.
Result<void> read_numbers(ByteReader& reader, KernelRow& row, std::span<const StoredColumn> columns) {
  std::array<std::uint32_t, kNumbersAtOnce> numbers{};
  const auto read = std::span(numbers).first(columns.size());
  CUBINET_TRY(reader.u32s(read));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].number->fits(numbers[i]))
      return kTableFormat.damaged("holds a " + columns[i].name + " of " + std::to_string(numbers[i]));
    columns[i].number->set(row, numbers[i]);
  }
  return {};
}

Result<KernelRow> read_row(ByteReader& reader, const std::vector<StoredColumn>& columns,
                           const KernelRow& blank) {
  KernelRow row = blank;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const StoredColumn& column = columns[i];
    if (column.numbers != 0) {
      CUBINET_TRY(read_numbers(reader, row, std::span(columns).subspan(i, column.numbers)));
      i += column.numbers - 1;
      continue;
    }
    if (column.text != nullptr) {
      CUBINET_TRY(read_text_column(reader, row, column.text->column));
      continue;
    }
    CUBINET_TRY_ASSIGN(std::string value, read_unknown(reader, column.kind));
    row.extras.push_back({column.name, std::move(value)});
  }
  CUBINET_TRY_ASSIGN(std::vector<ExtraColumn> extras, read_extras(reader));
  row.extras.insert(row.extras.end(), std::make_move_iterator(extras.begin()),
                    std::make_move_iterator(extras.end()));
  std::sort(row.extras.begin(), row.extras.end(),
            [](const ExtraColumn& a, const ExtraColumn& b) { return a.name < b.name; });
  CUBINET_TRY(check_ranges(row));
  return row;
}

}  // namespace

std::string stored_target(SmTarget target) {
  const char* suffix = target.kind == TargetKind::specific ? "a"
                       : target.kind == TargetKind::family ? "f"
                                                           : "";
  return std::to_string(target.major) + "." + std::to_string(target.minor) + suffix;
}

Result<SmTarget> parse_stored_target(std::string_view text) {
  SmTarget target;
  if (text.ends_with('a')) target.kind = TargetKind::specific;
  if (text.ends_with('f')) target.kind = TargetKind::family;
  if (target.kind != TargetKind::baseline) text.remove_suffix(1);
  const auto capability = ComputeCapability::parse(text);
  if (!capability) return kTableFormat.damaged("holds a row of an unreadable target");
  target.major = capability->major;
  target.minor = capability->minor;
  return target;
}

Result<Bytes> encode_table(std::span<const KernelRow> rows) {
  ByteWriter writer;
  kTableFormat.write_head(writer);
  writer.u32(static_cast<std::uint32_t>(kernel_columns().size() + kTextColumns.size()));
  for (const Column& column : kernel_columns()) {
    writer.string(column.name);
    writer.u8(static_cast<std::uint8_t>(column.kind));
  }
  for (const NamedTextColumn& column : kTextColumns) {
    writer.string(column.name);
    writer.u8(static_cast<std::uint8_t>(column.kind));
  }
  writer.u32(static_cast<std::uint32_t>(rows.size()));
  for (const KernelRow& row : rows) {
    CUBINET_TRY(check_ranges(row));
    for (const Column& column : kernel_columns())
      writer.u32(static_cast<std::uint32_t>(column.get(row)));
    for (const NamedTextColumn& column : kTextColumns)
      write_text_column(writer, row, column.column);
    write_extras(writer, row.extras);
  }
  return writer.take();
}

Result<std::vector<KernelRow>> decode_table(ByteView bytes) {
  ByteReader reader(bytes);
  CUBINET_TRY(kTableFormat.read_head(reader));
  CUBINET_TRY_ASSIGN(const std::vector<StoredColumn> columns, read_columns(reader));
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  if (count > kMaximumRows) return kTableFormat.damaged("has too many rows");
  const KernelRow blank = blank_row();
  const std::size_t smallest_row = (columns.size() + 1) * sizeof(std::uint32_t);
  std::vector<KernelRow> rows;
  rows.reserve(std::min<std::size_t>(count, reader.remaining() / smallest_row));
  for (std::uint32_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(rows.emplace_back(), read_row(reader, columns, blank));
  }
  if (reader.remaining() != 0) return kTableFormat.damaged("has bytes after its end");
  return rows;
}

}  // namespace cubinet
