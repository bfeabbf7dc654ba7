// SPDX-License-Identifier: Apache-2.0
#include "local/known_channel.hpp"

#include <cubinet/base/binary_format.hpp>

namespace cubinet {
namespace {

constexpr BinaryFormat kChannelFormat{"what is known of a channel", "CCHN"};

void write_optional(ByteWriter& writer, const std::optional<Sha256Digest>& digest) {
  writer.u8(digest ? 1 : 0);
  if (digest) writer.raw(digest->bytes);
}

Result<std::optional<Sha256Digest>> read_optional(ByteReader& reader) {
  CUBINET_TRY_ASSIGN(const std::uint8_t there, reader.u8());
  if (there == 0) return std::optional<Sha256Digest>();
  if (there != 1) return kChannelFormat.damaged("has a flag that is neither 0 nor 1");
  CUBINET_TRY_ASSIGN(const Sha256Digest digest, read_digest(reader));
  return std::optional(digest);
}

}  // namespace

Bytes encode_channel(const KnownChannel& channel) {
  ByteWriter writer;
  kChannelFormat.write_head(writer);
  writer.string(channel.place);
  for (const auto* digest : {&channel.manifest, &channel.before, &channel.pinned})
    write_optional(writer, *digest);
  writer.i64(channel.asked);
  for (const std::uint64_t count :
       {channel.uses.asked, channel.uses.found, channel.uses.used, channel.uses.bytes})
    writer.u64(count);
  write_checksum(writer);
  return writer.take();
}

Result<KnownChannel> decode_channel(ByteView bytes) {
  CUBINET_TRY_ASSIGN(auto fields, kChannelFormat.read_checked(bytes));
  ByteReader& reader = fields.reader;
  KnownChannel channel;
  CUBINET_TRY_ASSIGN(channel.place, reader.string());
  for (auto* digest : {&channel.manifest, &channel.before, &channel.pinned}) {
    CUBINET_TRY_ASSIGN(*digest, read_optional(reader));
  }
  CUBINET_TRY_ASSIGN(channel.asked, reader.i64());
  for (std::uint64_t* count :
       {&channel.uses.asked, &channel.uses.found, &channel.uses.used, &channel.uses.bytes}) {
    CUBINET_TRY_ASSIGN(*count, reader.u64());
  }
  if (reader.remaining() != 0) return kChannelFormat.damaged("has bytes after its end");
  return channel;
}

}  // namespace cubinet
