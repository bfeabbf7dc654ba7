// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// A text that was noted in the journal of a home, and when.
struct JournalLine {
  std::chrono::sys_time<std::chrono::milliseconds> time;
  std::string text;
};

struct JournalLines {
  std::vector<JournalLine> lines;  // in the order of their times
  std::size_t damaged = 0;         // lines that do not have their checksum
  std::size_t newer = 0;           // lines of a later version of the format
};

// The journal of a home: lines that its processes append (docs/formats/registry.md). It is no part
// of any answer and may be removed at any time. Thread-safe; any number of processes may append.
// Lives as long as the home.
class HomeJournal {
 public:
  // The most bytes of a text.
  static constexpr std::size_t kMaximumLineBytes = 32 * 1024;
  // If the file is longer, the oldest lines are dropped until it has half of this.
  static constexpr std::size_t kMaximumBytes = 1024 * 1024;
  // Lines that are older are dropped when the file is shortened and by Home::sweep().
  static constexpr std::chrono::hours kMaximumAge{24 * 90};

  virtual ~HomeJournal() = default;
  // Appends a line with the present time. Returns unavailable if the home cannot be written, in a
  // forked child, or if another process shortens the file for more than a moment; invalid_argument
  // for a text that is too long or has a newline; io if the disk is full.
  virtual Result<void> add(std::string_view text) = 0;
  // Returns all lines. No journal has none. Returns the errors of reading the file.
  virtual Result<JournalLines> read() = 0;
};

}  // namespace cubinet
