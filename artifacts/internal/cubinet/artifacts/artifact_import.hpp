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

// What an import may have to say of a file or row. docs/import.md explains each.
enum class ArtifactFindingKind : std::uint8_t {
  missing,   // a list or row names a cubin, or a list a header, that is not there
  extra,     // a cubin is there that neither a list nor a row names
  damaged,   // the bytes are not those of the digest, are no cubin, or cannot be read
  conflict,  // metadata contradicts the cubin, its name, a list or other metadata
  ignored,   // lock files, and listed files that are neither cubins nor headers and are not there
};
inline constexpr std::size_t kArtifactFindingKinds = 5;
std::string_view to_string(ArtifactFindingKind kind);  // "missing"

struct ArtifactFinding {
  std::string name;  // of the file, relative to its folder
  std::string reason;
  std::filesystem::path folder;
};

// All are counted, the first are kept.
inline constexpr std::size_t kMaximumListedFindings = 20;
struct ArtifactFindings {
  std::uint64_t count = 0;
  std::vector<ArtifactFinding> first;

  void add(ArtifactFinding finding);
};

struct ArtifactCounts {
  std::uint64_t rows = 0;    // attention rows that are in
  std::uint64_t plain = 0;   // kernels that are in by name only
  std::uint64_t cubins = 0;  // files that are in
  std::uint64_t bytes = 0;   // of those
  std::uint64_t read = 0;    // files that were read; the others were known from an earlier import
  std::map<std::string, std::uint64_t> targets;      // rows by the target that they state
  std::map<std::string, std::uint64_t> elf_targets;  // cubins by the target that their ELF states
  std::array<ArtifactFindings, kArtifactFindingKinds> findings;
  // Kernels whose name does not follow the grammar of published names: they are in, their name is unchecked.
  std::uint64_t unchecked_names = 0;

  const ArtifactFindings& of(ArtifactFindingKind kind) const {
    return findings[static_cast<std::size_t>(kind)];
  }
  // Nothing is damaged, missing or in conflict.
  bool sound() const;
  void add(const ArtifactCounts& other);
};

struct ArtifactFolderReport {
  std::filesystem::path folder;
  std::uint64_t number = 0;  // under which it is pinned; 0: nothing in it is of use, or it was interrupted
  ArtifactCounts counts;
};

struct ArtifactImportReport {
  std::vector<ArtifactFolderReport> folders;
  ArtifactCounts total;
  std::uint64_t specifications = 0;  // distinct attention rows less their targets
  bool interrupted = false;          // the folder that was being read is not in; a next import goes on there
};

struct ArtifactImportOptions {
  ArtifactPlacement placement = ArtifactPlacement::in_place;
  bool read_all = false;  // also what is known from an earlier import
  // Performs work(0) … work(count - 1), each once, in any order and from any number of threads, unless
  // cancelled; a piece answers with a line for people. Absent: one after the other.
  std::function<void(const std::filesystem::path& folder, std::size_t count,
                     const std::function<std::string(std::size_t)>& work)>
      run;
  std::function<bool()> cancelled;  // asked between pieces; from any thread
  std::size_t files_a_piece = 256;
  LogSink log;
};

// Imports the artifact folder `root`, or every one below it: each file is read once, its digest compared with
// the list's and the row's, its ELF with the row's target and function, the row's name with its columns. What
// is good is published to `imports`, a folder at a time; what is not is left out and reported. Where
// something of a folder could not be read, or the header that an earlier import's rows came from is lost,
// that import stays as it is and is what is counted; the findings say so.
//
// not_found for a path that is not there, invalid_argument for one that holds no artifact folder, the store's
// errors. Findings are no errors. What was verified is remembered in the store while it goes on: an import
// that is cancelled or killed loses no more than the last second's work.
Result<ArtifactImportReport> import_artifacts(const std::filesystem::path& root,
                                              const ArtifactImportOptions& options, Imports& imports);

}  // namespace cubinet
