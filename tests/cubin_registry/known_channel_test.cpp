// SPDX-License-Identifier: Apache-2.0
#include "local/known_channel.hpp"

#include "support/ok.hpp"

using namespace cubinet;
using test::ok;

namespace {

KnownChannel full_channel() {
  KnownChannel channel{"oci://host/kernels:stable"};
  channel.manifest = sha256(as_bytes("now"));
  channel.before = sha256(as_bytes("before"));
  channel.asked = 1'800'000'000;
  channel.uses = {7, 5, 3, 123'456};
  return channel;
}

}  // namespace

TEST_CASE("what is known of a channel is read as it was written") {
  const KnownChannel channel = full_channel();
  const KnownChannel read = ok(decode_channel(encode_channel(channel)));
  CHECK(read.place == channel.place);
  CHECK(read.manifest == channel.manifest);
  CHECK(read.before == channel.before);
  CHECK_FALSE(read.pinned);
  CHECK(read.asked == channel.asked);
  CHECK(read.uses.bytes == 123'456);
  CHECK(read.uses.used == 3);
}

TEST_CASE("no byte of what is known of a channel can be another, and none can be missing") {
  const Bytes bytes = encode_channel(full_channel());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    Bytes damaged = bytes;
    damaged[i] ^= std::byte{1};
    CHECK_FALSE(decode_channel(damaged).has_value());
    CHECK_FALSE(decode_channel(ByteView(bytes).first(i)).has_value());
  }
}

TEST_CASE("a channel with other flags or with bytes behind its end is damaged, under a right checksum too") {
  KnownChannel channel{"a"};
  channel.manifest = sha256(as_bytes("m"));
  const Bytes sound = encode_channel(channel);
  constexpr std::size_t kChecksum = sizeof(Sha256Digest::bytes);
  const auto sealed = [](Bytes bytes) {
    const Sha256Digest digest = sha256(bytes);
    bytes.insert(bytes.end(), digest.bytes.begin(), digest.bytes.end());
    return bytes;
  };
  Bytes fields(sound.begin(), sound.end() - kChecksum);
  ok(decode_channel(sealed(fields)));
  const std::size_t flag = 4 + 2 + 4 + 1;  // behind magic, version and place
  REQUIRE(fields[flag] == std::byte{1});
  fields[flag] = std::byte{2};
  CHECK(decode_channel(sealed(fields)).error().code == ErrorCode::corruption);
  fields[flag] = std::byte{1};
  fields.push_back(std::byte{0});
  CHECK(decode_channel(sealed(fields)).error().code == ErrorCode::corruption);
}
