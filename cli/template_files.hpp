// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cubinet::cli {

// The most that a file of a template or source may hold.
inline constexpr std::uint64_t kMaximumTemplateBytes = std::uint64_t{16} << 20;

// A template's source, and the file beside it that declares it: empty where it declares itself.
struct TemplateFile {
  std::filesystem::path source;
  std::filesystem::path declaration;

  Result<std::shared_ptr<const KernelTemplate>> read(FileSystem& files) const;
};

// What --template-file names: a source, the declaration beside one, or a folder, whose templates are its .cu
// files that are declared in one way or the other. invalid_argument for a folder without any.
Result<std::vector<TemplateFile>> find_templates(FileSystem& files, const std::string& name);

// All files of these templates that can be told, to be kept from being written over.
std::vector<std::string> files_of_templates(FileSystem& files, const std::vector<std::string>& names);

}  // namespace cubinet::cli
