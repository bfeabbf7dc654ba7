// SPDX-License-Identifier: Apache-2.0
#include "file_stamp.hpp"

#include <cubinet/base/file_system.hpp>

#include <algorithm>
#include <chrono>
#include <sys/stat.h>
#include <utility>

namespace cubinet {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// The tick of the kernel's clock is 1 to 10 ms.
constexpr std::int64_t kSafeDistance = 50'000'000;
// File systems that keep whole seconds, or every other one (FAT).
constexpr std::int64_t kSafeDistanceOfSeconds = 2 * kSecond + kSafeDistance;

}  // namespace

FileStamp FileStamp::take(std::filesystem::path path) {
  FileStamp stamp;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    stamp.exists = true;
    stamp.device = info.st_dev;
    stamp.inode = info.st_ino;
    stamp.size = static_cast<std::uint64_t>(info.st_size);
    stamp.modified_ns = nanoseconds(info.st_mtim);
    stamp.changed_ns = nanoseconds(info.st_ctim);
  }
  stamp.path = std::move(path);
  return stamp;
}

bool FileStamp::settled(std::int64_t now_ns) const {
  if (!exists) return true;
  const std::int64_t newest = std::max(modified_ns, changed_ns);
  return now_ns - newest > (newest % kSecond == 0 ? kSafeDistanceOfSeconds : kSafeDistance);
}

std::int64_t FileProbe::wall_clock_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace cubinet
