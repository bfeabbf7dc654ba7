// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/trust/secret_bytes.hpp>
#include <cubinet/trust/secret_key.hpp>

#include <optional>
#include <string>

namespace cubinet {

// Returns the first line of the file, or of stdin for "-"; nullopt for an empty name. Returns
// invalid_argument for an empty line and for more than 4096 bytes.
Result<std::optional<SecretBytes>> read_password(FileSystem& files, const std::string& file);

// Reads the secret key of a file. The password is in `password_file`, if that is not empty.
Result<SecretKey> read_secret_key(FileSystem& files, const std::string& file,
                                  const std::string& password_file);

}  // namespace cubinet
