// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>

#include <string>
#include <vector>

namespace cubinet {

// The folder in which the Sessions of a command record (SessionOptions::record_folder), beside the
// workload that they are merged into. Not thread-safe. Several of them, in several processes, may
// merge into one workload.
class Recordings {
 public:
  // Creates a folder of a new name beside `workload`, whose folder must exist.
  static Result<Recordings> open(const std::string& workload);

  const std::string& folder() const { return folder_; }
  // Merges what was recorded so far into the workload. Creates a missing one. If the file is no
  // workload or is damaged, it is kept and an error is returned. Returns busy if another process
  // merges into it for more than 5 s.
  Result<void> merge(const LogSink& log) const;
  // Removes the recordings after a last merge. Keeps those of which a file or a line was left out,
  // and warns. A line at the end that was not finished is dropped.
  Result<void> close(const LogSink& log) const;

 private:
  // Merges, and returns the names of the recordings that were read whole.
  Result<std::vector<std::string>> merge_whole(const LogSink& log) const;
  Recordings(std::string workload, std::string folder)
      : workload_(std::move(workload)), folder_(std::move(folder)) {}

  std::string workload_;  // absolute
  std::string folder_;    // absolute
};

}  // namespace cubinet
