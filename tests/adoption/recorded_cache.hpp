// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache_tool.hpp"
#include "support/fake_cubin.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/adoption/adoption.hpp>
#include <cubinet/cubin_registry/home.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::test {

// Entries of Triton 3.9.0 for 9.0 and 8.0, and of cuda.core 1.2.2 for 9.0.
inline constexpr std::string_view kTritonHopper = "YOMA6WBTAY4J6E5S73OL2YVRJRIDH6EAYOZONAFMOR76CCMGTORA";
inline constexpr std::string_view kTritonAmpere = "J27T7NINZP3SHBTQ2NUM5JURC5JWGZPCA37MZTKDPHXJC57ES3FA";
inline constexpr std::string_view kCudaCoreHopper =
    "4f549700986f6d6ddd9652a5944f30ededf8829eb4320b1f735ac366ac3e3418";
inline constexpr std::string_view kDeepJit = "scale.0123456789abcdef0123456789abcdef";

std::filesystem::path recorded(std::string_view cache);

std::string read_file(const std::filesystem::path& path);
// The files of a folder, ascending by name.
std::vector<CacheFile> files_in(const std::filesystem::path& folder);
CacheFile cache_file(std::string name, std::string_view content);

// A cache as DeepJIT lays it out: one entry, for 9.0.
void write_deepjit_cache(const std::filesystem::path& folder, std::string_view arch = "90a");

std::shared_ptr<Home> open_home(const TempDir& folder);

}  // namespace cubinet::test
