// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/connect.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace cubinet {

// A server of files by name: below a URL, in a bucket or in a folder, or several of these with the
// same content. Every file is read with its digest, and other bytes are an error. If one server
// lacks a file, has a wrong one or does not answer, the next is tried. Thread-safe.
class FileServer {
 public:
  virtual ~FileServer() = default;

  // Returns the name for messages.
  virtual std::string name() const = 0;
  // Reads a file. `file` is a relative path with '/' between its parts. Returns not_found if no
  // server has it, corruption for other bytes or more than `limit` of them, unavailable and
  // untrusted from HttpClient, io of a folder.
  virtual Result<Bytes> read(const std::string& file, const Sha256Digest& digest, std::uint64_t limit) = 0;
};

// Returns the servers that references name, in their order, without contacting them. Returns
// invalid_argument for a registry of images, which has no file names, or an error of connect().
// REQUIRES: at least one.
Result<std::shared_ptr<FileServer>> connect_files(const std::vector<ServerReference>& references,
                                                  std::shared_ptr<HttpClient> client,
                                                  std::shared_ptr<FileSystem> files,
                                                  const ServerCredentials& credentials,
                                                  std::chrono::milliseconds rest = std::chrono::minutes(1));

}  // namespace cubinet
