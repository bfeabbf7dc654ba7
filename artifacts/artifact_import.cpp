// SPDX-License-Identifier: Apache-2.0
#include "earlier_import.hpp"
#include "file_check.hpp"
#include "folder_plan.hpp"
#include "judgement.hpp"

#include <cubinet/artifacts/artifact_folder.hpp>
#include <cubinet/artifacts/artifact_import.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

#include <algorithm>
#include <mutex>
#include <span>
#include <utility>

namespace cubinet {
namespace {

// Publishes the files to the home, a chunk at a time. The first error ends it.
Result<bool> bring_files(const ArtifactImport& import, const ArtifactImportOptions& options,
                         Imports& imports) {
  if (import.placement == ArtifactPlacement::in_place) return true;
  const std::size_t batch = std::max<std::size_t>(options.files_per_batch, 1);
  const std::size_t batches = (import.files.size() + batch - 1) / batch;
  std::mutex mutex;
  std::optional<Error> failure;
  std::size_t brought = 0;
  run_batches(options, import.folder, batches, [&](std::size_t number) {
    const std::size_t begin = number * batch;
    const std::size_t end = std::min(begin + batch, import.files.size());
    for (std::size_t i = begin; i < end; ++i) {
      {
        const std::lock_guard lock(mutex);
        if (failure) break;
      }
      const ArtifactFile& file = import.files[i];
      std::error_code unresolved;  // a link to a file is resolved to the file's path
      std::filesystem::path path =
          std::filesystem::canonical(std::filesystem::path(import.folder) / file.name, unresolved);
      if (unresolved) path = std::filesystem::path(import.folder) / file.name;
      auto done = imports.bring(path.native(), file.digest, import.placement);
      const std::lock_guard lock(mutex);
      if (done) {
        ++brought;
      } else if (!failure) {
        failure = std::move(done).error();
      }
    }
    return plural(end - begin, "file") + " brought into the home";
  });
  if (failure) return *std::move(failure);
  return brought == import.files.size();
}

class RootImport {
 public:
  RootImport(const ArtifactImportOptions& options, Imports& imports) : options_(options), imports_(imports) {}

  Result<ArtifactImportReport> run(const std::filesystem::path& root) {
    CUBINET_TRY_ASSIGN(const ArtifactFolders found, find_artifact_folders(root));
    for (const UnreadableFolder& folder : found.unreadable) {
      report_.total.findings[static_cast<std::size_t>(ArtifactFindingKind::damaged)].add(
          {folder.path.filename().string(), folder.reason, folder.path.parent_path()});
    }
    if (found.folders.empty()) {
      return Error{ErrorCode::invalid_argument, "'" + root.string() + "' holds no published cubins",
                   "name a folder with a checksums.txt, a metadata header or cubins, or one above it"};
    }
    for (const ArtifactFolder& folder : found.folders) {
      if (report_.interrupted) break;
      CUBINET_TRY(import_folder(folder, found.unreadable));
    }
    std::sort(specifications_.begin(), specifications_.end());
    const auto end = std::unique(specifications_.begin(), specifications_.end());
    report_.specifications = static_cast<std::uint64_t>(end - specifications_.begin());
    return std::move(report_);
  }

 private:
  Result<void> import_folder(const ArtifactFolder& folder, std::span<const UnreadableFolder> unreadable) {
    CUBINET_TRY_ASSIGN(const auto earlier, earlier_import(folder.path, imports_));
    ArtifactFolderReport report;
    report.folder = folder.path;
    FindingSink findings(folder.path, report.counts);
    FolderPlan plan = plan_folder(folder, findings);
    CUBINET_TRY_ASSIGN(const FolderCheck check, check_files(folder.path, plan, options_, imports_));
    if (!check.complete) {
      report_.interrupted = true;
      return {};
    }
    const auto kept_for = earlier ? reasons_to_keep(*earlier, folder, plan, check, unreadable, findings)
                                  : std::vector<std::filesystem::path>();
    ArtifactImport import = judge(folder.path, std::move(plan), check, report.counts);
    if (!kept_for.empty()) {
      say_that_it_stays(kept_for, report.counts);
      say_that_it_stays(kept_for, report_.total);  // unreadable folders are reported already
      count_earlier(*earlier, report.counts);
      report.number = earlier->number;
      note(std::move(report));
      return {};
    }
    import.placement = options_.placement;
    CUBINET_TRY_ASSIGN(const bool brought, bring_files(import, options_, imports_));
    if (!brought) {
      report_.interrupted = true;
      return {};
    }
    if (import.files.empty()) {
      // Nothing of the folder is usable, so the result of an earlier import is not either.
      if (earlier) CUBINET_TRY(imports_.remove(earlier->number));
    } else {
      CUBINET_TRY_ASSIGN(report.number, imports_.publish(import));
    }
    note_specifications(import.rows);
    note(std::move(report));
    return {};
  }

  void note(ArtifactFolderReport report) {
    report_.total.add(report.counts);
    report_.folders.push_back(std::move(report));
  }

  void note_specifications(const std::vector<KernelRow>& rows) {
    for (const KernelRow& row : rows)
      specifications_.push_back(encode_row(row));
  }

  const ArtifactImportOptions& options_;
  Imports& imports_;
  ArtifactImportReport report_;
  std::vector<Bytes> specifications_;
};

}  // namespace

std::string_view to_string(ArtifactFindingKind kind) {
  static constexpr std::string_view kNames[kArtifactFindingKinds] = {"missing", "extra", "damaged",
                                                                     "conflict", "ignored"};
  return kNames[static_cast<std::size_t>(kind)];
}

void ArtifactFindings::add(ArtifactFinding finding) {
  ++count;
  if (first.size() < kMaximumListedFindings) first.push_back(std::move(finding));
}

bool ArtifactCounts::sound() const {
  return of(ArtifactFindingKind::damaged).count == 0 && of(ArtifactFindingKind::missing).count == 0 &&
         of(ArtifactFindingKind::conflict).count == 0;
}

void ArtifactCounts::add(const ArtifactCounts& other) {
  rows += other.rows;
  plain += other.plain;
  cubins += other.cubins;
  bytes += other.bytes;
  read += other.read;
  unchecked_names += other.unchecked_names;
  for (const auto& [target, count] : other.targets)
    targets[target] += count;
  for (const auto& [target, count] : other.elf_targets)
    elf_targets[target] += count;
  for (std::size_t kind = 0; kind < findings.size(); ++kind) {
    const std::uint64_t sum = findings[kind].count + other.findings[kind].count;
    for (const ArtifactFinding& finding : other.findings[kind].first)
      findings[kind].add(finding);
    findings[kind].count = sum;
  }
}

Result<ArtifactImportReport> import_artifacts(const std::filesystem::path& root,
                                              const ArtifactImportOptions& options, Imports& imports) {
  return RootImport(options, imports).run(root);
}

}  // namespace cubinet
