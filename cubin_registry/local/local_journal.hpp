// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/home_access.hpp"

#include <cubinet/cubin_registry/journal.hpp>

#include <string>

namespace cubinet {

// Encode and decode the lines of a journal's file. A torn or damaged line costs no other.
std::string encode_journal_line(const JournalLine& line);
JournalLines decode_journal(std::string_view bytes);

// The journal of a home as a file. Refers to its arguments, which must outlive it.
class LocalJournal final : public HomeJournal {
 public:
  LocalJournal(FileStore& store, const HomeAccess& access) : store_(store), access_(access) {}

  Result<void> add(std::string_view text) override;
  Result<JournalLines> read() override;
  // Drops lines that are older than kMaximumAge and, if the file is longer than kMaximumBytes, the
  // oldest ones. Does nothing while another process appends or shortens. REQUIRES: the home can be
  // written.
  Result<void> shorten();

 private:
  Result<std::string> content() const;

  FileStore& store_;
  const HomeAccess& access_;
};

}  // namespace cubinet
