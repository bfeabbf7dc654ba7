// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/connect.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace cubinet {

// Where files lie by name: below a URL, in a bucket or in a folder, or in several of these that hold the
// same. What is read is named by its digest too, and nothing of another one is a success: what one place
// lacks, has wrong or cannot answer for is taken from the next. Thread-safe.
class FileServer {
 public:
  virtual ~FileServer() = default;

  // As messages name it.
  virtual std::string name() const = 0;
  // `file` is a relative path with '/' between its parts. not_found for what no place has, corruption for
  // other bytes or more than `limit` of them, unavailable and untrusted as HttpClient says them, io of a
  // folder.
  virtual Result<Bytes> read(const std::string& file, const Sha256Digest& digest, std::uint64_t limit) = 0;
};

// Those that references name, in their order; nothing is asked of them yet. invalid_argument for a registry
// of images, which knows no names of files, and as connect() for the rest. REQUIRES: at least one.
Result<std::shared_ptr<FileServer>> connect_files(const std::vector<ServerReference>& references,
                                                  std::shared_ptr<HttpClient> client,
                                                  std::shared_ptr<FileSystem> files,
                                                  const ServerCredentials& credentials,
                                                  std::chrono::milliseconds rest = std::chrono::minutes(1));

}  // namespace cubinet
