// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/byte_stream.hpp>
#include <cubinet/base/sha256.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace cubinet {

// What every binary format of this project has in common: it begins with a magic of four letters and a u16
// version, and what it says is covered by a SHA-256 of the bytes before it. A format is a constant of this
// type; its own fields are read and written beside it. Immutable, so any thread may use it.
struct BinaryFormat {
  std::string_view name;  // with its article, as a message begins: "a kernel table"
  std::string_view magic;
  std::uint16_t newest = 1;  // the version that is written
  std::uint16_t oldest = 1;  // no version below it was ever stored
  std::string_view damage_remedy = {};
  std::string_view newer_remedy = "use the version of cubinet that wrote it";

  // corruption: "<name> <reason>".
  Error damaged(std::string_view reason) const;
  // unsupported: of `version`, where this build knows up to `known`.
  Error newer(unsigned version, unsigned known) const;

  // Whether the bytes claim to be of this format: for a file that somebody named.
  bool begins(ByteView bytes) const;

  void write_head(ByteWriter& writer) const;
  // The version, which is from oldest to newest. corruption: another magic, or a version that was never
  // stored; unsupported: a newer one.
  Result<std::uint16_t> read_head(ByteReader& reader) const;

  // Reads a digest, and compares it with that of the bytes it covers.
  Result<void> read_checksum(ByteReader& reader, ByteView covered) const;

  struct Fields {
    std::uint16_t version = 0;
    ByteReader reader;
  };
  // For a format that ends with the digest of all before: what lies between the head and the digest, once
  // that is right. The bytes must outlive the result.
  Result<Fields> read_checked(ByteView bytes) const;
};

// Appends the digest of all that was written so far.
void write_checksum(ByteWriter& writer);

Result<Sha256Digest> read_digest(ByteReader& reader);
// nullopt where there are not as many bytes as a digest has.
std::optional<Sha256Digest> as_digest(ByteView bytes);

}  // namespace cubinet
