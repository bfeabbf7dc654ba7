// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/base/sha256.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace cubinet {

// Returns an error (corruption): "'<path>' is damaged: <reason>".
Error damaged_file(const std::filesystem::path& path, const std::string& reason);

// Returns the bytes of a file if their SHA-256 is the digest, else an error (corruption). Returns
// the error of `bytes` if it has one.
Result<std::shared_ptr<const Bytes>> verified_bytes(Result<Bytes> bytes, const std::filesystem::path& path,
                                                    const Sha256Digest& digest);

// Returns true if an error of reading an image's file says that the file holds other bytes, or is
// no file. All other errors say nothing of its content.
bool is_no_image(const Error& error);

}  // namespace cubinet
