// SPDX-License-Identifier: Apache-2.0
#include "bare_sqlite.hpp"
#include "benchmarks.hpp"
#include "published/selection.hpp"
#include "table_rows.hpp"

#include <cubinet/cubin_registry/imports.hpp>
#include <cubinet/kernel_table/kernel_index.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <unordered_map>

namespace cubinet::bench {
namespace {

constexpr std::size_t kSmall = 100;
constexpr std::size_t kLarge = 50'000;
constexpr std::size_t kBatch = 100'000;  // lookups per round
constexpr ComputeCapability kDevice{10, 3};
constexpr DeviceFacts kFacts{kDevice, 148, 0};

struct HashEncoding {
  std::size_t operator()(const SelectorEncoding& encoding) const {
    return static_cast<std::size_t>(hash_of(encoding));
  }
};
using BareMap = std::unordered_map<SelectorEncoding, std::uint32_t, HashEncoding>;

// Returns a home whose index contains the rows of one import.
Result<std::shared_ptr<Home>> home_with(const Settings& settings, std::size_t count) {
  HomeOptions options;
  options.path = fresh_path(settings, "home");
  CUBINET_TRY_ASSIGN(auto registry, Home::open(options));
  ArtifactImport import;
  import.folder = registry->description().place;  // any existing folder; no file in it is read
  import.pin = std::string(64, 'a');
  import.rows = table_rows(count);
  for (const KernelRow& row : import.rows)
    import.files.push_back({row.function_name + ".cubin", row.digest, 1});
  std::sort(import.files.begin(), import.files.end(),
            [](const ArtifactFile& a, const ArtifactFile& b) { return a.name < b.name; });
  CUBINET_TRY(registry->imports().publish(import));
  return registry;
}

Result<void> check_whole(const KernelIndex& index, std::size_t expected) {
  if (index.rows().size() == expected && !index.numbers().empty()) return {};
  return Error{ErrorCode::internal, "the table did not come back whole"};
}

KernelIndex index_of(const StoredRows& stored) {
  KernelRows rows;
  rows.reserve(stored.size());
  for (const StoredRow& each : stored)
    rows.push_back(each.row);
  return KernelIndex::build(std::move(rows), kDevice);
}

// Reads, checks and decodes the import and indexes its rows. Caches nothing between calls.
Result<double> load_index(const std::string& place, std::size_t expected) {
  const double start = now_seconds();
  HomeOptions options;
  options.path = place;
  CUBINET_TRY_ASSIGN(const auto home, Home::open(options));
  CUBINET_TRY_ASSIGN(const auto stored, home->rows());
  const KernelIndex index = index_of(*stored);
  const double seconds = now_seconds() - start;
  CUBINET_TRY(check_whole(index, expected));
  return seconds;
}

// Does the work of a process that plans attention for the first time: for each kernel, the build
// that the judge chooses.
Result<double> load_judged(const Settings& settings, const std::string& place) {
  CUBINET_TRY_ASSIGN(RuntimeOptions options, runtime_options(settings, {}));
  const double start = now_seconds();
  HomeOptions home;
  home.path = place;
  CUBINET_TRY_ASSIGN(options.stores.emplace_back(), Home::open(home));
  CUBINET_TRY_ASSIGN(const auto runtime, Runtime::create(std::move(options)));
  CUBINET_TRY_ASSIGN(const DeviceRows found, runtime->rows(kDevice));
  const KernelIndex index = index_of(found.rows);
  const double seconds = now_seconds() - start;
  CUBINET_TRY(check_whole(index, found.rows.size()));
  return seconds;
}

Result<void> bench_table_load(const Settings& settings, std::size_t count, Report& report) {
  CUBINET_TRY_ASSIGN(const auto registry, home_with(settings, count));
  const std::string place = registry->description().place;
  CUBINET_TRY_ASSIGN(const BareSqlite sqlite,
                     BareSqlite::create(fresh_path(settings, "rows"), table_rows(count)));
  CUBINET_TRY_ASSIGN(const Rounds rounds,
                     run_rounds({{"rows and index", [&] { return load_index(place, count); }},
                                 {"bare SQLite scan", [&] { return sqlite.scan(); }},
                                 {"Runtime::rows and index", [&] { return load_judged(settings, place); }}},
                                settings.rounds));
  nlohmann::json row = report.rounds_row("load, " + std::to_string(count) + " rows", rounds, "ms");
  Report::add_ratio(row, rounds, 0, 1, 2.0);
  Report::add_ratio(row, rounds, 2, 1, std::nullopt);
  report.add(std::move(row));
  return {};
}

// The containers at one size of the table, and the lookups.
struct Tables {
  std::shared_ptr<const KernelIndex> index;
  BareMap map;
  std::vector<SelectorEncoding> asked;
  SelectionPolicy policy;
};

Tables tables_of(std::size_t count) {
  Tables tables;
  KernelRows rows;
  for (KernelRow& row : table_rows(count))
    rows.push_back(std::make_shared<const KernelRow>(std::move(row)));
  tables.index = std::make_shared<const KernelIndex>(KernelIndex::build(std::move(rows), kDevice));
  for (const std::uint32_t number : tables.index->numbers())
    tables.map.try_emplace(encode_selector(tables.index->row(number).selector), number);
  std::vector<SelectorEncoding> all;
  for (const auto& entry : tables.map)
    all.push_back(entry.first);
  std::sort(all.begin(), all.end());
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i < kBatch; ++i)
    tables.asked.push_back(all[random() % all.size()]);
  return tables;
}

template <class Ask>
Result<double> mean_of(std::size_t count, Ask ask) {
  std::uint64_t sum = 0;
  const double start = now_seconds();
  for (std::size_t i = 0; i < count; ++i)
    sum += ask(i);
  const double seconds = (now_seconds() - start) / static_cast<double>(count);
  if (sum == 0) return Error{ErrorCode::internal, "nothing was found"};
  return seconds;
}

Result<double> map_lookups(const Tables& tables) {
  return mean_of(kBatch, [&](std::size_t i) {
    const auto found = tables.map.find(tables.asked[i]);
    return found == tables.map.end() ? 0U : found->second + 1U;
  });
}

Result<double> index_lookups(const Tables& tables) {
  return mean_of(kBatch, [&](std::size_t i) {
    const auto found = tables.index->find(tables.asked[i]);
    return found.empty() ? 0U : found.front() + 1U;
  });
}

// Returns eight shapes used in turn, so that branches are not predicted perfectly.
const std::array<AttentionProblem, 8>& problems() {
  static const std::array<AttentionProblem, 8> list = {decode_problem(1, 4096),   decode_problem(16, 4096),
                                                       decode_problem(64, 4096),  decode_problem(1, 16384),
                                                       decode_problem(16, 16384), decode_problem(64, 16384),
                                                       decode_problem(128, 2048), decode_problem(8, 65536)};
  return list;
}

Result<double> selections(const Tables& tables) {
  return mean_of(kBatch / 10, [&](std::size_t i) {
    const auto selection = select(problems()[i % 8], kFacts, *tables.index, tables.policy);
    return selection && selection->found ? 1U : 0U;
  });
}

}  // namespace

