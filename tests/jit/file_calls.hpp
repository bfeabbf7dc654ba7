// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

namespace cubinet::test {

// Stands before the C library's functions that take a path, in the executable that it is linked
// into: the paths that libnvrtc names in this process, those that are not there too, from
// construction on. One at a time.
class FileCalls {
 public:
  FileCalls();
  ~FileCalls();
  FileCalls(const FileCalls&) = delete;
  FileCalls& operator=(const FileCalls&) = delete;

  // What was named since construction, or since this was asked last: "open /a/b".
  std::set<std::string> take();
};

}  // namespace cubinet::test
