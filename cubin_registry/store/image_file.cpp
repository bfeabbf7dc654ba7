// SPDX-License-Identifier: Apache-2.0
#include "store/image_file.hpp"

#include <utility>

namespace cubinet {

Error damaged_file(const std::filesystem::path& path, const std::string& reason) {
  return Error{ErrorCode::corruption, "'" + path.string() + "' is damaged: " + reason};
}

Result<std::shared_ptr<const Bytes>> verified_bytes(Result<Bytes> bytes, const std::filesystem::path& path,
                                                    const Sha256Digest& digest) {
  if (!bytes) return std::move(bytes).error();
  if (sha256(*bytes) != digest) return damaged_file(path, "its SHA-256 is another one");
  return std::make_shared<const Bytes>(*std::move(bytes));
}

bool is_no_image(const Error& error) {
  return error.code == ErrorCode::corruption || error.code == ErrorCode::invalid_argument;
}

}  // namespace cubinet
