// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "include_closure.hpp"

#include <cubinet/base/bytes.hpp>

#include <map>
#include <memory>
#include <mutex>

namespace cubinet {

// The type of a linker input (nvJitLinkInputType).
enum class LinkInputKind { cubin = 1, ptx = 2, lto_ir = 3, fatbin = 4, object = 5, archive = 6 };

// A library as a linker input.
struct DeviceLibrary {
  std::string name;  // as requested
  LinkInputKind kind = LinkInputKind::archive;
  Bytes content;
};

// The libraries of a request. These bytes are hashed and linked; later changes of the files have no
// effect.
struct DeviceLibraries {
  Sha256Digest digest;  // of names and contents
  std::vector<DeviceLibrary> libraries;
  std::vector<FileStamp> stamps;  // of each file read, and of each missing file searched before it
  bool settled = true;            // all stamps were when they were taken

  bool still_valid(const FileProbe& probe = {}) const;
};

// Finds each name in these folders, in order: "cudadevrt" as libcudadevrt.a, "mine.fatbin"
// unchanged. Returns unavailable with the folders if a library is missing, io if it cannot be read,
// corruption if its content is incomplete or does not match its name, and unsupported if all
// together exceed 1 GiB.
Result<DeviceLibraries> find_device_libraries(const std::vector<std::string>& names,
                                              const std::vector<std::string>& folders,
                                              const FileProbe& probe = {});

// A cache of libraries' digests. An entry is valid while none of its files changes. Thread-safe.
class DeviceLibraryCache {
 public:
  Result<Sha256Digest> digest(const std::vector<std::string>& names, const std::vector<std::string>& folders);

 private:
  using Key = std::pair<std::vector<std::string>, std::vector<std::string>>;

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const DeviceLibraries>> known_;  // guarded by mutex_; settled ones only
};

// Checks the outer structure of a linker input, because linkers follow its lengths unchecked.
// Returns corruption if it is wrong. The inner contents are left to the linker.
Result<void> check_link_input(LinkInputKind kind, ByteView content);

}  // namespace cubinet
