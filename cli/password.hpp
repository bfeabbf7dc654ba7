// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/trust/secret_bytes.hpp>
#include <cubinet/trust/secret_key.hpp>

#include <CLI/App.hpp>

#include <optional>
#include <string>

namespace cubinet::cli {

// --password-file FILE: never a word of the line, which every user of the machine can read.
void add_password_file(CLI::App& verb, std::string& file);

// The first line of the file, or of stdin for "-"; nullopt for an empty name. invalid_argument for
// an empty line, and for more than 4096 bytes.
Result<std::optional<SecretBytes>> read_password(FileSystem& files, const std::string& file);

// The secret key of a file, with the password of another one where that is named.
Result<SecretKey> read_secret_key(FileSystem& files, const std::string& file,
                                  const std::string& password_file);

}  // namespace cubinet::cli
