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

// Where the files of an imported folder are used from. Stored: DO NOT RENUMBER.
enum class ArtifactPlacement : std::uint8_t { in_place = 0, linked = 1, copied = 2 };
std::string_view to_string(ArtifactPlacement placement);  // "in_place", "linked", "copied"

struct ImportSummary {
  std::uint64_t number = 0;  // under which it was pinned: of imports of one kernel the highest is right
  std::string folder;
  std::string pin;
  std::string version;
  ArtifactPlacement placement = ArtifactPlacement::in_place;
  std::uint64_t rows = 0;
  std::uint64_t plain = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  // of the files
  bool gone = false;        // it is used in place, and its folder is not there: it offers nothing

  friend bool operator==(const ImportSummary&, const ImportSummary&) = default;
};

// A cubin of an imported folder.
struct ArtifactFile {
  std::string name;  // relative to the folder, with '/' between folders and no "." or ".." among them
  Sha256Digest digest;
  std::uint64_t size = 0;

  friend bool operator==(const ArtifactFile&, const ArtifactFile&) = default;
};

// A folder of published cubins as it was imported: what was good in it.
struct ArtifactImport {
  std::string folder;  // absolute
  std::string pin;  // SHA-256 of the metadata that lists its kernels, in hexadecimal; part of their identity
  std::string version;  // the publisher's, where the metadata is known: "0.6.13"
  ArtifactPlacement placement = ArtifactPlacement::in_place;
  std::vector<KernelRow> rows;      // attention kernels; their pin and provenance are the import's
  std::vector<PlainKernel> plain;   // others, found by name
  std::vector<ArtifactFile> files;  // ascending by name; of every row and plain kernel there is one
};

// What is known of a file since it was last read; valid while size, times and inode are the same.
struct VerifiedFile {
  std::string name;  // relative to the folder
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  std::uint64_t inode = 0;
  Sha256Digest digest;
  CubinInspection inspection;
};

// The folders of published cubins that a home knows, each a file of its own (docs/formats/import.md). What
// they hold, the home itself answers. Thread-safe, and any number of processes may share a home. In a home
// that cannot be written whatever would change it is unavailable.
class Imports {
 public:
  virtual ~Imports() = default;

  virtual Result<std::vector<ImportSummary>> list() = 0;  // ascending by number
  // The import in whole; nullptr when there is none of that number.
  virtual Result<std::shared_ptr<const ArtifactImport>> read(std::uint64_t number) = 0;
  // Makes the import durable (imports/<number>.import), then visible. Replaces an earlier import of the same
  // folder. Where the content equals what is there nothing is written and the number stays; otherwise the
  // number is the highest one + 1: pinned last. invalid_argument names what is wrong with the import.
  virtual Result<std::uint64_t> publish(const ArtifactImport& import) = 0;
  // Removes an import, those of its folder that it hides, and their images from the home where nothing else
  // names them. False when there was none of that number.
  virtual Result<bool> remove(std::uint64_t number) = 0;
  // Brings a verified file into the home, before publish(): a hard link to it, or a copy where links are not
  // possible or `how` asks for one. corruption when the bytes are not the digest's. Nothing is done where the
  // home has the image. Until publish(), or the end of this home, no sweep removes it.
  virtual Result<void> bring(const std::string& file, const Sha256Digest& digest, ArtifactPlacement how) = 0;

  // A memory of what was verified, so that an interrupted import goes on and a second one is quick. Not a
  // promise: it may be empty, or older than what was remembered last.
  virtual Result<std::vector<VerifiedFile>> verified(const std::string& folder) = 0;
  // In one transaction; what was remembered of the same names is replaced, of others stays.
  virtual Result<void> remember(const std::string& folder, std::span<const VerifiedFile> files) = 0;
};

}  // namespace cubinet
