// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "console.hpp"

#include <cubinet/base/stopwatch.hpp>

#include <cstddef>
#include <mutex>
#include <string>

namespace cubinet::cli {

// Shows on stderr the progress of a list of work items. On a terminal, draws a bar at the bottom.
// Elsewhere, writes plain lines: the first, the last, and at most one a second, or with -v one for
// each item. Thread-safe.
class Progress {
 public:
  Progress(Console& console, std::size_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void finished(const std::string& item);
  void tick();  // redraws the bar, for its clock

 private:
  void draw();

  Console& console_;
  const std::size_t total_;
  const Stopwatch watch_;
  std::mutex mutex_;
  std::size_t done_ = 0;
  double told_ = 0;  // when the last plain line was written
};

}  // namespace cubinet::cli
