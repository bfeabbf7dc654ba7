// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/imports.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace cubinet::test {

// Imports that keep their input in memory and can be made to fail. The tests of importing check the
// data that reaches the home. Tests of the tool check real imports.
class MemoryImports : public Imports {
 public:
  Result<std::vector<ImportSummary>> list() override {
    std::vector<ImportSummary> summaries;
    for (const auto& [number, import] : imports) {
      summaries.push_back({number, import.folder, import.pin, import.version, import.placement,
                           import.rows.size(), import.plain.size(), import.files.size(), 0, false});
    }
    return summaries;
  }
  Result<std::shared_ptr<const ArtifactImport>> read(std::uint64_t number) override {
    const auto found = imports.find(number);
    if (found == imports.end()) return std::shared_ptr<const ArtifactImport>();
    return std::make_shared<const ArtifactImport>(found->second);
  }
  Result<std::uint64_t> publish(const ArtifactImport& import) override {
    std::erase_if(imports, [&](const auto& earlier) { return earlier.second.folder == import.folder; });
    imports.insert_or_assign(++last, import);
    return last;
  }
  Result<bool> remove(std::uint64_t number) override { return imports.erase(number) > 0; }
  Result<void> bring(const std::string& file, const Sha256Digest& digest, ArtifactPlacement how) override {
    const std::lock_guard lock(mutex);
    if (brought.size() == room) return Error{ErrorCode::io, "no space is left"};
    brought.push_back({file, {digest, how}});
    return {};
  }
  Result<std::vector<VerifiedFile>> verified(const std::string& folder) override {
    std::vector<VerifiedFile> files;
    for (const auto& [name, file] : memory[folder])
      files.push_back(file);
    return files;
  }
  Result<void> remember(const std::string& folder, std::span<const VerifiedFile> files) override {
    const std::lock_guard lock(mutex);
    if (forgets) return Error{ErrorCode::io, "no space is left"};
    for (const VerifiedFile& file : files)
      memory[folder].insert_or_assign(file.name, file);
    return {};
  }

  std::mutex mutex;
  std::map<std::uint64_t, ArtifactImport> imports;
  std::uint64_t last = 0;
  std::map<std::string, std::map<std::string, VerifiedFile>> memory;
  std::vector<std::pair<std::string, std::pair<Sha256Digest, ArtifactPlacement>>> brought;
  std::size_t room = static_cast<std::size_t>(-1);  // for imported files
  bool forgets = false;
};

}  // namespace cubinet::test
