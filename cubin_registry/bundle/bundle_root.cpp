// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_root.hpp"

#include <cubinet/base/binary_format.hpp>
#include <cubinet/base/byte_stream.hpp>

#include <string>

namespace cubinet {
namespace {

constexpr BinaryFormat kRootFormat{.name = "the bundle",
                                   .magic = kBundleMagic,
                                   .newest = kBundleVersion,
                                   .oldest = kBundleVersion,
                                   .newer_remedy = "use the version of cubinet that wrote it"};
constexpr std::size_t kDigestBytes = sizeof(Sha256Digest::bytes);
constexpr std::size_t kHeadBytes = 12;  // magic, version, profile, zero, bytes of the root

Error damaged_root(const std::string& reason) {
  return kRootFormat.damaged("is damaged: " + reason);
}

std::uint64_t aligned(std::uint64_t offset) {
  return (offset + kBundleAlignment - 1) / kBundleAlignment * kBundleAlignment;
}

void write_strings(ByteWriter& writer, const std::vector<std::string>& strings) {
  writer.u32(static_cast<std::uint32_t>(strings.size()));
  for (const std::string& string : strings)
    writer.string(string);
}

Result<std::vector<std::string>> read_strings(ByteReader& reader) {
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  std::vector<std::string> strings;
  for (std::uint32_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(std::string string, reader.string());
    if (!strings.empty() && string <= strings.back()) return damaged_root("its lists are not in order");
    strings.push_back(std::move(string));
  }
  return strings;
}

// Reads the branches. They are small: opening a root mostly hashes its bytes.
Result<std::vector<BundlePage>> read_branches(ByteReader& reader) {
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  CUBINET_TRY_ASSIGN(const ByteView list, reader.raw(std::size_t{count} * kPageEntryBytes));
  auto branches = read_pages(list, 0, kMaximumBranchBytes);
  if (!branches) return damaged_root(branches.error().message);
  return branches;
}

// Returns false if the sizes exceed the limit of a bundle.
bool lay_out(BundleMap& map) {
  if (map.dictionary_bytes > kMaximumDictionaryBytes || map.tuning_bytes > kMaximumTuningBytes ||
      map.frames_bytes > kMaximumBundleBytes || map.pages_bytes > kMaximumBundleBytes)
    return false;
  std::uint64_t end = map.root_bytes;
  for (auto& branches : map.branches) {
    for (BundlePage& branch : branches) {
      branch.offset = end;
      end += branch.stored;
    }
  }
  map.pages_offset = end;
  end += map.pages_bytes;
  map.dictionary_offset = end;
  map.tuning_offset = end + map.dictionary_bytes;
  end = aligned(map.tuning_offset + map.tuning_bytes);
  map.frames_offset = end;
  map.root.file_bytes = end + map.frames_bytes;
  return map.root.file_bytes <= kMaximumBundleBytes;
}

Result<void> read_fields(ByteReader& reader, BundleMap& map) {
  BundleOptions& options = map.root.options;
  CUBINET_TRY_ASSIGN(options.channel, reader.string());
  for (std::uint64_t* const number : {&options.version, &options.created, &options.expires, &map.root.records,
                                      &map.root.images, &map.root.image_bytes}) {
    CUBINET_TRY_ASSIGN(*number, reader.u64());
  }
  CUBINET_TRY_ASSIGN(map.root.targets, read_strings(reader));
  CUBINET_TRY_ASSIGN(map.root.toolchain, read_strings(reader));
  for (auto& branches : map.branches) {
    CUBINET_TRY_ASSIGN(branches, read_branches(reader));
  }
  CUBINET_TRY_ASSIGN(map.pages_bytes, reader.u64());
  CUBINET_TRY_ASSIGN(map.dictionary_bytes, reader.u64());
  CUBINET_TRY_ASSIGN(map.dictionary, read_digest(reader));
  CUBINET_TRY_ASSIGN(map.tuning_bytes, reader.u64());
  CUBINET_TRY_ASSIGN(map.tuning, read_digest(reader));
  CUBINET_TRY_ASSIGN(map.frames_bytes, reader.u64());
  if (!lay_out(map)) return damaged_root("its sizes add up to more than a bundle can have");
  return {};
}

// Returns false for the digest of something that has no bytes, unless it is zeros.
bool is_digest_of(const Sha256Digest& digest, std::uint64_t bytes) {
  return bytes != 0 || digest == Sha256Digest();
}

Result<void> check_fields(const BundleMap& map) {
  if (!map.images_fit()) return damaged_root("it states more bytes of images than its frames can hold");
  if (!is_digest_of(map.dictionary, map.dictionary_bytes) || !is_digest_of(map.tuning, map.tuning_bytes))
    return damaged_root("it has the digest of a part without bytes");
  if (map.root.options.profile == BundleProfile::plain && map.dictionary_bytes != 0)
    return damaged_root("it has a dictionary and packs nothing");
  return {};
}

}  // namespace

bool BundleMap::images_fit() const {
  return root.image_bytes <= kAnyImageBytes ||
         (root.image_bytes - kAnyImageBytes) / kMostImageBytesPerFrameByte <= frames_bytes;
}

Bytes encode_root(BundleMap& map) {
  const BundleOptions& options = map.root.options;
  ByteWriter fields;
  fields.string(options.channel);
  for (const std::uint64_t number : {options.version, options.created, options.expires, map.root.records,
                                     map.root.images, map.root.image_bytes})
    fields.u64(number);
  write_strings(fields, map.root.targets);
  write_strings(fields, map.root.toolchain);
  for (const auto& branches : map.branches) {
    fields.u32(static_cast<std::uint32_t>(branches.size()));
    write_pages(fields, branches);
  }
  fields.u64(map.pages_bytes);
  fields.u64(map.dictionary_bytes);
  fields.raw(map.dictionary.bytes);
  fields.u64(map.tuning_bytes);
  fields.raw(map.tuning.bytes);
  fields.u64(map.frames_bytes);

  const std::uint64_t said = kHeadBytes + fields.bytes().size();
  map.root_bytes = aligned(said + kDigestBytes);
  ByteWriter writer;
  kRootFormat.write_head(writer);
  writer.u8(static_cast<std::uint8_t>(options.profile));
  writer.u8(0);
  writer.u32(static_cast<std::uint32_t>(map.root_bytes));
  writer.raw(fields.bytes());
  writer.raw(Bytes(static_cast<std::size_t>(map.root_bytes - kDigestBytes - said)));
  write_checksum(writer);
  // The creator of the bundle reports the exceeded limit.
  if (!lay_out(map)) map.root.file_bytes = kMaximumBundleBytes + 1;
  return writer.take();
}

Result<std::uint64_t> stated_root_bytes(ByteView bytes) {
  if (!kRootFormat.begins(bytes)) return Error{ErrorCode::corruption, "this is no bundle"};
  ByteReader head(bytes);
  CUBINET_TRY(kRootFormat.read_head(head));
  CUBINET_TRY(head.u16());  // profile and zero
  CUBINET_TRY_ASSIGN(const std::uint32_t count, head.u32());
  if (count < kHeadBytes + kDigestBytes || count > kMaximumRootBytes || count % kBundleAlignment != 0)
    return damaged_root("its root has an absurd length");
  return count;
}

Result<std::uint64_t> root_bytes_of(ByteView bytes) {
  CUBINET_TRY_ASSIGN(const std::uint64_t count, stated_root_bytes(bytes));
  if (count > bytes.size()) return damaged_root("it ends within its root");
  return count;
}

Result<BundleMap> decode_root(ByteView bytes) {
  BundleMap map;
  CUBINET_TRY_ASSIGN(map.root_bytes, root_bytes_of(bytes));
  const auto profile = std::to_integer<std::uint8_t>(bytes[kHeadBytes - 6]);
  const auto zero = std::to_integer<std::uint8_t>(bytes[kHeadBytes - 5]);
  const ByteView root = bytes.first(static_cast<std::size_t>(map.root_bytes));
  const ByteView said = root.first(root.size() - kDigestBytes);
  if (as_digest(root.last(kDigestBytes)) != sha256(said))
    return damaged_root("its root does not match its checksum");
  if (zero != 0 || profile > static_cast<std::uint8_t>(BundleProfile::archive)) {
    return Error{ErrorCode::unsupported, "the bundle has a profile that this version does not know",
                 "use the version of cubinet that wrote it"};
  }
  map.root.options.profile = static_cast<BundleProfile>(profile);
  ByteReader reader(said.subspan(kHeadBytes));
  CUBINET_TRY(read_fields(reader, map));
  CUBINET_TRY(check_fields(map));
  CUBINET_TRY_ASSIGN(const ByteView zeros, reader.raw(reader.remaining()));
  if (zeros.size() >= kBundleAlignment) return damaged_root("its root has bytes after its end");
  for (const std::byte value : zeros) {
    if (value != std::byte{0}) return damaged_root("its root has bytes after its end");
  }
  return map;
}

}  // namespace cubinet
