// SPDX-License-Identifier: Apache-2.0
#include "imported/import_format.hpp"

#include "imported/file_index.hpp"

#include <cubinet/base/binary_format.hpp>
#include <cubinet/base/byte_stream.hpp>
#include <cubinet/kernel_table/table_codec.hpp>

#include <algorithm>
#include <limits>

namespace cubinet {
namespace {

constexpr BinaryFormat kImportFormat{
    .name = "an import",
    .magic = "CIMP",
    .newest = kImportVersion,
    .oldest = kImportVersion,
    .damage_remedy = "import its folder again",
    .newer_remedy = "use the version of cubinet that wrote it, or import its folder again"};
// Far above any folder, so that a damaged count does not cause a large allocation.
constexpr std::uint32_t kMaximumItems = 10'000'000;
constexpr std::size_t kSmallestFile =
    sizeof(std::uint32_t) + sizeof(Sha256Digest::bytes) + sizeof(std::uint64_t);

Error refused(const std::string& reason) {
  return Error{ErrorCode::invalid_argument, "an import cannot be kept: " + reason};
}

// Returns whether the name stays below the folder.
bool stays_below(std::string_view name) {
  if (name.empty() || name.find('\0') != std::string_view::npos) return false;
  while (true) {
    const std::size_t end = name.find('/');
    const std::string_view part = name.substr(0, end);
    if (part.empty() || part == "." || part == "..") return false;
    if (end == std::string_view::npos) return true;
    name.remove_prefix(end + 1);
  }
}

Result<void> check_files(const std::vector<ArtifactFile>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!stays_below(files[i].name)) return refused("'" + files[i].name + "' is no file below its folder");
    if (i != 0 && files[i].name <= files[i - 1].name) {
      return refused("its files are not in ascending order at '" + files[i].name + "'");
    }
  }
  return {};
}

Result<void> check_target(SmTarget target) {
  KernelRow row;
  row.target = target;
  return check_ranges(row);
}

// The table checks the ranges of its rows when it is written and read.
Result<void> check_kernels(const ArtifactImport& import) {
  const FileIndex files(import.files);
  const auto check = [&](const auto& kernel) -> Result<void> {
    if (!kernel.function_name.empty() && files.find(kernel.digest) != nullptr) return {};
    return refused("the cubin of the kernel '" + kernel.function_name + "' is not among its files");
  };
  for (const KernelRow& row : import.rows)
    CUBINET_TRY(check(row));
  for (const PlainKernel& kernel : import.plain) {
    CUBINET_TRY(check_target(kernel.target));
    CUBINET_TRY(check(kernel));
  }
  return {};
}

void write_plain(ByteWriter& writer, const PlainKernel& kernel) {
  writer.string(kernel.function_name);
  writer.u32(kernel.shared_bytes);
  writer.u32(kernel.threads);
  writer.u16(kernel.target.major);
  writer.u16(kernel.target.minor);
  writer.u8(static_cast<std::uint8_t>(kernel.target.kind));
  writer.raw(kernel.digest.bytes);
}

Result<PlainKernel> read_plain(ByteReader& reader) {
  PlainKernel kernel;
  CUBINET_TRY_ASSIGN(kernel.function_name, reader.string());
  CUBINET_TRY_ASSIGN(kernel.shared_bytes, reader.u32());
  CUBINET_TRY_ASSIGN(kernel.threads, reader.u32());
  CUBINET_TRY_ASSIGN(kernel.target.major, reader.u16());
  CUBINET_TRY_ASSIGN(kernel.target.minor, reader.u16());
  CUBINET_TRY_ASSIGN(const std::uint8_t kind, reader.u8());
  kernel.target.kind = static_cast<TargetKind>(kind);
  CUBINET_TRY_ASSIGN(kernel.digest, read_digest(reader));
  return kernel;
}

Result<ArtifactFile> read_file(ByteReader& reader) {
  ArtifactFile file;
  CUBINET_TRY_ASSIGN(file.name, reader.string());
  CUBINET_TRY_ASSIGN(file.digest, read_digest(reader));
  CUBINET_TRY_ASSIGN(file.size, reader.u64());
  return file;
}

Result<ArtifactPlacement> read_placement(ByteReader& reader) {
  CUBINET_TRY_ASSIGN(const std::uint8_t placement, reader.u8());
  if (placement > static_cast<std::uint8_t>(ArtifactPlacement::copied))
    return kImportFormat.damaged("is of an unknown placement");
  return static_cast<ArtifactPlacement>(placement);
}

