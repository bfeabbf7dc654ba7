// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/artifacts/artifact_import.hpp>
#include <cubinet/base/callback.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

class FileServer;  // distribution/file_server.hpp

// A published folder: its path below the source (empty: the source itself) and the SHA-256 of its
// checksums.txt, which lists its files.
struct PublishedList {
  std::string folder;
  Sha256Digest digest;

  friend bool operator==(const PublishedList&, const PublishedList&) = default;
};

// Reads several lists in the format in which sha256sum writes their digests: one `<64 hex digits>
// <folder>/checksums.txt` per line. Returns the errors of read_checksums(), and corruption for a
// line of another file.
Result<std::vector<PublishedList>> read_published_lists(std::string_view text);
// Returns the published folders at and below `root`, with the digests of their current lists. The
// digests are not verified against any other source. Returns the errors of find_artifact_folders(),
// and invalid_argument if no folder has a list.
Result<std::vector<PublishedList>> published_lists_of(FileSystem& files, const std::filesystem::path& root);

struct PublishedMirrorOptions {
  // The requested cubins: those with a row for one of these targets, and those of these functions.
  // Empty: all. Cubins whose target no header states match every target.
  std::vector<SmTarget> targets = {};
  std::vector<std::string> functions = {};
  // Returns the functions of a folder's header whose cubins are requested. Its other cubins are
  // not.
  std::function<Result<std::vector<std::string>>(const std::string& name, ByteView header)> choose = {};
  // Used like ArtifactImportOptions::run.
  std::function<void(const std::filesystem::path& folder, std::size_t count,
                     const std::function<std::string(std::size_t)>& work)>
      run = {};
  Callback<bool()> cancelled = {};
  LogSink log = {};
};

// The result of mirroring one published folder.
struct MirroredFolder {
  PublishedList list;
  std::uint64_t listed = 0;
  std::uint64_t there = 0;          // valid files that existed before
  std::uint64_t fetched = 0;        // files fetched now
  std::uint64_t fetched_bytes = 0;  // bytes of the fetched files
  std::uint64_t bytes = 0;          // bytes of all files of the folder
  std::uint64_t not_wanted = 0;     // files excluded by targets, functions and choose
  ArtifactFindings left_out;        // host code, and files that are neither cubins nor headers
  ArtifactFindings missing;         // no server has the file
  ArtifactFindings damaged;         // a server has other bytes
};

struct PublishedMirrorReport {
  std::vector<MirroredFolder> folders;
  bool interrupted = false;  // the next run continues there
};

// Mirrors the files that these lists name to `destination`, under their names at the source, with a
// page index.html in each folder. FlashInfer can download from the result on any static server.
// Each file is compared with the list's digest before it gets its name; existing files are compared
// and kept. The files of a folder are written first, then its list, then its pages, so that
// concurrent readers find everything that a page names. A published folder does not change: if
// another list exists under its name, the error is invalid_argument.
//
// Returns errors of the source that also affect the next file (unavailable, untrusted), corruption
// if a list does not match its digest, and errors of the destination. A file that is missing or
// wrong at the source is a finding. Complete files stay, and the next run continues there.
Result<PublishedMirrorReport> mirror_published(FileServer& source, const std::vector<PublishedList>& lists,
                                               const std::shared_ptr<FileSystem>& files,
                                               const std::filesystem::path& destination,
                                               const PublishedMirrorOptions& options);

}  // namespace cubinet
