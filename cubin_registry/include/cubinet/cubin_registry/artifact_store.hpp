// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/spec/cubin_elf.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Where the files of an imported folder are used from. Stored: DO NOT RENUMBER.
enum class ArtifactPlacement : std::uint8_t { in_place = 0, linked = 1, copied = 2 };
std::string_view to_string(ArtifactPlacement placement);  // "in_place", "linked", "copied"

// A cubin of an imported folder.
struct ArtifactFile {
  std::string name;  // relative to the folder, with '/' between folders and no "." or ".." among them
  Sha256Digest digest;
  std::uint64_t size = 0;

  friend bool operator==(const ArtifactFile&, const ArtifactFile&) = default;
};

// A folder of published cubins as it was imported: what was good in it.
struct ArtifactImport {
  std::filesystem::path folder;  // absolute
  ArtifactPlacement placement = ArtifactPlacement::in_place;
  std::vector<KernelRow> rows;      // attention kernels; their provenance is the import's, whatever it says
  std::vector<PlainKernel> plain;   // others, found by name
  std::vector<ArtifactFile> files;  // ascending by name; of every row and plain kernel there is one
};

struct ArtifactSummary {
  std::uint64_t number = 0;  // under which it was pinned; of imports that disagree the highest is right
  std::filesystem::path folder;
  ArtifactPlacement placement = ArtifactPlacement::in_place;
  std::uint64_t rows = 0;
  std::uint64_t plain = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  // of the files

  friend bool operator==(const ArtifactSummary&, const ArtifactSummary&) = default;
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

// Folders of published cubins that a home knows: which kernels they hold, and the bytes. Imports are files of
// their own (docs/formats/import.md); the index is derived from them. Thread-safe, and any number of
// processes may share a home. In a home that cannot be written whatever would change it is unavailable.
class ArtifactStore {
 public:
  virtual ~ArtifactStore() = default;

  virtual Result<std::vector<ArtifactSummary>> list() = 0;  // ascending by number
  // Makes the import durable (imports/<number>.import), then visible. Replaces an earlier import of the same
  // folder. Where the content equals what is there nothing is written and the number stays; otherwise the
  // number is the highest one + 1: pinned last. invalid_argument names what is wrong with the import.
  virtual Result<std::uint64_t> publish(const ArtifactImport& import) = 0;
  // Removes an import, and its images from the home where no other import names them. False when there was
  // none of that number.
  virtual Result<bool> remove(std::uint64_t number) = 0;
  // Brings a verified file into the home, before publish(): a hard link to it, or a copy where links are not
  // possible or `how` asks for one. corruption when the bytes are not the digest's. Nothing is done where the
  // home has the image. Until publish(), or the end of this registry, no sweep removes it.
  virtual Result<void> bring(const std::filesystem::path& file, const Sha256Digest& digest,
                             ArtifactPlacement how) = 0;
  // The bytes of a cubin that an import names, verified; nullopt when none does, or its file is gone or
  // damaged (which is logged).
  virtual Result<std::optional<std::shared_ptr<const Bytes>>> load(const Sha256Digest& digest) = 0;
  // Kernels of this function name in all imports, those of rows included; last pinned first.
  virtual Result<std::vector<PlainKernel>> find_named(std::string_view function_name) = 0;

  // A memory of what was verified, so that an interrupted import goes on and a second one is quick. Not a
  // promise: it may be empty, or older than what was remembered last.
  virtual Result<std::vector<VerifiedFile>> verified(const std::filesystem::path& folder) = 0;
  // In one transaction; what was remembered of the same names is replaced, of others stays.
  virtual Result<void> remember(const std::filesystem::path& folder, std::span<const VerifiedFile> files) = 0;
};

}  // namespace cubinet
