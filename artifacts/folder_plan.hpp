// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "artifact_reader.hpp"

#include <cubinet/artifacts/artifact_folder.hpp>
#include <cubinet/artifacts/artifact_import.hpp>

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

// A file that somebody names or that is there, and what is said of it.
struct PlannedFile {
  std::string name;
  bool is_cubin = true;
  bool present = false;
  std::optional<Sha256Digest> listed;  // by the folder's list
  std::vector<std::uint32_t> rows;     // of FolderPlan::rows
  std::vector<std::uint32_t> plain;    // of FolderPlan::plain
};

// What a folder's metadata says should be in it, beside what is. Opens the list and the headers only.
struct FolderPlan {
  std::vector<PlannedFile> files;  // ascending by name
  std::vector<KernelRow> rows;
  std::vector<PlainKernel> plain;
  // Neither a list nor a header says what belongs here: everything does.
  bool bare = false;
  std::vector<std::string> unread;        // the list and headers that are there and could not be read
  std::vector<std::string> lost_headers;  // listed and not there, or no header that can be parsed
  std::string pin;                        // of the metadata (ArtifactImport::pin); empty where there is none
  std::string version;                    // the publisher's, where a header is a known one
};

FolderPlan plan_folder(const ArtifactFolder& folder, FindingSink& findings);

// Whether a file that could not be read may be sound: neither is it gone, nor no file at all.
bool says_nothing(const Error& error);

// Whether the file is to be opened: it is there and something is known of it, or need not be.
bool is_checked(const FolderPlan& plan, const PlannedFile& file);

}  // namespace cubinet
