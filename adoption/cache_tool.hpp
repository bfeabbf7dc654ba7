// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/spec/cache_entry.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// What an entry's own files say of it.
struct EntryFacts {
  SmTarget target;         // of its machine code; of what runs on the host the lowest that is known
  std::string kernel;      // empty where it is not told
  std::string version;     // of the tool; empty where it is not told
  std::string toolchain;   // what made the machine code: "CUDA 13.0"
  bool host_code = false;  // a library that the tool loads into its process
};

// How a tool lays out its cache, and what an entry holds. One constant for each tool.
struct CacheTool {
  enum class Shape {
    folder,  // an entry is a folder of files
    file,    // an entry is a file: "abcd…" is "cd…" in the folder "ab"
  };

  std::string_view name;
  std::string_view entries;  // the folder of them within the cache's; empty: that itself
  Shape shape = Shape::folder;
  // Code for another device is not looked for, though it would run.
  bool own_device_only = false;
  bool (*is_entry)(std::string_view name) = nullptr;
  // Keeps of the files those that the tool reads, in the form that is stored: no path in them says where they
  // lay. An error says why the entry is not taken. A stored entry passes unchanged.
  Result<EntryFacts> (*read)(std::string_view entry, std::vector<CacheFile>& files) = nullptr;
  // The stored files as they are to lie in `folder`, which is absolute: invalid_argument where its name
  // cannot be written down. nullptr: unchanged.
  Result<void> (*place)(std::vector<CacheFile>& files, const std::string& folder) = nullptr;
};

std::span<const CacheTool* const> cache_tools();
// invalid_argument that names those there are.
Result<const CacheTool*> find_cache_tool(std::string_view name);

extern const CacheTool kTritonCache;
extern const CacheTool kDeepJitCache;
extern const CacheTool kCudaCoreCache;

// For these.
bool is_lower_hex(std::string_view text, std::size_t digits);
const CacheFile* find_file(std::span<const CacheFile> files, std::string_view name);
Error not_taken(std::string reason);
// What runs on a device: its target, one kernel's name where there is one only, and of which CUDA it is.
Result<EntryFacts> read_cubin(ByteView image);

}  // namespace cubinet
