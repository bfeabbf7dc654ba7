// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sys/ioctl.h>
#include <unistd.h>

namespace cubinet::cli {
namespace {

constexpr std::size_t kBarWidth = 30;
constexpr double kSecondsALine = 1;

std::size_t terminal_width() {
  winsize size = {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

Progress::Progress(Console& console, std::size_t total) : console_(console), total_(total) {
  draw();
}

Progress::~Progress() {
  console_.clear_status_line();
}

void Progress::finished(const std::string& item) {
  const std::lock_guard lock(mutex_);
  ++done_;
  if (console_.terminal()) {
    console_.message(LogLevel::info, item);
    draw();
    return;
  }
  const double now = watch_.seconds();
  const bool due = done_ == 1 || done_ == total_ || now - told_ >= kSecondsALine;
  if (!console_.heard() || !(due || console_.verbose())) return;
  told_ = now;
  console_.note(fmt::format("[{}/{}] {}", done_, total_, item));
}

void Progress::tick() {
  const std::lock_guard lock(mutex_);
  draw();
}

void Progress::draw() {
  const std::size_t filled = total_ == 0 ? kBarWidth : kBarWidth * done_ / total_;
  const double elapsed = watch_.seconds();
  std::string line = fmt::format("[{:=<{}}{: <{}}] {}/{}  {:.0f} s", "", filled, "", kBarWidth - filled,
                                 done_, total_, elapsed);
  if (done_ > 0 && done_ < total_) {
    const double left = elapsed / static_cast<double>(done_) * static_cast<double>(total_ - done_);
    line += fmt::format(", about {:.0f} s left", left);
  }
  // A line that wraps could not be erased.
  line.resize(std::min(line.size(), terminal_width() - 1));
  console_.show_status_line(std::move(line));
}

}  // namespace cubinet::cli
