// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/log.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// The largest file of a template or a source, in bytes.
inline constexpr std::uint64_t kMaximumTemplateBytes = std::uint64_t{16} << 20;

// The source of a template and the file beside it that declares it. `declaration` is empty if the
// source contains the declaration.
struct TemplateFile {
  std::filesystem::path source;
  std::filesystem::path declaration;

  Result<std::shared_ptr<const KernelTemplate>> read(FileSystem& files) const;
};

// Returns the templates that an entry of SessionOptions::template_files names: a source, the
// declaration beside one, or a folder. The templates of a folder are its .cu files with a
// declaration. Returns invalid_argument for a folder without any.
Result<std::vector<TemplateFile>> find_templates(FileSystem& files, const std::string& name);

// Returns all files of these templates that can be determined. Outputs must not overwrite them.
std::vector<std::string> files_of_templates(FileSystem& files, const std::vector<std::string>& names);

// Returns a catalog of the built-in templates, the templates of these files and folders, and the
// kernels of the catalogs of sources that the home keeps. A kernel of a catalog whose name is taken
// is left out, with a warning. An empty home has none.
Result<TemplateCatalog> load_catalog(FileSystem& files, const std::vector<std::string>& names,
                                     const std::string& home = {}, const LogSink& log = {});

// Returns invalid_argument, with the nearest names, for a parameter that the template does not
// have.
Result<void> check_parameter_name(const KernelTemplate& kernel_template, std::string_view name);

}  // namespace cubinet
