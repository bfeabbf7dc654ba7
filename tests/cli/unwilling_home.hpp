// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tool.hpp"

#include <fstream>
#include <optional>
#include <sys/mount.h>
#include <unistd.h>

namespace cubinet::test {

// The tool as a user without privileges runs it in a sandbox that is open to all; nullopt where that cannot
// be tried: it needs root, and a build folder and the NVRTC fetched into it may lie where only their owner
// looks.
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

// A file system of its own at the sandbox's home, in which a home was made before the rest was filled up.
class FullHome {
 public:
  explicit FullHome(const Sandbox& sandbox) : home_(sandbox.home()) {
    std::filesystem::create_directory(home_);
    mounted_ = ::mount("tmpfs", home_.c_str(), "tmpfs", 0, "size=256k,mode=0755") == 0;
    if (!mounted_ || sandbox.run({"registry", "rebuild"}).status != 0) return;
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
