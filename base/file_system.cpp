// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_system.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

namespace cubinet {

namespace fs = std::filesystem;

std::int64_t nanoseconds(const timespec& time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kFirst = -kLast / 2;
  if (time.tv_sec >= kLast / kSecond) return kLast;
  if (time.tv_sec <= kFirst / kSecond) return kFirst;
  return std::int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

FileSystemKind file_system_kind(std::uint64_t magic) {
  struct Known {
    std::uint64_t magic;
    const char* name;
    bool network;
  };
  // The numbers are from statfs(2), or from the headers of file systems that Linux does not
  // include.
  constexpr std::array<Known, 24> kKnown = {{
      {0x6969, "NFS", true},        {0x0BD00BD0, "Lustre", true}, {0x47504653, "GPFS", true},
      {0x65735546, "FUSE", true},   {0xFF534D42, "CIFS", true},   {0xFE534D42, "SMB", true},
      {0x517B, "SMB", true},        {0x00C36400, "Ceph", true},   {0x19830326, "BeeGFS", true},
      {0x01021997, "9p", true},     {0x5346414F, "AFS", true},    {0x6B414653, "AFS", true},
      {0x01161970, "GFS2", true},   {0x7461636F, "OCFS2", true},  {0xAAD7AAEA, "PanFS", true},
      {0x786F4256, "vboxsf", true}, {0xEF53, "ext4", false},      {0x58465342, "XFS", false},
      {0x9123683E, "btrfs", false}, {0x01021994, "tmpfs", false}, {0x794C7630, "overlayfs", false},
      {0x2FC12FC1, "ZFS", false},   {0xF2F52010, "F2FS", false},  {0x73717368, "squashfs", false},
  }};
  for (const Known& known : kKnown) {
    if (known.magic == magic) return {known.name, known.network};
  }
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(magic));
  return {text.data(), false};
}

fs::path temporary_path_beside(const fs::path& path) {
  static std::atomic<unsigned> counter{0};
  // The random part distinguishes two containers that share a folder and may share a pid.
  // std::random_device is not used: libstdc++'s needs glibc 2.36, which the portable build does not
  // require, and it may throw.
  unsigned entropy = 0;
  if (::getentropy(&entropy, sizeof(entropy)) != 0) entropy = 0;  // pid and counter remain
  return path.parent_path() / ("." + path.filename().string() + "." + std::to_string(::getpid()) + "." +
                               std::to_string(counter.fetch_add(1)) + "." + std::to_string(entropy) + ".tmp");
}

bool is_temporary_path(const fs::path& path) {
  constexpr std::string_view kSuffix = ".tmp";
  constexpr int kNumbers = 3;
  const std::string file_name = path.filename().string();
  std::string_view name = file_name;
  if (!name.starts_with('.') || !name.ends_with(kSuffix)) return false;
  name.remove_suffix(kSuffix.size());
  for (int number = 0; number < kNumbers; ++number) {
    const std::size_t last = name.find_last_not_of("0123456789");
    if (last == std::string_view::npos || last + 1 == name.size() || name[last] != '.') return false;
    name = name.substr(0, last);
  }
  return name.size() > 1;
}

namespace {

Result<void> write_and_rename(FileSystem& files, const fs::path& temporary, const fs::path& path,
                              ByteView content) {
  CUBINET_TRY_ASSIGN(auto file, files.create(temporary));
  CUBINET_TRY(file->write(content));
  CUBINET_TRY(file->sync());
  CUBINET_TRY(file->close());
  return files.rename(temporary, path);
}

}  // namespace

const char* why_not_trusted(const FileStatus& status) {
  // Root can write any file, so root's ownership is accepted.
  if (status.owner != 0 && status.owner != ::geteuid()) return "belongs to another user";
  if ((status.permissions & (S_IWGRP | S_IWOTH)) != 0) return "can be written by others";
  return nullptr;
}

Result<void> write_file_atomically(FileSystem& files, const fs::path& path, ByteView content) {
  // The rename would replace a device such as /dev/null.
  CUBINET_TRY_ASSIGN(const auto existing, files.status(path));
  if (existing && existing->type == FileStatus::Type::other) {
    return Error{ErrorCode::invalid_argument, "'" + path.string() + "' is no regular file",
                 "name a file that does not exist or may be replaced"};
  }
  const fs::path temporary = temporary_path_beside(path);
  if (auto written = write_and_rename(files, temporary, path, content); !written) {
    // The first error is returned. A remaining temporary file is removed later.
    static_cast<void>(files.remove(temporary));
    return written;
  }
  return files.sync_directory(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

}  // namespace cubinet
