// SPDX-License-Identifier: Apache-2.0
#include "listed_files.hpp"
#include "wheel_licences.hpp"

#include <cubinet/base/absolute_path.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>
#include <cubinet/sources/source_import.hpp>

#include <algorithm>
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

// The names of kernels and catalogs that exist already.
class TakenNames {
 public:
  TakenNames(const std::vector<SourceManifest>& kept, TemplateCatalog templates)
      : templates_(std::move(templates)) {
    for (const SourceManifest& catalog : kept)
      kept_[catalog.name] = kernel_names(catalog);
  }

  // Returns invalid_argument if the catalog has a name of another one.
  Result<void> add(const SourceManifest& manifest) {
    const auto taken = [](const std::string& reason) {
      return Error{ErrorCode::invalid_argument, reason, "remove one of the catalogs"};
    };
    if (imported_.contains(manifest.name)) return taken("two manifests are called '" + manifest.name + "'");
    for (const SourceKernel& kernel : manifest.kernels) {
      if (templates_.find(kernel.name))
        return taken("its kernel '" + kernel.name + "' has the name of a template");
      for (const auto& [catalog, kernels] : kept_) {
        if (catalog != manifest.name && kernels.contains(kernel.name))
          return taken("its kernel '" + kernel.name + "' is also in the catalog '" + catalog + "'");
      }
    }
    imported_.insert(manifest.name);
    kept_[manifest.name] = kernel_names(manifest);
    return {};
  }

 private:
  static std::set<std::string> kernel_names(const SourceManifest& manifest) {
    std::set<std::string> names;
    for (const SourceKernel& kernel : manifest.kernels)
      names.insert(kernel.name);
    return names;
  }

  const TemplateCatalog templates_;
  std::map<std::string, std::set<std::string>> kept_;
  std::set<std::string> imported_;
};

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
  CUBINET_TRY_ASSIGN(TemplateCatalog templates, TemplateCatalog::builtin());
  TakenNames names(kept, std::move(templates));
  for (const fs::path& file : manifests) {
    auto checked = check_sources(files, file, folder, !options.manifest.empty());
    if (checked) {
      if (auto added = names.add(checked->manifest); !added) checked = std::move(added).error();
    }
    if (checked) {
      CUBINET_TRY(catalogs.save(checked->manifest, checked->contents));
      report.catalogs.push_back(std::move(checked->manifest));
      continue;
    }
    const bool is_foreign = checked.error().code == ErrorCode::unsupported && options.manifest.empty();
    (is_foreign ? report.skipped : report.refused).push_back({file, std::move(checked).error()});
  }
  return report;
}

}  // namespace cubinet
