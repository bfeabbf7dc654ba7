// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file_store.hpp"

#include <cubinet/cubin_registry/artifact_store.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace cubinet {

// Of a signed 64-bit column.
inline constexpr std::uint64_t kMaximumImportNumber = std::numeric_limits<std::int64_t>::max();

// Which file an import is: enough to see that the index was made from another one.
struct ImportStamp {
  std::uint64_t number = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;

  friend auto operator<=>(const ImportStamp&, const ImportStamp&) = default;
};

struct StoredImport {
  ImportStamp stamp;
  ArtifactImport content;
};

// The truth of imported folders: imports/ and artifacts/ of a home. Holds no state of its own: whoever calls
// holds the StoreLock that the call needs.
class ImportFiles {
 public:
  explicit ImportFiles(FileStore& store) : store_(store) {}

  // Of every file in imports/ that has an import's name, ascending by number.
  Result<std::vector<ImportStamp>> stamps() const;
  // A whole import; not_found, corruption, untrusted, unsupported or io otherwise.
  Result<StoredImport> read(const ImportStamp& stamp) const;
  Result<ArtifactSummary> read_summary(const ImportStamp& stamp) const;
  // Every import in force, ascending by number, until `visit` fails: of one folder the highest number, where
  // a publish was ended before it removed the one that it replaces. What cannot be read is handed over as its
  // error.
  using Visitor = std::function<Result<void>(const ImportStamp& stamp, Result<StoredImport> import)>;
  Result<void> for_each(const Visitor& visit) const;
  struct SummaryOrError {
    ImportStamp stamp;
    Result<ArtifactSummary> summary;
  };
  // The same as summaries.
  Result<std::vector<SummaryOrError>> in_force() const;
  // Those that are not in force included.
  Result<std::vector<SummaryOrError>> summaries() const;
  // The file's bytes are these.
  bool holds(const ImportStamp& stamp, ByteView encoded) const;

  // Durable when it returns.
  Result<ImportStamp> write(std::uint64_t number, ByteView encoded);
  Result<bool> remove(std::uint64_t number);

  // Bytes of an image in artifacts/, which may have other names and another owner: its digest decides.
  // Refused unread when it has more than `size` bytes.
  Result<std::shared_ptr<const Bytes>> read_image(const Sha256Digest& digest, std::uint64_t size) const;
  // Bytes of a file of a folder that is used in place.
  Result<std::shared_ptr<const Bytes>> read_in_place(const std::filesystem::path& folder,
                                                     const ArtifactFile& file) const;
  // Links or copies `from` to the image's place; durable when it returns. corruption when its bytes are not
  // the digest's.
  Result<void> bring(const std::filesystem::path& from, const Sha256Digest& digest, ArtifactPlacement how);

 private:
  Result<void> make_folder(const std::filesystem::path& folder);
  Result<bool> try_link(const std::filesystem::path& from, const std::filesystem::path& to,
                        const Sha256Digest& digest);

  FileStore& store_;
};

// The kernels of one import, rows included, that have this name.
std::vector<PlainKernel> named_kernels(const ArtifactImport& import, std::string_view function_name);

}  // namespace cubinet
