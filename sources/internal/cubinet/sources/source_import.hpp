// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/sources/source_catalogs.hpp>

#include <string>
#include <vector>

namespace cubinet {

struct SourceImportOptions {
  // A folder with manifests and the files that they list, such as an unpacked wheel. Empty: nothing
  // is imported, and the report has the catalogs of the home.
  std::filesystem::path folder = {};
  // A manifest that may be anywhere. Its paths begin at the folder. Empty: those in the folder.
  std::filesystem::path manifest = {};
  std::string removed = {};  // the name of a catalog that is removed first; empty: none
};

// A manifest that was not imported, and why.
struct LeftManifest {
  std::filesystem::path file;
  Error reason;
};

struct SourceImportReport {
  std::vector<SourceManifest> catalogs;  // that were imported, or that the home has
  std::vector<LeftManifest> refused;     // something is wrong with these
  std::vector<LeftManifest> skipped;     // manifests of other schemas or languages
  bool lists_kernels = false;            // if true, the text for people has them
};

// Verifies the manifests of a folder and every file that they list, and keeps them in the home as
// catalogs. Each manifest is imported whole or not at all. A catalog of the same name is replaced;
// if its new manifest is refused, it stays as it is. A kernel must not have the name of a built-in
// template or of a kernel in another catalog. Returns not_found if the folder has no manifest or
// there is no catalog to remove, and the errors of SourceCatalogs.
Result<SourceImportReport> import_sources(FileSystem& files, const SourceImportOptions& options,
                                          const SourceCatalogs& catalogs, const LogSink& log = {});

}  // namespace cubinet
