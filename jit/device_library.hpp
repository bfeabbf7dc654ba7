// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "include_closure.hpp"

#include <cubinet/base/bytes.hpp>

#include <map>
#include <memory>
#include <mutex>

namespace cubinet {

// What a linker is told of an input (nvJitLinkInputType).
enum class LinkInputKind { cubin = 1, ptx = 2, lto_ir = 3, fatbin = 4, object = 5, archive = 6 };

// A library as the linker is given it.
struct DeviceLibrary {
  std::string name;  // as it was asked for
  LinkInputKind kind = LinkInputKind::archive;
  Bytes content;
};

// The libraries of a request: just these bytes are hashed and linked, whatever becomes of their files.
struct DeviceLibraries {
  Sha256Digest digest;  // of names and contents
  std::vector<DeviceLibrary> libraries;
  std::vector<FileStamp> stamps;  // of each file read, and of each place before it where none was
  bool settled = true;            // all stamps were when they were taken

  bool still_valid(const FileProbe& probe = {}) const;
};

// Looks for each name in these folders, in their order: "cudadevrt" as libcudadevrt.a, "mine.fatbin" as it
// is. unavailable, with the folders, for one that is in none; io for one that cannot be read; corruption for
// one that does not hold what its name says, or not all of it; unsupported beyond 1 GiB together.
Result<DeviceLibraries> find_device_libraries(const std::vector<std::string>& names,
                                              const std::vector<std::string>& folders,
                                              const FileProbe& probe = {});

// The digests of libraries, kept while none of their files has changed. Thread-safe.
class DeviceLibraryCache {
 public:
  Result<Sha256Digest> digest(const std::vector<std::string>& names, const std::vector<std::string>& folders);

 private:
  using Key = std::pair<std::vector<std::string>, std::vector<std::string>>;

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const DeviceLibraries>> known_;  // guarded by mutex_; settled ones only
};

// Whether the bytes have the outer form of that kind: no linker looks at it itself before it follows the
// lengths in it. What lies inside stays its own to judge. corruption otherwise.
Result<void> check_link_input(LinkInputKind kind, ByteView content);

}  // namespace cubinet
