// SPDX-License-Identifier: Apache-2.0
#include "http_place.hpp"
#include "mirror_order.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/distribution/file_server.hpp>

#include <variant>

namespace cubinet {
namespace {

struct FilesOfFolder {
  std::shared_ptr<FileSystem> files;
  std::filesystem::path folder;

  std::string name() const { return folder.string(); }
  Result<Bytes> read(const std::string& file, std::uint64_t limit) const {
    auto bytes = files->read(folder / file, limit);
    if (bytes || bytes.error().code != ErrorCode::invalid_argument) return bytes;
    // The name is not a regular file, or the file is larger than any valid one.
    Error error = std::move(bytes).error();
    error.code = ErrorCode::corruption;
    return error;
  }
};

struct FilesOfServer {
  std::shared_ptr<HttpClient> client;
  HttpPlace place;

  std::string name() const { return place.base.for_people(); }
  Result<Bytes> read(const std::string& file, std::uint64_t limit) const {
    HttpRequest request{HttpMethod::get, place.base.below(percent_encode(file, Slashes::stay))};
    MemorySink sink;
    request.limit = limit;
    request.sink = &sink;
    request.authorizer = place.authorizer.get();
    CUBINET_TRY_ASSIGN(const HttpResponse response, client->send(request));
    if (response.succeeded()) return std::move(sink.bytes);
    return refusal_error("'" + file + "' cannot be read", response);
  }
};

using FilePlace = std::variant<FilesOfFolder, FilesOfServer>;

std::string name_of(const FilePlace& place) {
  return std::visit([](const auto& files) { return files.name(); }, place);
}

class FileServers final : public FileServer {
 public:
  FileServers(std::vector<FilePlace> places, std::chrono::milliseconds rest)
      : places_(std::move(places)), order_(places_.size(), rest) {}

  std::string name() const override { return name_of(places_.front()); }

  Result<Bytes> read(const std::string& file, const Sha256Digest& digest, std::uint64_t limit) override {
    Bytes bytes;
    CUBINET_TRY(order_.first_of([&](std::size_t number, bool) -> Result<void> {
      const FilePlace& place = places_[number];
      CUBINET_TRY_ASSIGN(bytes,
                         std::visit([&](const auto& files) { return files.read(file, limit); }, place));
      const Sha256Digest found = sha256(bytes);
      if (found == digest) return {};
      return Error{ErrorCode::corruption,
                   "'" + file + "' of " + name_of(place) + " has " + plural(bytes.size(), "byte") +
                       " with the SHA-256 " + found.to_hex() + " instead of " + digest.to_hex(),
                   "take it from another mirror; is it the right address?"};
    }));
    return bytes;
  }

 private:
  std::vector<FilePlace> places_;
  MirrorOrder order_;
};

}  // namespace

Result<std::shared_ptr<FileServer>> connect_files(const std::vector<ServerReference>& references,
                                                  std::shared_ptr<HttpClient> client,
                                                  std::shared_ptr<FileSystem> files,
                                                  const ServerCredentials& credentials,
                                                  std::chrono::milliseconds rest) {
  std::vector<FilePlace> places;
  for (const ServerReference& reference : references) {
    if (reference.layout == ServerReference::Layout::oci)
      return Error{ErrorCode::invalid_argument,
                   reference.to_string() + " is a registry of images, which has no files by name",
                   "name a server of files: https://host/folder, s3://bucket/prefix or a folder"};
    if (reference.layout == ServerReference::Layout::folder) {
      places.push_back(FilesOfFolder{files, reference.path});
      continue;
    }
    CUBINET_TRY_ASSIGN(HttpPlace place, http_place(reference, files, credentials));
    places.push_back(FilesOfServer{client, std::move(place)});
  }
  return std::shared_ptr<FileServer>(std::make_shared<FileServers>(std::move(places), rest));
}

}  // namespace cubinet
