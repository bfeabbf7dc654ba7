// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

namespace cubinet::test {

// Records the paths that libnvrtc passes to the C library in this process, from construction on.
// Missing files are included. The executable replaces the C library's functions that take a path.
// At most one object may exist.
class FileCalls {
 public:
  FileCalls();
  ~FileCalls();
  FileCalls(const FileCalls&) = delete;
  FileCalls& operator=(const FileCalls&) = delete;

  // Returns the calls since construction or since the last take(): "open /a/b".
  std::set<std::string> take();
};

}  // namespace cubinet::test
