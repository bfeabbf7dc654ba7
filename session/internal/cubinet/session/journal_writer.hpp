// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/build_cache.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/session/journal.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace cubinet {

// Notes the compilations of a Session in the journal of its home, or in the log if the home is
// missing or cannot be written. Never fails a request. Thread-safe.
class JournalWriter {
 public:
  // `stores` are those of the session without the Runtime's memory. `sources` may be relative.
  JournalWriter(std::shared_ptr<Home> home, const std::vector<std::shared_ptr<Store>>& stores,
                const std::vector<std::shared_ptr<BuildCache>>& caches, LogSink log,
                const JournalSources& sources = {});

  // Notes the event if it has an explanation.
  void note(const KernelEvent& event);

 private:
  JournalEntry entry_of(const KernelEvent& event) const;

  std::shared_ptr<Home> home_;  // null: not written
  std::vector<JournalStore> searched_;
  JournalSources sources_;
  std::string process_;
  std::string host_;
  LogSink log_;
  std::atomic<bool> failure_logged_{false};
};

// Returns the text of an entry for HomeJournal::add. It is at most HomeJournal::kMaximumLineBytes
// long. The time is not part of it.
std::string journal_text(const JournalEntry& entry);
// Parses such a text. Members that a later cubinet has added are ignored.
Result<JournalEntry> parse_journal_text(std::string_view text);

}  // namespace cubinet
