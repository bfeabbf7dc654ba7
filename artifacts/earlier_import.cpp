// SPDX-License-Identifier: Apache-2.0
#include "earlier_import.hpp"

#include <algorithm>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAnyHeader = "*MetaInfo.h";

bool lies_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

}  // namespace

Result<std::optional<ImportSummary>> earlier_import(const fs::path& folder, Imports& imports) {
  CUBINET_TRY_ASSIGN(const auto known, imports.list());
  std::optional<ImportSummary> earlier;
  for (const ImportSummary& import : known) {
    if (import.folder == folder) earlier = import;
  }
  return earlier;
}

std::vector<fs::path> reasons_to_keep(const ImportSummary& earlier, const ArtifactFolder& folder,
                                      const FolderPlan& plan, const FolderCheck& check,
                                      std::span<const UnreadableFolder> unreadable, FindingSink& findings) {
  std::vector<fs::path> paths;
  for (const UnreadableFolder& inner : unreadable) {
    if (lies_within(inner.path, folder.path)) paths.push_back(inner.path);
  }
  for (const std::string& name : plan.unread)
    paths.push_back(folder.path / name);
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    const auto& error = check.files[i].error;
    if (plan.files[i].is_cubin && error && says_nothing(*error))
      paths.push_back(folder.path / plan.files[i].name);
  }
  if (earlier.rows == 0) return paths;
  for (const std::string& name : plan.lost_headers)
    paths.push_back(folder.path / name);
  if (folder.headers.empty() && plan.lost_headers.empty()) {
    findings.add(ArtifactFindingKind::missing, kAnyHeader,
                 "the header that the folder's rows came from is not there");
    paths.push_back(folder.path / kAnyHeader);
  }
  return paths;
}

void say_that_it_stays(std::span<const fs::path> paths, ArtifactCounts& counts) {
  for (const ArtifactFindingKind kind : {ArtifactFindingKind::damaged, ArtifactFindingKind::missing}) {
    for (ArtifactFinding& finding : counts.findings[static_cast<std::size_t>(kind)].first) {
      if (std::find(paths.begin(), paths.end(), finding.folder / finding.name) == paths.end()) continue;
      finding.reason += "; the folder's earlier import stays as it is";
    }
  }
}

void count_earlier(const ImportSummary& earlier, ArtifactCounts& counts) {
  counts.rows = earlier.rows;
  counts.plain = earlier.plain;
  counts.cubins = earlier.files;
  counts.bytes = earlier.bytes;
  counts.targets.clear();  // the store does not record these
  counts.elf_targets.clear();
  counts.unchecked_names = 0;
}

}  // namespace cubinet
