// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/trust/public_key.hpp>
#include <cubinet/trust/secret_bytes.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace cubinet {

// The cost of deriving a key from a password, in libsodium's terms, as minisign stores it.
struct PasswordCost {
  std::uint64_t operations = std::uint64_t{1} << 25U;
  std::uint64_t memory = std::uint64_t{1} << 30U;  // bytes
};

// An Ed25519 secret key in minisign's format. It is overwritten when it is destroyed.
class SecretKey {
 public:
  static Result<SecretKey> generate();
  // Parses the text of a secret key's file. Errors: invalid_argument if the text is malformed, or
  // encrypted and no password is given; untrusted if the password is wrong or the file is damaged
  // (the two cannot be distinguished); unsupported if deriving its key would take more than 1 GiB.
  static Result<SecretKey> parse(std::string_view text, const SecretBytes* password);

  // Returns the text of the key's file, encrypted if there is a password.
  Result<SecretBytes> to_file(const SecretBytes* password, const PasswordCost& cost = {}) const;

  const PublicKey& public_key() const { return public_key_; }
  ByteView seed() const { return seed_.view(); }

 private:
  SecretKey(PublicKey public_key, SecretBytes seed)
      : public_key_(std::move(public_key)), seed_(std::move(seed)) {}

  PublicKey public_key_;
  SecretBytes seed_;
};

// Reads a secret key. Returns untrusted for a file that does not belong to the calling user or
// root, or that group or others may read, as ssh does.
Result<SecretKey> read_secret_key(FileSystem& files, const std::filesystem::path& path,
                                  const SecretBytes* password);
// Creates a file of mode 0600. Returns io if the name exists.
Result<void> write_secret_file(const std::filesystem::path& path, const SecretBytes& text);

}  // namespace cubinet
