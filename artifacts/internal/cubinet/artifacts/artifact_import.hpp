// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/cubin_registry/imports.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cubinet {

// A kind of finding about a file or row. docs/import.md explains each.
enum class ArtifactFindingKind : std::uint8_t {
  missing,   // a list or row names a cubin, or a list names a header, that does not exist
  extra,     // a cubin exists that neither a list nor a row names
  damaged,   // the bytes do not match the digest, are not a cubin, or cannot be read
  conflict,  // metadata contradicts the cubin, its name, a list or other metadata
  ignored,   // lock files, and missing listed files that are neither cubins nor headers
};
inline constexpr std::size_t kArtifactFindingKinds = 5;
std::string_view to_string(ArtifactFindingKind kind);  // "missing"

struct ArtifactFinding {
  std::string name;  // relative to its folder
  std::string reason;
  std::filesystem::path folder;
};

// The number of findings that are kept. All are counted.
inline constexpr std::size_t kMaximumListedFindings = 20;
struct ArtifactFindings {
  std::uint64_t count = 0;
  std::vector<ArtifactFinding> first;

  void add(ArtifactFinding finding);
};

struct ArtifactCounts {
  std::uint64_t rows = 0;    // imported attention rows
  std::uint64_t plain = 0;   // kernels imported by name only
  std::uint64_t cubins = 0;  // imported files
  std::uint64_t bytes = 0;   // bytes of the imported files
  std::uint64_t read = 0;    // Files that were read. The others were known from an earlier import.
  std::map<std::string, std::uint64_t> targets;      // rows by the target that they state
  std::map<std::string, std::uint64_t> elf_targets;  // cubins by the target that their ELF states
  std::array<ArtifactFindings, kArtifactFindingKinds> findings;
  // Imported kernels whose name does not follow the grammar of published names, so it was not
  // checked.
  std::uint64_t unchecked_names = 0;

  const ArtifactFindings& of(ArtifactFindingKind kind) const {
    return findings[static_cast<std::size_t>(kind)];
  }
  // Returns whether nothing is damaged, missing or in conflict.
  bool sound() const;
  void add(const ArtifactCounts& other);
};

struct ArtifactFolderReport {
  std::filesystem::path folder;
  // The number that it is pinned under. 0: nothing in it is usable, or the import was interrupted.
  std::uint64_t number = 0;
  ArtifactCounts counts;
};

struct ArtifactImportReport {
  std::vector<ArtifactFolderReport> folders;
  ArtifactCounts total;
  std::uint64_t specifications = 0;  // distinct attention rows without their targets
  // If true, the current folder was not imported. The next import continues there.
  bool interrupted = false;
};

struct ArtifactImportOptions {
  ArtifactPlacement placement = ArtifactPlacement::in_place;
  bool read_all = false;  // if true, files known from an earlier import are read too
  // Performs work(0) … work(count - 1), each once, in any order and on any number of threads,
  // unless cancelled. Each returns a line for people. Empty: one after the other.
  std::function<void(const std::filesystem::path& folder, std::size_t count,
                     const std::function<std::string(std::size_t)>& work)>
      run;
  std::function<bool()> cancelled;  // called between batches, from any thread
  std::size_t files_per_batch = 256;
  LogSink log;
};

// Imports the artifact folder `root`, or every one below it. Each file is read once. Its digest is
// compared with the list and the row, its ELF with the row's target and function, and the row's
// name with its columns. Valid entries are published to `imports`, a folder at a time. Others are
// left out and reported. If a part of a folder could not be read, or the header of an earlier
// import's rows is lost, the earlier import stays and is counted, and the findings say so.
//
// Returns not_found if the path does not exist, invalid_argument if it contains no artifact folder,
// or an error of the store. Findings are not errors. Verified files are saved in the store during
// the import, so a cancelled or killed import loses at most the last second's work.
Result<ArtifactImportReport> import_artifacts(const std::filesystem::path& root,
                                              const ArtifactImportOptions& options, Imports& imports);

}  // namespace cubinet
