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

// The facts that an entry's own files state.
struct EntryFacts {
  // The target of its machine code. For host code, the lowest known target.
  SmTarget target;
  std::string kernel;      // empty if unknown
  std::string version;     // version of the tool; empty if unknown
  std::string toolchain;   // the producer of the machine code: "CUDA 13.0"
  bool host_code = false;  // if true, a library that the tool loads into its process
};

// A tool's cache layout and the content of its entries. There is one constant for each tool.
struct CacheTool {
  enum class Shape {
    folder,  // an entry is a folder of files
    file,    // an entry is a file: "abcd…" is "cd…" in the folder "ab"
  };

  std::string_view name;
  std::string_view entries;  // The subfolder of entries. Empty: the cache folder itself.
  Shape shape = Shape::folder;
  // If true, the tool does not look for code of another device, even if it would run.
  bool own_device_only = false;
  bool (*is_entry)(std::string_view name) = nullptr;
  // Removes the files that the tool does not read and converts the rest to the stored form, in
  // which no path depends on the original location. Returns an error with the reason if the entry
  // is not adopted. A stored entry passes unchanged.
  Result<EntryFacts> (*read)(std::string_view entry, std::vector<CacheFile>& files) = nullptr;
  // Converts stored files for the absolute path `folder`. Returns invalid_argument if the path
  // cannot be encoded. nullptr: unchanged.
  Result<void> (*place)(std::vector<CacheFile>& files, const std::string& folder) = nullptr;
};

std::span<const CacheTool* const> cache_tools();
// Returns the tool. Returns an error (invalid_argument) that lists the known tools.
Result<const CacheTool*> find_cache_tool(std::string_view name);

extern const CacheTool kTritonCache;
extern const CacheTool kDeepJitCache;
extern const CacheTool kCudaCoreCache;

// Helpers of the tools.
bool is_lower_hex(std::string_view text, std::size_t digits);
const CacheFile* find_file(std::span<const CacheFile> files, std::string_view name);
Error not_taken(std::string reason);
// Returns the facts of machine code: its target, the kernel's name if there is exactly one, and its
// CUDA version.
Result<EntryFacts> read_cubin(ByteView image);

}  // namespace cubinet
