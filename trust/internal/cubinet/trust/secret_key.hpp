// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/trust/public_key.hpp>
#include <cubinet/trust/secret_bytes.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace cubinet {

// What deriving a key from a password costs, as libsodium states it and minisign writes it down.
struct PasswordCost {
  std::uint64_t operations = std::uint64_t{1} << 25U;
  std::uint64_t memory = std::uint64_t{1} << 30U;  // bytes
};

// An Ed25519 secret key, as minisign keeps it. Overwritten when it is destroyed.
class SecretKey {
 public:
  static Result<SecretKey> generate();
  // The text of a secret key's file. invalid_argument: no such text, or encrypted and no password given;
  // untrusted: the password is not that of the file, or the file is damaged (nobody can tell which);
  // unsupported: deriving its key would take more than 1 GiB.
  static Result<SecretKey> parse(std::string_view text, const SecretBytes* password);

  // The text, encrypted where there is a password.
  Result<SecretBytes> to_file(const SecretBytes* password, const PasswordCost& cost = {}) const;

  const PublicKey& public_key() const { return public_key_; }
  ByteView seed() const { return seed_.view(); }

 private:
  SecretKey(PublicKey public_key, SecretBytes seed)
      : public_key_(std::move(public_key)), seed_(std::move(seed)) {}

  PublicKey public_key_;
  SecretBytes seed_;
};

// untrusted for a file that is not the calling user's (or root's) or that group or others may read, as ssh
// does.
Result<SecretKey> read_secret_key(FileSystem& files, const std::filesystem::path& path,
                                  const SecretBytes* password);
// A new file of mode 0600; io where something has that name.
Result<void> write_secret_file(const std::filesystem::path& path, const SecretBytes& text);

}  // namespace cubinet
