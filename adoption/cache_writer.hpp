// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache_folder.hpp"
#include "cache_stage.hpp"
#include "cache_tool.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// Writes entries into the folder of one tool. Entries are staged in a temporary folder that no tool
// reads, synced to the disk together, and renamed one by one. Readers see all of an entry or
// nothing, after a crash too. Not thread-safe. Several writers, in several processes, may share a
// folder.
class CacheWriter {
 public:
  enum class Outcome {
    written,  // new in the folder
    present,  // existed already, byte for byte
    taken,    // something else has the name
  };
  struct Published {
    std::string entry;
    Result<Outcome> outcome;  // written, present or taken
  };

  // Creates the folder if it is missing. Removes the stages of writers that were killed.
  static Result<CacheWriter> open(const CacheTool& tool, const std::string& folder);
  CacheWriter(CacheWriter&&) = default;
  CacheWriter& operator=(CacheWriter&&) = delete;
  ~CacheWriter();

  // Converts stored files for this folder.
  Result<void> place(const std::string& entry, std::vector<CacheFile>& files) const;
  // Returns whether the folder has the entry with exactly these files. `files` are placed.
  bool has(const std::string& entry, const std::vector<CacheFile>& files) const;
  // Stages an entry. `files` are placed. Nothing of it stays after an error.
  Result<void> stage(const std::string& entry, const std::vector<CacheFile>& files);
  std::size_t staged() const { return staged_.size(); }
  // Syncs the staged entries and moves them to their names.
  std::vector<Published> publish();

 private:
  CacheWriter(const CacheTool& tool, CacheFolder cache, CacheFolder entries, std::string path)
      : tool_(&tool), cache_(std::move(cache)), entries_(std::move(entries)), path_(std::move(path)) {}
  bool has_files() const { return tool_->shape == CacheTool::Shape::file; }
  Result<void> make_stage();
  void remove_stage();
  Result<Outcome> move(const std::string& entry) const;
  Result<std::vector<CacheFile>> staged_files(const std::string& entry) const;

  const CacheTool* tool_;
  CacheFolder cache_;
  CacheFolder entries_;
  std::string path_;  // absolute path of entries_
  std::optional<CacheStage> stage_;
  std::vector<std::string> staged_;  // the entries in stage_
};

}  // namespace cubinet
