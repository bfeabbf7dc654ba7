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

// A published folder, by where it lies below its source (empty: it is the source itself) and the SHA-256 of
// its checksums.txt, which says what belongs to it.
struct PublishedList {
  std::string folder;
  Sha256Digest digest;

  friend bool operator==(const PublishedList&, const PublishedList&) = default;
};

// Several, as sha256sum writes the digests of their lists: `<64 hex digits>  <folder>/checksums.txt` a line.
// As read_checksums(), and corruption for a line of another file.
Result<std::vector<PublishedList>> read_published_lists(std::string_view text);
// Those of the published folders at and below `root`, by what their lists are now: of them nobody else's word
// is asked. As find_artifact_folders(), and invalid_argument where no folder has a list.
Result<std::vector<PublishedList>> published_lists_of(FileSystem& files, const std::filesystem::path& root);

struct PublishedMirrorOptions {
  // What is asked for of the cubins: those with a row for one of these targets, and those of these functions.
  // Empty: all. Cubins of which no header tells a target are asked for with any.
  std::vector<SmTarget> targets = {};
  std::vector<std::string> functions = {};
  // Says of which functions of a folder's header the cubins are asked for; the others are then not.
  std::function<Result<std::vector<std::string>>(const std::string& name, ByteView header)> choose = {};
  // As in ArtifactImportOptions.
  std::function<void(const std::filesystem::path& folder, std::size_t count,
                     const std::function<std::string(std::size_t)>& work)>
      run = {};
  Callback<bool()> cancelled = {};
  LogSink log = {};
};

// What became of one published folder.
struct MirroredFolder {
  PublishedList list;
  std::uint64_t listed = 0;
  std::uint64_t there = 0;          // files that were there before, and right
  std::uint64_t fetched = 0;        // that came now
  std::uint64_t fetched_bytes = 0;  // of these
  std::uint64_t bytes = 0;          // of all that is in it now
  std::uint64_t not_wanted = 0;     // by targets, functions and choose
  ArtifactFindings left_out;        // what runs on the host, and what is neither cubin nor header
  ArtifactFindings missing;         // no place has it
  ArtifactFindings damaged;         // a place has something else
};

struct PublishedMirrorReport {
  std::vector<MirroredFolder> folders;
  bool interrupted = false;  // a next run goes on there
};

// Makes `destination` hold what these lists name, under the names that they have at the source, with a page
// index.html a folder that names what is there: FlashInfer downloads from it, served by any static server.
// Each file is compared with the list's digest before it has its name, those that are there already are
// compared and stay. A folder's files come first, then its list, then its pages, so that whoever reads
// meanwhile finds all that a page names. A published folder does not change: where another list is there
// under its name, that is invalid_argument.
//
// Errors are those of the source that asking for the next file would not change (unavailable, untrusted), a
// list that is not what was named (corruption), and the destination's. A file that the source lacks or has
// wrong is a finding. What is whole stays, and a next run goes on there.
Result<PublishedMirrorReport> mirror_published(FileServer& source, const std::vector<PublishedList>& lists,
                                               const std::shared_ptr<FileSystem>& files,
                                               const std::filesystem::path& destination,
                                               const PublishedMirrorOptions& options);

}  // namespace cubinet
