// SPDX-License-Identifier: Apache-2.0
#include "file_check.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace cubinet {
namespace {

// The interval of saving verified files. An import that is killed loses at most this much work, and
// one transaction.
constexpr std::chrono::seconds kRememberEvery{1};

FileFacts facts_of(const VerifiedFile& file) {
  return {file.size, file.modified_ns, file.changed_ns, file.inode};
}

class FolderChecker {
 public:
  FolderChecker(const std::filesystem::path& folder, const FolderPlan& plan,
                const ArtifactImportOptions& options, Imports& imports)
      : folder_(folder), plan_(plan), options_(options), imports_(imports) {
    check_.files.resize(plan.files.size());
    for (std::size_t i = 0; i < plan.files.size(); ++i) {
      if (is_checked(plan, plan.files[i])) numbers_.push_back(i);
    }
  }

  Result<FolderCheck> run() {
    if (!numbers_.empty() && !options_.read_all) {
      CUBINET_TRY_ASSIGN(known_files_, imports_.verified(folder_.native()));
    }
    known_.reserve(known_files_.size());
    for (VerifiedFile& file : known_files_)
      known_.emplace(file.name, &file);
    const std::size_t batch = std::max<std::size_t>(options_.files_per_batch, 1);
    const std::size_t batches = (numbers_.size() + batch - 1) / batch;
    run_batches(options_, folder_, batches, [&](std::size_t number) {
      const std::size_t begin = number * batch;
      return check_batch(begin, std::min(begin + batch, numbers_.size()));
    });
    remember(true);
    check_.complete = std::all_of(numbers_.begin(), numbers_.end(),
                                  [&](std::size_t number) { return check_.files[number].done; });
    return std::move(check_);
  }

 private:
  std::string check_batch(std::size_t begin, std::size_t end) {
    ArtifactReader reader;
    std::vector<VerifiedFile> verified;
    std::uint64_t bytes = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t number = numbers_[i];
      FileCheck& check = check_.files[number];
      const PlannedFile& file = plan_.files[number];
      if (recall(file, check)) continue;
      if (read(file, check, reader)) verified.push_back(check.file);
      bytes += check.file.size;
    }
    const std::size_t count = end - begin;
    {
      const std::lock_guard lock(mutex_);
      std::move(verified.begin(), verified.end(), std::back_inserter(pending_));
    }
    remember(false);
    return plural(count, "file") + ", " + std::to_string(bytes >> 20U) + " MiB read";
  }

  // Moves the stored facts of the file out of memory, because a file is recalled once. Its name is
  // a key there.
  bool recall(const PlannedFile& file, FileCheck& check) const {
    if (!file.is_cubin) return false;
    const auto found = known_.find(file.name);
    if (found == known_.end()) return false;
    const auto facts = file_facts(folder_ / file.name);
    if (!facts || *facts != facts_of(*found->second)) return false;
    VerifiedFile& known = *found->second;
    check.file = {file.name,   known.size,   known.modified_ns,          known.changed_ns,
                  known.inode, known.digest, std::move(known.inspection)};
    check.done = true;
    return true;
  }

  // Returns whether the file can be recognised later by its facts.
  bool read(const PlannedFile& file, FileCheck& check, ArtifactReader& reader) const {
    check.done = true;
    check.read = true;
    check.file.name = file.name;
    auto content = reader.read(folder_ / file.name);
    if (!content) {
      check.error = std::move(content).error();
      return false;
    }
    check.file.size = content->bytes.size();
    check.file.modified_ns = content->facts.modified_ns;
    check.file.changed_ns = content->facts.changed_ns;
    check.file.inode = content->facts.inode;
    check.file.digest = sha256(content->bytes);
    if (!file.is_cubin) return false;
    auto inspection = inspect_cubin(content->bytes);
    if (!inspection) {
      check.not_cubin = std::move(inspection).error();
      return false;
    }
    check.file.inspection = *std::move(inspection);
    return content->settled;
  }

  // Saves the verified files. One thread at a time writes, the others continue.
  void remember(bool all) {
    std::vector<VerifiedFile> files;
    {
      const std::lock_guard lock(mutex_);
      const auto now = std::chrono::steady_clock::now();
      if (pending_.empty() || (!all && now - remembered_ < kRememberEvery)) return;
      remembered_ = now;
      files = std::exchange(pending_, {});
    }
    const std::lock_guard lock(writing_);
    if (const auto written = imports_.remember(folder_.native(), files); !written) {
      log(options_.log, LogLevel::warning,
          "what was verified is not remembered: " + written.error().to_line());
    }
  }

  const std::filesystem::path& folder_;
  const FolderPlan& plan_;
  const ArtifactImportOptions& options_;
  Imports& imports_;
  std::vector<std::size_t> numbers_;  // the files to check
  std::vector<VerifiedFile> known_files_;
  std::unordered_map<std::string_view, VerifiedFile*> known_;
  FolderCheck check_;
  std::mutex mutex_;  // guards the next two
  std::vector<VerifiedFile> pending_;
  std::chrono::steady_clock::time_point remembered_ = std::chrono::steady_clock::now();
  std::mutex writing_;
};

}  // namespace

void run_batches(const ArtifactImportOptions& options, const std::filesystem::path& folder, std::size_t count,
                 const std::function<std::string(std::size_t)>& work) {
  if (count == 0) return;
  if (options.run) return options.run(folder, count, work);
  for (std::size_t i = 0; i < count && !(options.cancelled && options.cancelled()); ++i)
    work(i);
}

Result<FolderCheck> check_files(const std::filesystem::path& folder, const FolderPlan& plan,
                                const ArtifactImportOptions& options, Imports& imports) {
  return FolderChecker(folder, plan, options, imports).run();
}

}  // namespace cubinet