Result<std::vector<KernelRow>> read_rows(ByteReader& reader, const std::string& pin) {
  CUBINET_TRY_ASSIGN(const std::uint32_t table_bytes, reader.u32());
  CUBINET_TRY_ASSIGN(const ByteView table, reader.raw(table_bytes));
  auto rows = decode_table(table);
  if (!rows && rows.error().code == ErrorCode::unsupported) return std::move(rows).error();
  if (!rows) return kImportFormat.damaged("holds a table that is none: " + rows.error().message);
  for (KernelRow& row : *rows)
    row.pin = pin;
  return rows;
}

Result<ArtifactImport> read_fields(ByteReader& reader) {
  ArtifactImport import;
  CUBINET_TRY_ASSIGN(import.folder, reader.string());
  CUBINET_TRY_ASSIGN(import.pin, reader.string());
  CUBINET_TRY_ASSIGN(import.version, reader.string());
  CUBINET_TRY_ASSIGN(import.placement, read_placement(reader));
  CUBINET_TRY_ASSIGN(import.rows, read_rows(reader, import.pin));
  CUBINET_TRY_ASSIGN(const std::uint32_t plain, reader.u32());
  if (plain > kMaximumItems) return kImportFormat.damaged("has too many kernels");
  for (std::uint32_t i = 0; i < plain; ++i) {
    CUBINET_TRY_ASSIGN(import.plain.emplace_back(), read_plain(reader));
  }
  CUBINET_TRY_ASSIGN(const std::uint32_t files, reader.u32());
  if (files > kMaximumItems) return kImportFormat.damaged("has too many files");
  import.files.reserve(std::min<std::size_t>(files, reader.remaining() / kSmallestFile));
  for (std::uint32_t i = 0; i < files; ++i) {
    CUBINET_TRY_ASSIGN(import.files.emplace_back(), read_file(reader));
  }
  if (reader.remaining() != 0) return kImportFormat.damaged("has bytes after its end");
  return import;
}

}  // namespace

std::string_view to_string(ArtifactPlacement placement) {
  switch (placement) {
    case ArtifactPlacement::in_place:
      return "in_place";
    case ArtifactPlacement::linked:
      return "linked";
    case ArtifactPlacement::copied:
      return "copied";
  }
  return "unknown";
}

Result<void> check_import(const ArtifactImport& import) {
  const std::string& folder = import.folder;
  if (!folder.starts_with('/') || folder.find('\0') != std::string::npos) {
    return refused("'" + folder + "' is no absolute path");
  }
  if (import.placement > ArtifactPlacement::copied) return refused("its placement is unknown");
  if (std::max(import.plain.size(), import.files.size()) > kMaximumItems) return refused("it is too large");
  CUBINET_TRY(check_files(import.files));
  return check_kernels(import);
}

Result<Bytes> encode_import(const ArtifactImport& import) {
  std::vector<KernelRow> rows = import.rows;
  for (KernelRow& row : rows) {
    row.version = 0;
    row.source.clear();
    row.pin.clear();
  }
  CUBINET_TRY_ASSIGN(const Bytes table, encode_table(rows));
  if (table.size() > std::numeric_limits<std::uint32_t>::max()) return refused("its table is too large");
  ByteWriter writer;
  kImportFormat.write_head(writer);
  writer.string(import.folder);
  writer.string(import.pin);
  writer.string(import.version);
  writer.u8(static_cast<std::uint8_t>(import.placement));
  writer.string(as_text(table));
  writer.u32(static_cast<std::uint32_t>(import.plain.size()));
  for (const PlainKernel& kernel : import.plain)
    write_plain(writer, kernel);
  writer.u32(static_cast<std::uint32_t>(import.files.size()));
  for (const ArtifactFile& file : import.files) {
    writer.string(file.name);
    writer.raw(file.digest.bytes);
    writer.u64(file.size);
  }
  write_checksum(writer);
  return writer.take();
}

Result<ArtifactImport> decode_import(ByteView bytes) {
  CUBINET_TRY_ASSIGN(auto fields, kImportFormat.read_checked(bytes));
  CUBINET_TRY_ASSIGN(ArtifactImport import, read_fields(fields.reader));
  if (auto checked = check_import(import); !checked)
    return kImportFormat.damaged("is not sound: " + checked.error().message);
  return import;
}

}  // namespace cubinet
