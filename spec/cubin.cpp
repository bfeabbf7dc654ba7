// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/cubin.hpp>

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::string_view kMagic = "CREC";
constexpr std::uint32_t kMaximumEntryPoints = 4096;

enum EntryFlags : std::uint8_t { kProgrammaticLaunch = 1, kCooperative = 2 };

void write_digest(ByteWriter& writer, const Sha256Digest& digest) {
  writer.raw(digest.bytes);
}

Result<Sha256Digest> read_digest(ByteReader& reader) {
  Sha256Digest digest;
  CUBINET_TRY_ASSIGN(const ByteView view, reader.raw(digest.bytes.size()));
  std::copy(view.begin(), view.end(), digest.bytes.begin());
  return digest;
}

void write_entry_point(ByteWriter& writer, const EntryPoint& entry) {
  writer.string(entry.name);
  writer.string(entry.symbol);
  writer.u32(entry.threads);
  writer.u32(entry.dynamic_shared_bytes);
  writer.u32(entry.parameter_bytes);
  for (const std::uint32_t dimension : entry.cluster)
    writer.u32(dimension);
  writer.u8(static_cast<std::uint8_t>((entry.programmatic_launch ? kProgrammaticLaunch : 0) |
                                      (entry.cooperative ? kCooperative : 0)));
}

Result<EntryPoint> read_entry_point(ByteReader& reader) {
  EntryPoint entry;
  CUBINET_TRY_ASSIGN(entry.name, reader.string());
  CUBINET_TRY_ASSIGN(entry.symbol, reader.string());
  CUBINET_TRY_ASSIGN(entry.threads, reader.u32());
  CUBINET_TRY_ASSIGN(entry.dynamic_shared_bytes, reader.u32());
  CUBINET_TRY_ASSIGN(entry.parameter_bytes, reader.u32());
  for (std::uint32_t& dimension : entry.cluster) {
    CUBINET_TRY_ASSIGN(dimension, reader.u32());
  }
  CUBINET_TRY_ASSIGN(const std::uint8_t flags, reader.u8());
  if ((flags & ~(kProgrammaticLaunch | kCooperative)) != 0) {
    return Error{ErrorCode::corruption, "a cubin's record holds unknown launch flags"};
  }
  entry.programmatic_launch = (flags & kProgrammaticLaunch) != 0;
  entry.cooperative = (flags & kCooperative) != 0;
  return entry;
}

Result<CubinRecord> read_fields(ByteReader& reader) {
  CubinRecord record;
  CUBINET_TRY_ASSIGN(const std::string encoding, reader.string());
  const ByteView encoding_bytes = as_bytes(encoding);
  CUBINET_TRY_ASSIGN(record.identity,
                     identity_from_encoding(Bytes(encoding_bytes.begin(), encoding_bytes.end())));
  record.target = record.identity.target();
  CUBINET_TRY_ASSIGN(record.fingerprint.digest, read_digest(reader));
  CUBINET_TRY_ASSIGN(record.digest, read_digest(reader));
  CUBINET_TRY_ASSIGN(record.size, reader.u64());
  CUBINET_TRY_ASSIGN(record.interface_version, reader.u32());
  CUBINET_TRY_ASSIGN(const std::uint8_t kind, reader.u8());
  if (kind > static_cast<std::uint8_t>(ImageKind::ptx)) {
    return Error{ErrorCode::corruption, "a cubin's record holds an unknown kind of image"};
  }
  record.kind = static_cast<ImageKind>(kind);
  CUBINET_TRY_ASSIGN(const std::uint8_t origin, reader.u8());
  if (origin > static_cast<std::uint8_t>(CubinOrigin::bundle)) {
    return Error{ErrorCode::corruption, "a cubin's record holds an unknown origin"};
  }
  record.origin = static_cast<CubinOrigin>(origin);
  CUBINET_TRY_ASSIGN(record.bundle_version, reader.u64());
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  if (count > kMaximumEntryPoints)
    return Error{ErrorCode::corruption, "a cubin's record has too many functions"};
  for (std::uint32_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(record.entry_points.emplace_back(), read_entry_point(reader));
  }
  CUBINET_TRY_ASSIGN(record.compiler, reader.string());
  CUBINET_TRY_ASSIGN(record.options, reader.string());
  CUBINET_TRY_ASSIGN(record.warnings, reader.string());
  return record;
}

}  // namespace

std::string CubinRecord::target_name() const {
  return kind == ImageKind::ptx ? target.compute_name() : target.to_string();
}

const EntryPoint* CubinRecord::find_entry_point(std::string_view name) const {
  for (const EntryPoint& entry : entry_points) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Bytes encode_record(const CubinRecord& record) {
  ByteWriter writer;
  writer.raw(as_bytes(kMagic));
  writer.u16(kRecordVersion);
  writer.string(as_text(record.identity.encoding()));
  write_digest(writer, record.fingerprint.digest);
  write_digest(writer, record.digest);
  writer.u64(record.size);
  writer.u32(record.interface_version);
  writer.u8(static_cast<std::uint8_t>(record.kind));
  writer.u8(static_cast<std::uint8_t>(record.origin));
  writer.u64(record.bundle_version);
  writer.u32(static_cast<std::uint32_t>(record.entry_points.size()));
  for (const EntryPoint& entry : record.entry_points)
    write_entry_point(writer, entry);
  writer.string(record.compiler);
  writer.string(record.options);
  writer.string(record.warnings);
  writer.string(as_text(record.row));
  write_digest(writer, sha256(writer.bytes()));
  return writer.take();
}

Result<CubinRecord> decode_record(ByteView bytes) {
  constexpr std::size_t kDigestBytes = 32;
  constexpr std::uint16_t kFirstVersionWithRow = 2;
  ByteReader reader(bytes);
  CUBINET_TRY_ASSIGN(const ByteView magic, reader.raw(kMagic.size()));
  if (as_text(magic) != kMagic) return Error{ErrorCode::corruption, "a cubin's record has another magic"};
  CUBINET_TRY_ASSIGN(const std::uint16_t version, reader.u16());
  if (version > kRecordVersion) {
    return Error{ErrorCode::unsupported,
                 "a cubin's record has version " + std::to_string(version) + ", this build knows up to " +
                     std::to_string(kRecordVersion),
                 "use the version of cubinet that wrote it"};
  }
  if (bytes.size() < kDigestBytes) return Error{ErrorCode::corruption, "a cubin's record ends early"};
  const ByteView signed_part = bytes.first(bytes.size() - kDigestBytes);
  const Sha256Digest digest = sha256(signed_part);
  if (!std::equal(digest.bytes.begin(), digest.bytes.end(), bytes.end() - kDigestBytes)) {
    return Error{ErrorCode::corruption, "a cubin's record does not match its checksum"};
  }
  ByteReader fields(signed_part.subspan(kMagic.size() + sizeof(std::uint16_t)));
  CUBINET_TRY_ASSIGN(CubinRecord record, read_fields(fields));
  if (version >= kFirstVersionWithRow) {
    CUBINET_TRY_ASSIGN(const std::string row, fields.string());
    const ByteView view = as_bytes(row);
    record.row.assign(view.begin(), view.end());
  }
  if (fields.remaining() != 0)
    return Error{ErrorCode::corruption, "a cubin's record has bytes after its end"};
  return record;
}

}  // namespace cubinet
