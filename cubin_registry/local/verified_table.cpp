// SPDX-License-Identifier: Apache-2.0
#include "local/verified_table.hpp"

#include <cubinet/base/binary_format.hpp>
#include <cubinet/base/byte_stream.hpp>

#include <xxhash.h>

#include <array>

namespace cubinet {
namespace {

enum Query : std::size_t { list_folder, put_file, count_ };

constexpr std::array<std::string_view, static_cast<std::size_t>(count_)> kQueries = {
    "SELECT name, size, modified_ns, changed_ns, inode, digest, inspection, checksum FROM verified_files "
    "WHERE folder = ?1 ORDER BY name",
    "INSERT OR REPLACE INTO verified_files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
};

constexpr std::uint32_t kMaximumKernels = 1'000'000;
constexpr std::uint8_t kUnknownKind = 0xff;

// u16 major, u16 minor, u8 kind (255: not told), u8 excludes specific, u32 count { <string> kernel
// }
Bytes encode_inspection(const CubinInspection& inspection) {
  ByteWriter writer;
  writer.u16(inspection.capability.major);
  writer.u16(inspection.capability.minor);
  writer.u8(inspection.kind ? static_cast<std::uint8_t>(*inspection.kind) : kUnknownKind);
  writer.u8(inspection.excludes_specific ? 1 : 0);
  writer.u32(static_cast<std::uint32_t>(inspection.kernels.size()));
  for (const std::uint32_t bytes : inspection.argument_bytes)
    writer.u32(bytes);
  for (const std::string& kernel : inspection.kernels)
    writer.string(kernel);
  return writer.take();
}

Result<CubinInspection> decode_inspection(ByteView bytes) {
  const Error damaged{ErrorCode::corruption, "a verified file's row of the index is damaged"};
  ByteReader reader(bytes);
  CubinInspection inspection;
  CUBINET_TRY_ASSIGN(inspection.capability.major, reader.u16());
  CUBINET_TRY_ASSIGN(inspection.capability.minor, reader.u16());
  CUBINET_TRY_ASSIGN(const std::uint8_t kind, reader.u8());
  if (kind != kUnknownKind && kind > static_cast<std::uint8_t>(TargetKind::family)) return damaged;
  if (kind != kUnknownKind) inspection.kind = static_cast<TargetKind>(kind);
  CUBINET_TRY_ASSIGN(const std::uint8_t excludes, reader.u8());
  inspection.excludes_specific = excludes != 0;
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  if (count > kMaximumKernels) return damaged;
  for (std::uint32_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(inspection.argument_bytes.emplace_back(), reader.u32());
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(inspection.kernels.emplace_back(), reader.string());
  }
  if (reader.remaining() != 0) return damaged;
  return inspection;
}

std::int64_t checksum_of(std::string_view folder, const VerifiedFile& file, ByteView inspection) {
  ByteWriter writer;
  writer.string(folder);
  writer.string(file.name);
  writer.u64(file.size);
  writer.i64(file.modified_ns);
  writer.i64(file.changed_ns);
  writer.u64(file.inode);
  writer.raw(file.digest.bytes);
  writer.raw(inspection);
  return static_cast<std::int64_t>(XXH3_64bits(writer.bytes().data(), writer.bytes().size()));
}

}  // namespace

Result<void> VerifiedTable::prepare(sqlite::Database& database) {
  return statements_.prepare(database, kQueries);
}

Result<std::vector<VerifiedFile>> VerifiedTable::list(std::string_view folder) {
  sqlite::Statement& bound = statements_[list_folder];
  const sqlite::Run run(bound);
  bound.bind(1, folder);
  std::vector<VerifiedFile> files;
  while (true) {
    CUBINET_TRY_ASSIGN(const bool row, bound.step());
    if (!row) return files;
    VerifiedFile file;
    file.name = bound.text(0);
    file.size = static_cast<std::uint64_t>(bound.integer(1));
    file.modified_ns = bound.integer(2);
    file.changed_ns = bound.integer(3);
    file.inode = static_cast<std::uint64_t>(bound.integer(4));
    const auto digest = as_digest(bound.blob(5));
    if (!digest) continue;
    file.digest = *digest;
    const ByteView inspection = bound.blob(6);
    if (checksum_of(folder, file, inspection) != bound.integer(7)) continue;
    auto decoded = decode_inspection(inspection);
    if (!decoded) continue;
    file.inspection = *std::move(decoded);
    files.push_back(std::move(file));
  }
}

Result<void> VerifiedTable::put(std::string_view folder, std::span<const VerifiedFile> files) {
  sqlite::Statement& bound = statements_[put_file];
  for (const VerifiedFile& file : files) {
    const Bytes inspection = encode_inspection(file.inspection);
    const sqlite::Run run(bound);
    bound.bind(1, folder)
        .bind(2, std::string_view(file.name))
        .bind(3, static_cast<std::int64_t>(file.size))
        .bind(4, file.modified_ns)
        .bind(5, file.changed_ns)
        .bind(6, static_cast<std::int64_t>(file.inode))
        .bind(7, ByteView(file.digest.bytes))
        .bind(8, ByteView(inspection))
        .bind(9, checksum_of(folder, file, inspection));
    CUBINET_TRY(bound.step());
  }
  return {};
}

}  // namespace cubinet
