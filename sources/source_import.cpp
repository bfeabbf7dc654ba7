// SPDX-License-Identifier: Apache-2.0
#include "listed_files.hpp"
#include "manifest_check.hpp"
#include "wheel_licences.hpp"

#include <cubinet/base/absolute_path.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>
#include <cubinet/sources/source_import.hpp>

#include <set>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

// A verified manifest with the content of its files.
struct CheckedSources {
  SourceManifest manifest;
  std::map<std::string, Bytes> contents;
};

// Keeps the files that a kernel is compiled from.
void drop_unused_files(SourceManifest& manifest) {
  std::set<std::string> used;
  for (const SourceKernel& kernel : manifest.kernels) {
    used.insert(kernel.source);
    used.insert(kernel.headers.begin(), kernel.headers.end());
  }
  std::erase_if(manifest.files, [&](const SourceFile& file) { return !used.contains(file.path); });
}

Result<CheckedSources> check_sources(FileSystem& files, const fs::path& file, const fs::path& folder,
                                     bool paths_begin_at_folder) {
  CUBINET_TRY_ASSIGN(const Bytes text, files.read(file, kMaximumListedBytes));
  CheckedSources checked;
  CUBINET_TRY_ASSIGN(checked.manifest,
                     parse_source_manifest(as_text(text), "'" + printable(file.string()) + "'"));
  SourceManifest& manifest = checked.manifest;
  fs::path base = folder;
  if (!paths_begin_at_folder) {
    CUBINET_TRY_ASSIGN(base, base_of(files, file, folder, manifest));
    CUBINET_TRY_ASSIGN(FoundLicences found, find_licences(files, file, folder));
    if (!found.library.empty()) manifest.library = found.library;
    for (auto& [path, licence] : found.texts) {
      // A licence that the manifest lists is verified below.
      if (manifest.find(path) != nullptr) continue;
      manifest.licences.push_back({path, sha256(licence)});
      checked.contents.emplace(path, std::move(licence));
    }
    // The names of the licences are not the manifest's, and the home reads them again.
    CUBINET_TRY(check_manifest(manifest, "'" + printable(file.string()) + "'"));
  }
  for (const std::vector<SourceFile>* list : {&manifest.files, &manifest.licences}) {
    for (const SourceFile& listed : *list) {
      if (checked.contents.contains(listed.path)) continue;
      CUBINET_TRY_ASSIGN(checked.contents[listed.path], read_listed(files, base, listed));
    }
  }
  for (const SourceKernel& kernel : manifest.kernels)
    CUBINET_TRY(text_of_kernel(kernel, as_text(checked.contents.at(kernel.source))));
  drop_unused_files(manifest);
  return checked;
}

// Returns invalid_argument if a kernel has the name of a built-in template.
Result<void> check_kernel_names(const SourceManifest& manifest, const TemplateCatalog& templates) {
  for (const SourceKernel& kernel : manifest.kernels) {
    if (!templates.find(kernel.name)) continue;
    return Error{ErrorCode::invalid_argument, "its kernel '" + kernel.name + "' has the name of a template"};
  }
  return {};
}

Result<std::vector<fs::path>> manifests_of(FileSystem& files, const SourceImportOptions& options,
                                           const fs::path& folder) {
  if (!options.manifest.empty()) return std::vector<fs::path>{options.manifest};
  CUBINET_TRY_ASSIGN(auto manifests, find_manifests(files, folder));
  if (!manifests.empty()) return manifests;
  return Error{ErrorCode::not_found, "'" + printable(folder.string()) + "' has no manifest of sources",
               "name a folder with a file whose name ends in manifest.json"};
}

}  // namespace

Result<SourceImportReport> import_sources(FileSystem& files, const SourceImportOptions& options,
                                          const SourceCatalogs& catalogs, const LogSink& log) {
  SourceImportReport report;
  if (!options.removed.empty()) CUBINET_TRY(catalogs.remove(options.removed));
  CUBINET_TRY_ASSIGN(std::vector<SourceManifest> kept, catalogs.list(log));
  if (options.folder.empty()) {
    report.catalogs = std::move(kept);
    report.lists_kernels = true;
    return report;
  }
  CUBINET_TRY_ASSIGN(const fs::path folder, absolute_path(options.folder));
  CUBINET_TRY_ASSIGN(const auto manifests, manifests_of(files, options, folder));
  CUBINET_TRY_ASSIGN(const TemplateCatalog templates, TemplateCatalog::builtin());
  std::set<std::string> imported;
  for (const fs::path& file : manifests) {
    auto checked = check_sources(files, file, folder, !options.manifest.empty());
    if (checked) {
      if (auto named = check_kernel_names(checked->manifest, templates); !named)
        checked = std::move(named).error();
    }
    if (checked && imported.contains(checked->manifest.name)) {
      checked =
          Error{ErrorCode::invalid_argument, "two manifests are called '" + checked->manifest.name + "'"};
    }
    if (checked) {
      auto saved = catalogs.save(checked->manifest, checked->contents);
      if (!saved && saved.error().code != ErrorCode::invalid_argument) return saved.error();
      if (!saved) checked = std::move(saved).error();
    }
    if (checked) {
      imported.insert(checked->manifest.name);
      report.catalogs.push_back(std::move(checked->manifest));
      continue;
    }
    const bool is_foreign = checked.error().code == ErrorCode::unsupported && options.manifest.empty();
    (is_foreign ? report.skipped : report.refused).push_back({file, std::move(checked).error()});
  }
  return report;
}

}  // namespace cubinet
