// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// The journal of a home: one entry for each kernel that a Session compiled for a request because no
// store had a usable build (docs/observability.md). Sessions append to it after the compilation.

// A store that was searched, and its builds of the kernel.
struct JournalStore {
  std::string kind = {};   // StoreDescription::kind, or "cache"
  std::string place = {};  // empty for memory
  // Why its builds were not used: "sm_90a: stale: …". First come files that cannot be read, or the
  // failure of the store, with reason and remedy. Empty: it had no build.
  std::vector<std::string> verdicts = {};
};

// The files and folders that a program named for its own templates, by absolute path.
struct JournalSources {
  std::vector<std::string> template_files = {};
  std::vector<std::string> include_directories = {};
  std::vector<std::string> library_directories = {};
};

// One compilation. All texts are printable on one line. Times are in seconds.
struct JournalEntry {
  std::chrono::sys_time<std::chrono::milliseconds> time;  // its end
  std::string process;                                    // the program's name
  std::int64_t pid = 0;
  std::string host;
  std::string caller = {};  // KernelEvent::caller
  std::string kernel;       // the specification as a text
  // The specification. nullopt if it was too large for the journal.
  std::optional<KernelSpec> spec = {};
  JournalSources sources = {};  // empty for a built-in template, and if they were too large
  std::string key;              // 16 hexadecimal digits
  std::string target;           // "sm_90a"
  std::int64_t device = 0;
  std::string capability;  // "9.0"
  double seconds = 0;      // of the whole request
  double compile_seconds = 0;
  double wait_seconds = 0;
  double load_seconds = 0;
  std::vector<JournalStore> stores = {};  // in the order of the search, caches last
  // The nearest kernels of the stores: "0123456789abcdef for sm_90a: tile 32 instead of 16".
  std::vector<std::string> nearest = {};

  // Returns what would have avoided the compilation.
  std::string remedy() const;
};

struct JournalReport {
  std::vector<JournalEntry> entries;  // by time, the newest last
  std::size_t damaged = 0;            // lines that cannot be read, for example of a crashed process
  std::size_t newer = 0;              // lines of a later version of cubinet
};

// Selects entries.
struct JournalQuery {
  // The begin: "90s", "30m", "3h" or "7d" ago, or a time in UTC such as "2026-11-27T03:00Z". Empty:
  // all entries.
  std::string since = {};
  // A key, the name of a template or source, or a part of the specification's text. Empty: every
  // kernel.
  std::string kernel = {};
};

// Returns the entries of a home. A home without a journal has none. Returns invalid_argument for a
// time that is none, and the errors of reading the file.
Result<JournalReport> read_journal(Home& home, const JournalQuery& query = {});

// Returns an entry as lines for people, without the remedy.
std::string to_text(const JournalEntry& entry);

// Returns {"entries", "damaged", "newer"} as JSON. Each entry has "remedy" too.
std::string to_json(const JournalReport& report);

}  // namespace cubinet
