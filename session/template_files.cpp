// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/session/template_files.hpp>
#include <cubinet/sources/source_catalogs.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSourceEnding = ".cu";
constexpr std::string_view kDeclarationEnding = ".cubinet.json";
constexpr std::string_view kMarker = "cubinet-template";

Result<TemplateFile> template_at(FileSystem& files, const fs::path& source) {
  fs::path beside = source;
  beside.replace_extension(kDeclarationEnding);
  CUBINET_TRY_ASSIGN(const auto declared, files.status(beside));
  return TemplateFile{source, declared ? beside : fs::path()};
}

// A declaration without its source becomes a template. Reading it fails with the reason.
Result<std::vector<TemplateFile>> templates_in(FileSystem& files, const fs::path& folder) {
  CUBINET_TRY_ASSIGN(const Listing listing, files.list(folder));
  std::vector<TemplateFile> found;
  for (const std::string& name : listing.names) {
    const fs::path path = folder / name;
    if (name.ends_with(kDeclarationEnding)) {
      const std::string stem = name.substr(0, name.size() - kDeclarationEnding.size());
      found.push_back({folder / (stem + std::string(kSourceEnding)), path});
    } else if (name.ends_with(kSourceEnding)) {
      CUBINET_TRY_ASSIGN(const TemplateFile own, template_at(files, path));
      if (!own.declaration.empty()) continue;
      CUBINET_TRY_ASSIGN(const Bytes source, files.read(path, kMaximumTemplateBytes));
      if (as_text(source).find(kMarker) != std::string_view::npos) found.push_back(own);
    }
  }
  if (!found.empty()) return found;
  return Error{ErrorCode::invalid_argument,
               fmt::format("no .cu file in '{}' is a template", printable(folder.string())),
               "declare one in its first comment, or in a .cubinet.json file beside it"};
}

}  // namespace

Result<std::shared_ptr<const KernelTemplate>> TemplateFile::read(FileSystem& files) const {
  CUBINET_TRY_ASSIGN(const Bytes text, files.read(source, kMaximumTemplateBytes));
  std::error_code unknown;  // set if the working folder was removed: no file is beside this one then
  const std::string folder = fs::absolute(source, unknown).parent_path().string();
  const auto read_source = [&](const std::string& name) -> Result<std::string> {
    CUBINET_TRY_ASSIGN(const Bytes further, files.read(source.parent_path() / name, kMaximumTemplateBytes));
    return std::string(as_text(further));
  };
  if (declaration.empty())
    return KernelTemplate::parse(std::string(as_text(text)), source.string(), folder, {}, read_source);
  CUBINET_TRY_ASSIGN(const Bytes declared, files.read(declaration, kMaximumTemplateBytes));
  return KernelTemplate::parse(std::string(as_text(text)), declaration.string(), folder, as_text(declared),
                               read_source);
}

Result<std::vector<TemplateFile>> find_templates(FileSystem& files, const std::string& name) {
  std::error_code none;
  if (fs::is_directory(name, none)) return templates_in(files, name);
  std::string source = name;
  if (name.ends_with(kDeclarationEnding))
    source.replace(name.size() - kDeclarationEnding.size(), std::string::npos, kSourceEnding);
  CUBINET_TRY_ASSIGN(TemplateFile found, template_at(files, source));
  if (source != name) found.declaration = name;
  return std::vector<TemplateFile>{std::move(found)};
}

std::vector<std::string> files_of_templates(FileSystem& files, const std::vector<std::string>& names) {
  std::vector<std::string> paths = names;
  for (const std::string& name : names) {
    const auto found = find_templates(files, name);
    if (!found) continue;
    for (const TemplateFile& file : *found) {
      paths.push_back(file.source.string());
      if (!file.declaration.empty()) paths.push_back(file.declaration.string());
      const auto read = file.read(files);
      if (!read) continue;
      if (const std::string& base = (*read)->base().name; !base.empty())
        paths.push_back((file.source.parent_path() / base).string());
      for (const auto& further : (*read)->linked_sources())
        paths.push_back(
            (file.source.parent_path() / (further->name() + std::string(kSourceEnding))).string());
    }
  }
  return paths;
}

namespace {

// Adds the kernels of the home's catalogs of sources. Logs a warning if they cannot be read.
void add_catalogs(const std::string& home, const LogSink& log, TemplateCatalog& catalog) {
  const SourceCatalogs catalogs(home);
  const auto manifests = catalogs.list(log);
  if (!manifests) {
    cubinet::log(log, LogLevel::warning,
                 "the home's catalogs of sources are not read: " + manifests.error().to_line());
    return;
  }
  for (const SourceManifest& manifest : *manifests) {
    for (auto& kernel : templates_of(manifest, catalogs)) {
      if (const auto added = catalog.add(std::move(kernel)); !added)
        cubinet::log(log, LogLevel::warning,
                     fmt::format("a kernel of the catalog '{}' is left out: {}", manifest.name,
                                 added.error().to_line()));
    }
  }
}

}  // namespace

Result<TemplateCatalog> load_catalog(FileSystem& files, const std::vector<std::string>& names,
                                     const std::string& home, const LogSink& log) {
  CUBINET_TRY_ASSIGN(TemplateCatalog catalog, TemplateCatalog::builtin());
  for (const std::string& name : names) {
    CUBINET_TRY_ASSIGN(const auto found, find_templates(files, name));
    for (const TemplateFile& file : found) {
      CUBINET_TRY_ASSIGN(auto kernel_template, file.read(files));
      CUBINET_TRY(catalog.add(std::move(kernel_template)));
    }
  }
  add_catalogs(home, log, catalog);
  return catalog;
}

Result<void> check_parameter_name(const KernelTemplate& kernel_template, std::string_view name) {
  std::vector<std::string> names;
  for (const ParameterDeclaration& declaration : kernel_template.parameters())
    names.push_back(declaration.name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return {};
  const std::vector<std::string> near = nearest_names(name, names);
  return Error{
      ErrorCode::invalid_argument,
      fmt::format("the template '{}' has no parameter '{}'", kernel_template.name(), name.substr(0, 80)),
      near.empty() ? "its parameters are " + join(names) : "did you mean " + join(near, " or ") + "?"};
}

}  // namespace cubinet
