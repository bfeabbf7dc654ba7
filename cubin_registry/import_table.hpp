// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "import_files.hpp"
#include "index_statements.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// An import as the index knows it, and the file that it was made from.
struct IndexedImport {
  ImportStamp stamp;
  ArtifactSummary summary;
};

// Where an image is that an import names.
struct ArtifactLocation {
  std::filesystem::path folder;
  ArtifactPlacement placement = ArtifactPlacement::in_place;
  ArtifactFile file;
};

// A kernel and the import that it is of.
struct NamedKernel {
  std::uint64_t import = 0;
  PlainKernel kernel;
};

// The tables `imports`, `plain_kernels` and `artifact_files` of an index. Not thread-safe. Whoever changes
// them holds the write transaction.
class ImportTable {
 public:
  Result<void> prepare(sqlite::Database& database);
  void abandon() { statements_.abandon(); }

  Result<std::vector<IndexedImport>> list();  // ascending by number
  // Last pinned first.
  Result<std::vector<ArtifactLocation>> locate(const Sha256Digest& digest);
  // Of all imports, in the order in which they were written. corruption for a row that is not what was
  // written.
  Result<std::vector<NamedKernel>> plain_kernels();

  Result<void> insert(const StoredImport& import);  // without its rows
  Result<void> erase(std::uint64_t number);
  Result<void> clear();

 private:
  Result<void> insert_plain(std::int64_t number, const PlainKernel& kernel);
  Result<void> insert_file(std::int64_t number, const ArtifactFile& file);

  IndexStatements statements_;
};

}  // namespace cubinet