Result<void> bench_table(const Settings& settings, Report& report) {
  for (const std::size_t count : {kSmall, kLarge})
    CUBINET_TRY(bench_table_load(settings, count, report));
  const Tables small = tables_of(kSmall);
  const Tables large = tables_of(kLarge);
  std::vector<Contender> contenders;
  for (const Tables* tables : {&small, &large}) {
    const std::string rows = tables == &small ? ", 100 rows" : ", 50000 rows";
    contenders.push_back({"std::unordered_map" + rows, [tables] { return map_lookups(*tables); }});
    contenders.push_back({"look-up" + rows, [tables] { return index_lookups(*tables); }});
    contenders.push_back({"decode selection" + rows, [tables] { return selections(*tables); }});
  }
  CUBINET_TRY_ASSIGN(const Rounds rounds, run_rounds(contenders, settings.rounds));
  nlohmann::json row = report.rounds_row("look-up and selection", rounds, "ns");
  for (const std::size_t first : {std::size_t{0}, std::size_t{3}}) {
    Report::add_ratio(row, rounds, first + 1, first, 1.2);
    Report::add_ratio(row, rounds, first + 2, first + 1, 50.0);
  }
  // The slowdown of the larger table, beside the slowdown of the map.
  std::vector<double> growth;
  for (std::size_t round = 0; round < rounds.seconds(0).size(); ++round) {
    growth.push_back(rounds.seconds(4)[round] / rounds.seconds(1)[round] /
                     (rounds.seconds(3)[round] / rounds.seconds(0)[round]));
  }
  const double ratio = median(std::move(growth));
  row["ratios"]["growth of a look-up : growth of std::unordered_map"] = {
      {"median", ratio}, {"goal", 1.1}, {"met", ratio <= 1.1}};
  report.add(std::move(row));
  return {};
}

}  // namespace cubinet::bench
