// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/binary_format.hpp>
#include <cubinet/base/byte_stream.hpp>
#include <cubinet/spec/cubin.hpp>

#include <charconv>

namespace cubinet {
namespace {

constexpr BinaryFormat kRecordFormat{
    .name = "a cubin's record", .magic = "CREC", .newest = kRecordVersion, .oldest = kRecordVersion};

enum EntryFlags : std::uint8_t { kProgrammaticLaunch = 1, kCooperative = 2 };

void write_entry_point(ByteWriter& writer, const EntryPoint& entry) {
  writer.string(entry.name);
  writer.string(entry.symbol);
  for (const std::uint32_t dimension : entry.block())
    writer.u32(dimension);
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
  for (std::uint32_t* const dimension : {&entry.threads, &entry.threads_y, &entry.threads_z}) {
    CUBINET_TRY_ASSIGN(*dimension, reader.u32());
  }
  CUBINET_TRY_ASSIGN(entry.dynamic_shared_bytes, reader.u32());
  CUBINET_TRY_ASSIGN(entry.parameter_bytes, reader.u32());
  for (std::uint32_t& dimension : entry.cluster) {
    CUBINET_TRY_ASSIGN(dimension, reader.u32());
  }
  CUBINET_TRY_ASSIGN(const std::uint8_t flags, reader.u8());
  if ((flags & ~(kProgrammaticLaunch | kCooperative)) != 0) {
    return kRecordFormat.damaged("holds unknown launch flags");
  }
  entry.programmatic_launch = (flags & kProgrammaticLaunch) != 0;
  entry.cooperative = (flags & kCooperative) != 0;
  return entry;
}

Result<void> read_globals(ByteReader& reader, CubinRecord& record) {
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  if (count > kMaximumImageGlobals) return kRecordFormat.damaged("has too many globals");
  for (std::uint32_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(std::string name, reader.string());
    CUBINET_TRY_ASSIGN(std::string symbol, reader.string());
    if (!record.globals.empty() && name <= record.globals.rbegin()->first)
      return kRecordFormat.damaged("has globals out of order");
    record.globals.emplace_hint(record.globals.end(), std::move(name), std::move(symbol));
  }
  return {};
}

Result<CubinRecord> read_fields(ByteReader& reader) {
  CubinRecord record;
  CUBINET_TRY_ASSIGN(const ByteView encoding, reader.blob());
  CUBINET_TRY_ASSIGN(record.identity, identity_from_encoding(Bytes(encoding.begin(), encoding.end())));
  record.target = record.identity.target();
  CUBINET_TRY_ASSIGN(record.fingerprint.digest, read_digest(reader));
  CUBINET_TRY_ASSIGN(record.digest, read_digest(reader));
  CUBINET_TRY_ASSIGN(record.size, reader.u64());
  if (record.size > kMaximumImageBytes) return kRecordFormat.damaged("is of an image of more than 64 MiB");
  CUBINET_TRY_ASSIGN(record.interface_version, reader.u32());
  CUBINET_TRY_ASSIGN(record.template_text, read_digest(reader));
  CUBINET_TRY_ASSIGN(const std::uint8_t kind, reader.u8());
  if (kind > static_cast<std::uint8_t>(ImageKind::cache_entry)) {
    return kRecordFormat.damaged("holds an unknown kind of image");
  }
  record.kind = static_cast<ImageKind>(kind);
  CUBINET_TRY_ASSIGN(const std::uint8_t origin, reader.u8());
  if (origin > static_cast<std::uint8_t>(CubinOrigin::imported)) {
    return kRecordFormat.damaged("holds an unknown origin");
  }
  record.origin = static_cast<CubinOrigin>(origin);
  CUBINET_TRY_ASSIGN(record.version, reader.u64());
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  if (count > kMaximumImageKernels) return kRecordFormat.damaged("has too many functions");
  for (std::uint32_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(record.entry_points.emplace_back(), read_entry_point(reader));
  }
  CUBINET_TRY_ASSIGN(record.compiler, reader.string());
  CUBINET_TRY_ASSIGN(record.options, reader.string());
  CUBINET_TRY_ASSIGN(record.warnings, reader.string());
  CUBINET_TRY_ASSIGN(const ByteView row, reader.blob());
  record.row.assign(row.begin(), row.end());
  CUBINET_TRY(read_globals(reader, record));
  return record;
}

}  // namespace

std::string_view to_string(CubinOrigin origin) {
  switch (origin) {
    case CubinOrigin::compiled:
      return "compiled";
    case CubinOrigin::bundle:
      return "bundle";
    case CubinOrigin::imported:
      return "imported";
  }
  return "compiled";
}

std::uint64_t EntryPoint::threads_of_block() const {
  const std::uint64_t plane = std::uint64_t{threads} * threads_y;
  std::uint64_t all = 0;
  return __builtin_mul_overflow(plane, threads_z, &all) ? UINT64_MAX : all;
}

std::string EntryPoint::cpp_name() const {
  // Itanium C++ ABI, "Mangling": _Z <source-name> <types> or _ZN <source-name>... E <types>, where
  // a source name is its length and its characters. Anything else is a template, an operator or no
  // function.
  std::string_view rest = symbol;
  if (name != symbol || !rest.starts_with("_Z")) return name;
  rest.remove_prefix(2);
  const bool nested = rest.starts_with('N');
  if (nested) rest.remove_prefix(1);
  std::string qualified;
  do {
    std::size_t length = 0;
    const char* const end = rest.data() + rest.size();
    const auto [digits_end, failure] = std::from_chars(rest.data(), end, length);
    const auto available = static_cast<std::size_t>(end - digits_end);
    if (failure != std::errc() || length == 0 || length >= available) return name;
    if (!qualified.empty()) qualified += "::";
    qualified.append(digits_end, length);
    rest.remove_prefix(static_cast<std::size_t>(digits_end - rest.data()) + length);
  } while (nested && !rest.starts_with('E'));
  if (nested) rest.remove_prefix(1);
  // Template arguments and ABI tags follow the name.
  return rest.empty() || rest.starts_with('I') || rest.starts_with('B') ? name : qualified;
}

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
  kRecordFormat.write_head(writer);
  writer.string(as_text(record.identity.encoding()));
  writer.raw(record.fingerprint.digest.bytes);
  writer.raw(record.digest.bytes);
  writer.u64(record.size);
  writer.u32(record.interface_version);
  writer.raw(record.template_text.bytes);
  writer.u8(static_cast<std::uint8_t>(record.kind));
  writer.u8(static_cast<std::uint8_t>(record.origin));
  writer.u64(record.version);
  writer.u32(static_cast<std::uint32_t>(record.entry_points.size()));
  for (const EntryPoint& entry : record.entry_points)
    write_entry_point(writer, entry);
  writer.string(record.compiler);
  writer.string(record.options);
  writer.string(record.warnings);
  writer.string(as_text(record.row));
  writer.u32(static_cast<std::uint32_t>(record.globals.size()));
  for (const auto& [name, symbol] : record.globals) {
    writer.string(name);
    writer.string(symbol);
  }
  write_checksum(writer);
  return writer.take();
}

Result<CubinRecord> decode_record(ByteView bytes) {
  if (bytes.size() > kMaximumRecordBytes) return kRecordFormat.damaged("has more than 16 MiB");
  CUBINET_TRY_ASSIGN(auto fields, kRecordFormat.read_checked(bytes));
  CUBINET_TRY_ASSIGN(CubinRecord record, read_fields(fields.reader));
  if (fields.reader.remaining() != 0) return kRecordFormat.damaged("has bytes after its end");
  return record;
}

Result<void> check_storable(const CubinRecord& record) {
  if (auto read = decode_record(encode_record(record)); !read) {
    return Error{ErrorCode::invalid_argument,
                 "the record of kernel " + record.identity.key().to_string() +
                     " cannot be kept: " + std::move(read).error().message,
                 "make fewer kernels of one source, or a smaller image"};
  }
  return {};
}

}  // namespace cubinet
