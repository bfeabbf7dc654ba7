// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tool.hpp"

#include <fstream>
#include <optional>
#include <sys/mount.h>
#include <unistd.h>

namespace cubinet::test {

// The tool as a user without privileges runs it in a sandbox that is open to all; nullopt where
// that cannot be tried: it needs root, and a build folder and the NVRTC fetched into it may lie
// where only their owner looks.
inline std::optional<ToolSetting> as_nobody(const Sandbox& sandbox) {
  if (::geteuid() != 0) return std::nullopt;
  std::filesystem::permissions(sandbox / "", std::filesystem::perms::all);
  std::filesystem::copy_file(tool_path(), sandbox / "cubinet");
  ToolSetting nobody;
  nobody.user = 65534;
  nobody.executable = sandbox / "cubinet";
  if (sandbox.run({"doctor", "--require", "compiler"}, nobody).status != 0) return std::nullopt;
  return nobody;
}

// The sandbox's home, mounted read-only over itself.
class ReadOnlyHome {
 public:
  // REQUIRES: the home exists.
  explicit ReadOnlyHome(const Sandbox& sandbox) : home_(sandbox.home()) {
    mounted_ = ::mount(home_.c_str(), home_.c_str(), nullptr, MS_BIND, nullptr) == 0;
    read_only_ =
        mounted_ && ::mount(nullptr, home_.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }
  ~ReadOnlyHome() {
    if (mounted_) ::umount2(home_.c_str(), MNT_DETACH);
  }
  ReadOnlyHome(const ReadOnlyHome&) = delete;
  ReadOnlyHome& operator=(const ReadOnlyHome&) = delete;

  bool read_only() const { return read_only_; }  // false if this process may not mount

 private:
  std::filesystem::path home_;
  bool mounted_ = false;
  bool read_only_ = false;
};

// Returns how many warnings are in a text of stderr.
inline int warnings_in(const std::string& err) {
  int count = 0;
  for (std::size_t at = err.find("warning: "); at != std::string::npos; at = err.find("warning: ", at + 1))
    ++count;
  return count;
}

// A file system of its own at the sandbox's home, in which a home was made before the rest was
// filled up.
class FullHome {
 public:
  explicit FullHome(const Sandbox& sandbox) : home_(sandbox.home()) {
    std::filesystem::create_directory(home_);
    mounted_ = ::mount("tmpfs", home_.c_str(), "tmpfs", 0, "size=256k,mode=0755") == 0;
    if (!mounted_ || sandbox.run({"registry", "repair"}).status != 0) return;
    std::ofstream filler(home_ / "filler", std::ios::binary);
    while (filler.put('x').flush()) {
    }
    full_ = true;
  }
  ~FullHome() {
    if (mounted_) ::umount2(home_.c_str(), MNT_DETACH);
  }
  FullHome(const FullHome&) = delete;
  FullHome& operator=(const FullHome&) = delete;

  bool full() const { return full_; }  // false where nothing may be mounted

 private:
  std::filesystem::path home_;
  bool mounted_ = false;
  bool full_ = false;
};

}  // namespace cubinet::test
