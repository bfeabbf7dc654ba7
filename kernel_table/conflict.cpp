// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_table/conflict.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace cubinet {
namespace {

struct Entry {
  Bytes identity;
  KernelRow row;
};

// What two rows must share to be one entry: the bytes and what a launch needs to know of them.
auto content_of(const KernelRow& row) {
  return std::tie(row.digest, row.function_name, row.shared_bytes, row.threads);
}

// Smaller comes first. Within an origin the higher version does; `stale` decides before all else.
auto place_of(const KernelRow& row) {
  return std::tuple(row.provenance.stale, row.provenance.origin, ~row.provenance.version);
}

// A total order, so that the kept one of several equal entries is always the same.
bool goes_before(const Entry& a, const Entry& b) {
  if (a.identity != b.identity) return a.identity < b.identity;
  if (place_of(a.row) != place_of(b.row)) return place_of(a.row) < place_of(b.row);
  if (content_of(a.row) != content_of(b.row)) return content_of(a.row) < content_of(b.row);
  return a.row.provenance.source < b.row.provenance.source;
}

using Position = std::vector<Entry>::iterator;

// [begin, end) are the rows of one identity, best place first.
void resolve_group(Position begin, Position end, ResolvedRows& resolved) {
  if (!begin->row.provenance.stale) {
    const auto first_stale =
        std::find_if(begin, end, [](const Entry& entry) { return entry.row.provenance.stale; });
    resolved.stale += static_cast<std::size_t>(end - first_stale);
    end = first_stale;
  }
  const auto same_content = [&](const Entry& entry) {
    return content_of(entry.row) == content_of(begin->row);
  };
  const auto shares_first_place = [&](const Entry& entry) {
    return place_of(entry.row) == place_of(begin->row);
  };
  const auto first_place_end = std::find_if_not(begin, end, shares_first_place);
  const bool decided = std::all_of(begin, first_place_end, same_content);
  if (decided) {
    resolved.rows.push_back(begin->row);
    resolved.duplicates += static_cast<std::size_t>(std::count_if(begin + 1, end, same_content));
  }
  if (std::all_of(begin, end, same_content)) return;
  RowConflict conflict;
  conflict.decided = decided;
  if (decided) conflict.kept = begin->row;
  for (auto entry = begin; entry != end; ++entry) {
    if (!decided || !same_content(*entry)) conflict.refused.push_back(entry->row);
  }
  resolved.conflicts.push_back(std::move(conflict));
}

std::string name_of(const KernelRow& row) {
  static constexpr std::string_view kOrigins[] = {"compiled", "bundle", "import"};
  std::string text =
      row.function_name + " (" + std::string(kOrigins[static_cast<std::size_t>(row.provenance.origin)]);
  if (!row.provenance.source.empty()) text += " " + row.provenance.source;
  if (row.provenance.origin != RowOrigin::compiled)
    text += ", version " + std::to_string(row.provenance.version);
  return text + ", sha256 " + row.digest.to_hex().substr(0, 16) + ")";
}

}  // namespace

std::string RowConflict::to_string() const {
  std::string text = decided ? name_of(kept) + " is kept; the same kernel with other bytes is refused: "
                             : std::string("no rule decides between rows of one kernel, all are refused: ");
  const char* separator = "";
  for (const KernelRow& row : refused) {
    text += separator + name_of(row);
    separator = ", ";
  }
  return text;
}

Result<ResolvedRows> resolve_conflicts(std::vector<KernelRow> rows) {
  std::vector<Entry> entries;
  entries.reserve(rows.size());
  for (KernelRow& row : rows) {
    CUBINET_TRY(check_ranges(row));
    Bytes identity = identify(published_spec(row), row.target).encoding();
    entries.push_back({std::move(identity), std::move(row)});
  }
  std::sort(entries.begin(), entries.end(), goes_before);
  ResolvedRows resolved;
  for (auto begin = entries.begin(); begin != entries.end();) {
    const auto end = std::find_if(begin, entries.end(),
                                  [&](const Entry& entry) { return entry.identity != begin->identity; });
    resolve_group(begin, end, resolved);
    begin = end;
  }
  return resolved;
}

}  // namespace cubinet
