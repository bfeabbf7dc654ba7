// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/binary_format.hpp>
#include <cubinet/base/byte_stream.hpp>

#include <algorithm>
#include <string>

namespace cubinet {

Error BinaryFormat::damaged(std::string_view reason) const {
  return Error{ErrorCode::corruption, std::string(name) + " " + std::string(reason),
               std::string(damage_remedy)};
}

Error BinaryFormat::newer(unsigned version, unsigned known) const {
  return Error{ErrorCode::unsupported,
               std::string(name) + " has version " + std::to_string(version) + ", this build knows up to " +
                   std::to_string(known),
               std::string(newer_remedy)};
}

bool BinaryFormat::begins(ByteView bytes) const {
  return as_text(bytes).starts_with(magic);
}

void BinaryFormat::write_head(ByteWriter& writer) const {
  writer.raw(as_bytes(magic));
  writer.u16(newest);
}

Result<std::uint16_t> BinaryFormat::read_head(ByteReader& reader) const {
  CUBINET_TRY_ASSIGN(const ByteView there, reader.raw(magic.size()));
  if (as_text(there) != magic) return damaged("has another magic");
  CUBINET_TRY_ASSIGN(const std::uint16_t version, reader.u16());
  if (version > newest) return newer(version, newest);
  if (version < oldest) return damaged("has version " + std::to_string(version) + ", which was never stored");
  return version;
}

Result<void> BinaryFormat::read_checksum(ByteReader& reader, ByteView covered) const {
  CUBINET_TRY_ASSIGN(const Sha256Digest digest, read_digest(reader));
  if (digest != sha256(covered)) return damaged("does not match its checksum");
  return {};
}

Result<BinaryFormat::Fields> BinaryFormat::read_checked(ByteView bytes) const {
  ByteReader reader(bytes);
  CUBINET_TRY_ASSIGN(const std::uint16_t version, read_head(reader));
  constexpr std::size_t kDigestBytes = sizeof(Sha256Digest::bytes);
  if (reader.remaining() < kDigestBytes) return damaged("ends early");
  CUBINET_TRY_ASSIGN(const ByteView fields, reader.raw(reader.remaining() - kDigestBytes));
  CUBINET_TRY(read_checksum(reader, bytes.first(bytes.size() - kDigestBytes)));
  return Fields{version, ByteReader(fields)};
}

void write_checksum(ByteWriter& writer) {
  writer.raw(sha256(writer.bytes()).bytes);
}

Result<Sha256Digest> read_digest(ByteReader& reader) {
  Sha256Digest digest;
  CUBINET_TRY_ASSIGN(const ByteView view, reader.raw(digest.bytes.size()));
  std::copy(view.begin(), view.end(), digest.bytes.begin());
  return digest;
}

std::optional<Sha256Digest> as_digest(ByteView bytes) {
  Sha256Digest digest;
  if (bytes.size() != digest.bytes.size()) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
  return digest;
}

}  // namespace cubinet
