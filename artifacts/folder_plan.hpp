// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "artifact_reader.hpp"

#include <cubinet/artifacts/artifact_folder.hpp>
#include <cubinet/artifacts/artifact_import.hpp>
#include <cubinet/kernel_table/published_header.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// Adds findings of one folder to its counts.
class FindingSink {
 public:
  FindingSink(std::filesystem::path folder, ArtifactCounts& counts)
      : folder_(std::move(folder)), counts_(counts) {}
  void add(ArtifactFindingKind kind, std::string name, std::string reason) {
    counts_.findings[static_cast<std::size_t>(kind)].add({std::move(name), std::move(reason), folder_});
  }

 private:
  std::filesystem::path folder_;
  ArtifactCounts& counts_;
};

// A file that is named by metadata or exists, with the statements about it.
struct PlannedFile {
  std::string name;
  bool is_cubin = true;
  bool present = false;
  std::optional<Sha256Digest> listed;  // the digest in the folder's list
  std::vector<std::uint32_t> rows;     // indices into FolderPlan::rows
  std::vector<std::uint32_t> plain;    // indices into FolderPlan::plain
};

// The expected content of a folder by its metadata, beside the existing files. Only the list and
// the headers are opened.
struct FolderPlan {
  std::vector<PlannedFile> files;  // ascending by name
  std::vector<KernelRow> rows;
  std::vector<PlainKernel> plain;
  // If true, there is neither a list nor a header, so every file belongs to the folder.
  bool bare = false;
  std::vector<std::string> unread;  // the existing list and headers that could not be read
  // headers that are listed and missing, or cannot be parsed
  std::vector<std::string> lost_headers;
  // The pin of the metadata (ArtifactImport::pin). Empty if there is none.
  std::string pin;
  // The known header of attention kernels, or nullptr.
  const PublishedHeader* known = nullptr;
};

// Finds the known header of a folder by the digest of its list.
using FindList = const PublishedHeader* (*)(const Sha256Digest& list);

FolderPlan plan_folder(const ArtifactFolder& folder, FindingSink& findings,
                       FindList find_list = find_published_list);

// Returns whether a file with this read error may be sound: it is neither missing nor not a file.
bool says_nothing(const Error& error);

// Returns whether the file is opened: it exists, and either metadata names it or the folder has no
// metadata.
bool is_checked(const FolderPlan& plan, const PlannedFile& file);

}  // namespace cubinet
