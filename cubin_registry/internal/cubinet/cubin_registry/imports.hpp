// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/kernel_table/plain_kernel.hpp>
#include <cubinet/spec/cubin_elf.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// The storage of an imported folder's files. Stored: DO NOT RENUMBER.
enum class ArtifactPlacement : std::uint8_t { in_place = 0, linked = 1, copied = 2 };
std::string_view to_string(ArtifactPlacement placement);  // "in_place", "linked", "copied"

struct ImportSummary {
  // The number that it is pinned under. The import with the highest number serves a kernel.
  std::uint64_t number = 0;
  std::string folder;
  std::string pin;
  std::string version;
  ArtifactPlacement placement = ArtifactPlacement::in_place;
  std::uint64_t rows = 0;
  std::uint64_t plain = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  // of the files
  // If true, it is used in place and its folder is missing, so it has no builds.
  bool gone = false;

  friend bool operator==(const ImportSummary&, const ImportSummary&) = default;
};

// A cubin of an imported folder.
struct ArtifactFile {
  std::string name;  // relative to the folder, with '/' between folders and no "." or ".." among them
  Sha256Digest digest;
  std::uint64_t size = 0;

  friend bool operator==(const ArtifactFile&, const ArtifactFile&) = default;
};

// The valid content of an imported folder of published cubins.
struct ArtifactImport {
  std::string folder;  // absolute
  std::string pin;  // SHA-256 of the metadata that lists its kernels, in hexadecimal; part of their identity
  std::string version;  // the publisher's, if the metadata is known: "0.6.13"
  ArtifactPlacement placement = ArtifactPlacement::in_place;
  std::vector<KernelRow> rows;     // attention kernels; their pin and provenance are the import's
  std::vector<PlainKernel> plain;  // others, found by name
  // Ascending by name. Contains the file of every row and plain kernel.
  std::vector<ArtifactFile> files;
};

// The verified facts of a file. Valid while size, times and inode are unchanged.
struct VerifiedFile {
  std::string name;  // relative to the folder
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  std::uint64_t inode = 0;
  Sha256Digest digest;
  CubinInspection inspection;
};

// The imported folders of a home, one file each (docs/formats/import.md). The home itself returns
// their content. Thread-safe, and any number of processes may share a home. If the home cannot be
// written, changes return unavailable.
class Imports {
 public:
  virtual ~Imports() = default;

  virtual Result<std::vector<ImportSummary>> list() = 0;  // ascending by number
  // Returns the whole import, or nullptr if there is none of that number.
  virtual Result<std::shared_ptr<const ArtifactImport>> read(std::uint64_t number) = 0;
  // Makes the import durable (imports/<number>.import), then visible. Replaces an earlier import of
  // the same folder. If the content is unchanged, nothing is written and the number stays.
  // Otherwise the number is the highest one + 1: it was pinned last. Returns an error
  // (invalid_argument) that names the defect of an invalid import.
  virtual Result<std::uint64_t> publish(const ArtifactImport& import) = 0;
  // Removes an import, earlier ones of its folder, and their images from the home unless something
  // else names them. Returns false if there was none of that number.
  virtual Result<bool> remove(std::uint64_t number) = 0;
  // Adds a verified file to the home, before publish(): a hard link or, if links are impossible or
  // `how` asks for it, a copy. Does nothing if the home has the image. Returns an error
  // (corruption) if the bytes do not match the digest. No sweep removes the image before publish()
  // or the end of this home.
  virtual Result<void> bring(const std::string& file, const Sha256Digest& digest, ArtifactPlacement how) = 0;

  // Returns the files that were verified, so that an interrupted import continues and a repeated
  // one is fast. The list may be empty or outdated.
  virtual Result<std::vector<VerifiedFile>> verified(const std::string& folder) = 0;
  // Replaces the facts of these files in one transaction and keeps those of others.
  virtual Result<void> remember(const std::string& folder, std::span<const VerifiedFile> files) = 0;
};

}  // namespace cubinet
