// SPDX-License-Identifier: Apache-2.0
#include "cache_tool.hpp"

namespace cubinet {
namespace {

// The name is the SHA-256 of the key, which includes NVRTC's version and the options.
bool is_cuda_core_entry(std::string_view name) {
  return is_lower_hex(name, 64);
}

// Reads an entry, whose single file is the image. PTX and LTO IR are not taken, because they belong
// to no device.
Result<EntryFacts> read_cuda_core_entry(std::string_view /*entry*/, std::vector<CacheFile>& files) {
  if (files.size() != 1) return not_taken("it is not one file");
  return read_cubin(files.front().content);
}

}  // namespace

const CacheTool kCudaCoreCache{.name = "cuda.core",
                               .entries = "entries",
                               .shape = CacheTool::Shape::file,
                               .is_entry = is_cuda_core_entry,
                               .read = read_cuda_core_entry};

}  // namespace cubinet
