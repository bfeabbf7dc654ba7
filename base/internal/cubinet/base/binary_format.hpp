// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/byte_stream.hpp>
#include <cubinet/base/sha256.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace cubinet {

// A binary format of this project. Every format begins with a magic of four letters and a u16
// version, and stores the SHA-256 of the bytes before the digest. Each format is a constant of this
// type. The code of the format reads and writes its own fields. Immutable and thread-safe.
struct BinaryFormat {
  std::string_view name;  // with its article, as messages begin: "a kernel table"
  std::string_view magic;
  std::uint16_t newest = 1;  // the version that is written
  std::uint16_t oldest = 1;  // no earlier version was ever stored
  std::string_view damage_remedy = {};
  std::string_view newer_remedy = "use the version of cubinet that wrote it";

  // Returns a corruption error: "<name> <reason>".
  Error damaged(std::string_view reason) const;
  // Returns an unsupported error for `version`, when this build knows versions up to `known`.
  Error newer(unsigned version, unsigned known) const;

  // Returns whether the bytes claim to be of this format. Used for files that the user names.
  bool begins(ByteView bytes) const;

  void write_head(ByteWriter& writer) const;
  // Returns the version, which is between oldest and newest. Errors: corruption for another magic
  // or a version that was never stored, unsupported for a newer version.
  Result<std::uint16_t> read_head(ByteReader& reader) const;

  // Reads a digest and compares it with the digest of the bytes that it covers.
  Result<void> read_checksum(ByteReader& reader, ByteView covered) const;

  struct Fields {
    std::uint16_t version = 0;
    ByteReader reader;
  };
  // Returns the fields between the head and the digest after verifying the digest. For formats that
  // end with the digest of all preceding bytes. The bytes must outlive the result.
  Result<Fields> read_checked(ByteView bytes) const;
};

// Appends the digest of all bytes written so far.
void write_checksum(ByteWriter& writer);

Result<Sha256Digest> read_digest(ByteReader& reader);
// Returns nullopt if there are fewer bytes than a digest has.
std::optional<Sha256Digest> as_digest(ByteView bytes);

}  // namespace cubinet
