// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/artifact_store.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace cubinet::test {

// An ArtifactStore that keeps what it is told and can be told to fail: the tests of the import look at what
// reaches the store. That a real home does the same with it is tested with the tool.
class MemoryStore : public ArtifactStore {
 public:
  Result<std::vector<ArtifactSummary>> list() override {
    std::vector<ArtifactSummary> summaries;
    for (const auto& [number, import] : imports) {
      summaries.push_back({number, import.folder, import.placement, import.rows.size(), import.plain.size(),
                           import.files.size(), 0});
    }
    return summaries;
  }
  Result<std::uint64_t> publish(const ArtifactImport& import) override {
    std::erase_if(imports, [&](const auto& earlier) { return earlier.second.folder == import.folder; });
    imports.insert_or_assign(++last, import);
    return last;
  }
  Result<bool> remove(std::uint64_t number) override { return imports.erase(number) > 0; }
  Result<void> bring(const std::filesystem::path& file, const Sha256Digest& digest,
                     ArtifactPlacement how) override {
    const std::lock_guard lock(mutex);
    if (brought.size() == room) return Error{ErrorCode::io, "no space is left"};
    brought.push_back({file, {digest, how}});
    return {};
  }
  Result<std::optional<std::shared_ptr<const Bytes>>> load(const Sha256Digest&) override {
    return std::optional<std::shared_ptr<const Bytes>>();
  }
  Result<std::vector<PlainKernel>> find_named(std::string_view) override {
    return std::vector<PlainKernel>();
  }
  Result<std::vector<VerifiedFile>> verified(const std::filesystem::path& folder) override {
    std::vector<VerifiedFile> files;
    for (const auto& [name, file] : memory[folder])
      files.push_back(file);
    return files;
  }
  Result<void> remember(const std::filesystem::path& folder, std::span<const VerifiedFile> files) override {
    const std::lock_guard lock(mutex);
    if (forgets) return Error{ErrorCode::io, "no space is left"};
    for (const VerifiedFile& file : files)
      memory[folder].insert_or_assign(file.name, file);
    return {};
  }

  std::mutex mutex;
  std::map<std::uint64_t, ArtifactImport> imports;
  std::uint64_t last = 0;
  std::map<std::filesystem::path, std::map<std::string, VerifiedFile>> memory;
  std::vector<std::pair<std::filesystem::path, std::pair<Sha256Digest, ArtifactPlacement>>> brought;
  std::size_t room = static_cast<std::size_t>(-1);  // for files that are brought
  bool forgets = false;
};

}  // namespace cubinet::test
