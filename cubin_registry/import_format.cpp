// SPDX-License-Identifier: Apache-2.0
#include "import_format.hpp"

#include <cubinet/base/binary_format.hpp>
#include <cubinet/kernel_table/table_codec.hpp>

#include <algorithm>
#include <unordered_set>

namespace cubinet {
namespace {

constexpr BinaryFormat kImportFormat{
    .name = "an import",
    .magic = "CIMP",
    .newest = kImportVersion,
    .damage_remedy = "import its folder again",
    .newer_remedy = "use the version of cubinet that wrote it, or import its folder again"};
// Far above any folder: a damaged count must not make us allocate.
constexpr std::uint32_t kMaximumItems = 10'000'000;

Error refused(const std::string& reason) {
  return Error{ErrorCode::invalid_argument, "an import cannot be kept: " + reason};
}

// Below the folder, whatever the name says.
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

struct DigestHash {
  std::size_t operator()(const Sha256Digest& digest) const {
    std::size_t value = 0;
    for (std::size_t i = 0; i < sizeof(value); ++i)
      value = (value << 8U) | std::to_integer<std::size_t>(digest.bytes[i]);
    return value;
  }
};

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

Result<void> check_kernels(const ArtifactImport& import) {
  std::unordered_set<Sha256Digest, DigestHash> there;
  there.reserve(import.files.size());
  for (const ArtifactFile& file : import.files)
    there.insert(file.digest);
  for (const KernelRow& row : import.rows) {
    CUBINET_TRY(check_ranges(row));
    if (row.function_name.empty() || !there.contains(row.digest)) {
      return refused("the cubin of the kernel '" + row.function_name + "' is not among its files");
    }
  }
  for (const PlainKernel& kernel : import.plain) {
    CUBINET_TRY(check_target(kernel.target));
    if (kernel.function_name.empty() || !there.contains(kernel.digest)) {
      return refused("the cubin of the kernel '" + kernel.function_name + "' is not among its files");
    }
  }
  return {};
}

Bytes encode_body(ByteView table, const ArtifactImport& import) {
  ByteWriter writer;
  writer.string(as_text(table));
  writer.u32(static_cast<std::uint32_t>(import.plain.size()));
  for (const PlainKernel& kernel : import.plain) {
    writer.string(kernel.function_name);
    writer.u32(kernel.shared_bytes);
    writer.u32(kernel.threads);
    writer.u16(kernel.target.major);
    writer.u16(kernel.target.minor);
    writer.u8(static_cast<std::uint8_t>(kernel.target.kind));
    writer.raw(kernel.digest.bytes);
  }
  writer.u32(static_cast<std::uint32_t>(import.files.size()));
  for (const ArtifactFile& file : import.files) {
    writer.string(file.name);
    writer.raw(file.digest.bytes);
    writer.u64(file.size);
  }
  return writer.take();
}

std::uint64_t bytes_of(const std::vector<ArtifactFile>& files) {
  std::uint64_t bytes = 0;
  for (const ArtifactFile& file : files)
    bytes += file.size;
  return bytes;
}

struct Head {
  ArtifactSummary summary;
  ByteView body;
};

Result<Head> read_content(ByteView content, ByteView body) {
  ByteReader reader(content);
  Head head;
  CUBINET_TRY_ASSIGN(std::string folder, reader.string());
  head.summary.folder = std::move(folder);
  CUBINET_TRY_ASSIGN(const std::uint8_t placement, reader.u8());
  if (placement > static_cast<std::uint8_t>(ArtifactPlacement::copied))
    return kImportFormat.damaged("is of an unknown placement");
  head.summary.placement = static_cast<ArtifactPlacement>(placement);
  CUBINET_TRY_ASSIGN(head.summary.rows, reader.u64());
  CUBINET_TRY_ASSIGN(head.summary.plain, reader.u64());
  CUBINET_TRY_ASSIGN(head.summary.files, reader.u64());
  CUBINET_TRY_ASSIGN(head.summary.bytes, reader.u64());
  CUBINET_TRY_ASSIGN(const std::uint64_t body_bytes, reader.u64());
  CUBINET_TRY_ASSIGN(const Sha256Digest digest, read_digest(reader));
  if (reader.remaining() != 0) return kImportFormat.damaged("has a head that is too long");
  if (body_bytes != body.size() || digest != sha256(body))
    return kImportFormat.damaged("does not match its checksum");
  head.body = body;
  return head;
}

Result<Head> read_head(ByteView bytes, std::uint64_t number) {
  ByteReader reader(bytes);
  CUBINET_TRY(kImportFormat.read_head(reader));
  CUBINET_TRY_ASSIGN(const std::uint32_t content_bytes, reader.u32());
  CUBINET_TRY_ASSIGN(const ByteView content, reader.raw(content_bytes));
  const ByteView covered = bytes.first(bytes.size() - reader.remaining());
  CUBINET_TRY(kImportFormat.read_checksum(reader, covered));
  CUBINET_TRY_ASSIGN(Head head, read_content(content, bytes.last(reader.remaining())));
  head.summary.number = number;
  return head;
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

Result<void> read_body(ByteView body, ArtifactImport& import) {
  ByteReader reader(body);
  CUBINET_TRY_ASSIGN(const std::uint32_t table_bytes, reader.u32());
  CUBINET_TRY_ASSIGN(const ByteView table, reader.raw(table_bytes));
  auto rows = decode_table(table);
  if (!rows && rows.error().code == ErrorCode::unsupported) return std::move(rows).error();
  if (!rows) return kImportFormat.damaged("holds a table that is none: " + rows.error().message);
  import.rows = *std::move(rows);
  CUBINET_TRY_ASSIGN(const std::uint32_t plain, reader.u32());
  if (plain > kMaximumItems) return kImportFormat.damaged("has too many kernels");
  for (std::uint32_t i = 0; i < plain; ++i) {
    CUBINET_TRY_ASSIGN(import.plain.emplace_back(), read_plain(reader));
  }
  CUBINET_TRY_ASSIGN(const std::uint32_t files, reader.u32());
  if (files > kMaximumItems) return kImportFormat.damaged("has too many files");
  for (std::uint32_t i = 0; i < files; ++i) {
    CUBINET_TRY_ASSIGN(import.files.emplace_back(), read_file(reader));
  }
  if (reader.remaining() != 0) return kImportFormat.damaged("has bytes after its end");
  return {};
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
  const std::string& folder = import.folder.native();
  if (!import.folder.is_absolute() || folder.find('\0') != std::string::npos) {
    return refused("'" + folder + "' is no absolute path");
  }
  if (import.placement > ArtifactPlacement::copied) return refused("its placement is unknown");
  if (std::max(import.plain.size(), import.files.size()) > kMaximumItems) return refused("it is too large");
  CUBINET_TRY(check_files(import.files));
  return check_kernels(import);
}

Result<Bytes> encode_import(const ArtifactImport& import) {
  std::vector<KernelRow> rows = import.rows;
  for (KernelRow& row : rows)
    row.provenance = RowProvenance{};
  CUBINET_TRY_ASSIGN(const Bytes table, encode_table(rows));
  if (table.size() > kMaximumImportBytes) return refused("its table is too large");
  const Bytes body = encode_body(table, import);
  ByteWriter content;
  content.string(import.folder.native());
  content.u8(static_cast<std::uint8_t>(import.placement));
  content.u64(import.rows.size());
  content.u64(import.plain.size());
  content.u64(import.files.size());
  content.u64(bytes_of(import.files));
  content.u64(body.size());
  content.raw(sha256(body).bytes);
  ByteWriter writer;
  kImportFormat.write_head(writer);
  writer.string(as_text(content.bytes()));
  write_checksum(writer);
  writer.raw(body);
  if (writer.bytes().size() > kMaximumImportBytes) return refused("it is too large");
  return writer.take();
}

Result<ArtifactImport> decode_import(ByteView bytes, std::uint64_t number) {
  CUBINET_TRY_ASSIGN(Head head, read_head(bytes, number));
  ArtifactImport import;
  import.folder = std::move(head.summary.folder);
  import.placement = head.summary.placement;
  CUBINET_TRY(read_body(head.body, import));
  const ArtifactSummary& summary = head.summary;
  if (summary.rows != import.rows.size() || summary.plain != import.plain.size() ||
      summary.files != import.files.size() || summary.bytes != bytes_of(import.files)) {
    return kImportFormat.damaged("holds another number of kernels than its head says");
  }
  if (auto checked = check_import(import); !checked)
    return kImportFormat.damaged("is not sound: " + checked.error().message);
  for (KernelRow& row : import.rows)
    row.provenance = {RowOrigin::imported, false, number, import.folder.native(), {}};
  return import;
}

Result<ArtifactSummary> decode_import_summary(ByteView bytes, std::uint64_t number) {
  CUBINET_TRY_ASSIGN(Head head, read_head(bytes, number));
  return std::move(head.summary);
}

}  // namespace cubinet
