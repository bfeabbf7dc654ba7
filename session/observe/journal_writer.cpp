// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/absolute_path.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/journal.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>
#include <cubinet/session/journal_writer.hpp>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <unistd.h>

namespace cubinet {
namespace {

constexpr std::size_t kShownBytes = 400;  // of one text of an entry
constexpr std::size_t kShownStores = 16;
constexpr std::size_t kShownVerdicts = 4;  // of one store

std::string shown(std::string_view text) {
  return printable(text, kShownBytes);
}

// Returns absolute paths. A path that has no absolute form or cannot be printed is left out, and
// the command that needs it then reports what is missing.
std::vector<std::string> absolute_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> absolute;
  for (const std::string& path : paths) {
    const auto whole = absolute_path(path);
    if (whole && printable(whole->string()) == whole->string()) absolute.push_back(whole->string());
  }
  return absolute;
}

// Returns whether the kernel is of a template that a program has named.
bool has_own_template(const KernelSpec& spec) {
  if (spec.maker != KernelMaker::kernel_template) return false;
  const auto builtin = TemplateCatalog::builtin();
  return builtin && !builtin->find(spec.name);
}

std::string host_name() {
  std::array<char, 256> name = {};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

}  // namespace

JournalWriter::JournalWriter(std::shared_ptr<Home> home, const std::vector<std::shared_ptr<Store>>& stores,
                             const std::vector<std::shared_ptr<BuildCache>>& caches, LogSink log,
                             const JournalSources& sources)
    : sources_{absolute_paths(sources.template_files), absolute_paths(sources.include_directories),
               absolute_paths(sources.library_directories)},
      process_(shown(program_invocation_short_name)),
      host_(shown(host_name())),
      log_(std::move(log)) {
  if (home != nullptr && home->description().writable) home_ = std::move(home);
  searched_.push_back({.kind = "memory", .place = ""});
  for (const auto& store : stores)
    searched_.push_back({.kind = store->description().kind, .place = shown(store->description().place)});
  for (const auto& cache : caches)
    searched_.push_back({.kind = "cache", .place = shown(cache->place())});
  if (searched_.size() > kShownStores) searched_.resize(kShownStores);
}

JournalEntry JournalWriter::entry_of(const KernelEvent& event) const {
  JournalEntry entry;
  entry.process = process_;
  entry.pid = ::getpid();
  entry.host = host_;
  entry.caller = shown(event.caller);
  entry.kernel = shown(event.spec.to_string());
  entry.spec = event.spec;
  if (has_own_template(event.spec)) entry.sources = sources_;
  entry.key = event.key.to_string();
  if (event.target) entry.target = event.target->to_string();
  entry.device = event.device;
  if (event.capability) entry.capability = event.capability->to_string();
  entry.seconds = event.total_seconds;
  entry.compile_seconds = event.compile_seconds;
  entry.wait_seconds = event.wait_seconds;
  entry.load_seconds = event.load_seconds;
  entry.stores = searched_;
  for (const UnreadableBuilds& unread : event.explanation->unreadable) {
    if (unread.store >= entry.stores.size()) continue;
    auto& verdicts = entry.stores[unread.store].verdicts;
    if (verdicts.size() < kShownVerdicts) verdicts.push_back(shown(unread.error.to_line()));
  }
  for (const ExplainedBuild& build : event.explanation->builds) {
    if (build.store >= entry.stores.size()) continue;
    auto& verdicts = entry.stores[build.store].verdicts;
    if (verdicts.size() < kShownVerdicts)
      verdicts.push_back(shown(build.record->target_name() + ": " + build.verdict));
  }
  for (const ExplainedBuild& near : event.explanation->nearest) {
    std::string why = join(near.differences);
    if (!near.verdict.empty()) why += (why.empty() ? "" : "; ") + near.verdict;
    entry.nearest.push_back(shown(fmt::format("{} for {}: {}", near.record->identity.key().to_string(),
                                              near.record->target_name(), why)));
  }
  return entry;
}

void JournalWriter::note(const KernelEvent& event) {
  if (event.explanation == nullptr) return;
  const std::string text = journal_text(entry_of(event));
  if (home_ == nullptr) {
    const std::array<LogField, 2> fields = {LogField{"event", "compilation"}, LogField{"journal", text}};
    log(log_, LogLevel::info, event.spec.to_string() + " was compiled because no store had a usable build",
        fields);
    return;
  }
  const auto added = home_->journal().add(text);
  if (added) return;
  log(log_, failure_logged_.exchange(true) ? LogLevel::debug : LogLevel::warning,
      "a compilation is not noted in the journal: " + added.error().to_line());
}

}  // namespace cubinet
