// SPDX-License-Identifier: Apache-2.0
#include "kernel_row_table.hpp"

#include "index_schema.hpp"

#include <cubinet/base/binary_format.hpp>
#include <cubinet/kernel_table/column.hpp>
#include <cubinet/kernel_table/extra_columns.hpp>
#include <cubinet/kernel_table/row_codec.hpp>
#include <cubinet/kernel_table/table_codec.hpp>

#include <xxhash.h>

#include <algorithm>
#include <array>

namespace cubinet {
namespace {

enum Query : std::size_t {
  read_all,
  highest,
  insert_row,
  erase_of_entry,
  erase_of_import,
  clear_all,
  count_
};

// The columns that are no numbers of the row, behind those of kernel_columns() and in the order of
// index_text_columns().
enum Text : int {
  key,
  implementation,
  target,
  function_name,
  digest,
  origin,
  version,
  fingerprint,
  extras,
  texts
};

constexpr std::size_t kMaximumNumbers = 64;
constexpr std::int64_t kReserveLimit = 1'000'000;

Error damaged(std::string_view reason) {
  return Error{ErrorCode::corruption, "a kernel's row of the index " + std::string(reason)};
}

// All that a row says, as SQLite stores it.
struct Cells {
  std::array<std::int64_t, kMaximumNumbers> numbers{};  // kernel_columns(), then key, origin, version
  std::size_t count = 0;
  std::array<ByteView, 6> blobs{};  // implementation, target, function name, digest, fingerprint, extras

  std::int64_t checksum() const {
    std::uint64_t hash = XXH3_64bits(numbers.data(), count * sizeof(numbers[0]));
    for (const ByteView blob : blobs)
      hash = XXH3_64bits_withSeed(blob.data(), blob.size(), hash ^ blob.size());
    return static_cast<std::int64_t>(hash);
  }
};

Bytes encode_extras(const std::vector<ExtraColumn>& extras) {
  if (extras.empty()) return {};
  ByteWriter writer;
  write_extras(writer, extras);
  return writer.take();
}

Result<std::vector<ExtraColumn>> decode_extras(ByteView bytes) {
  ByteReader reader(bytes);
  CUBINET_TRY_ASSIGN(std::vector<ExtraColumn> extras, read_extras(reader));
  if (reader.remaining() != 0) return damaged("has bytes after its extra columns");
  return extras;
}

std::string insert_sql() {
  std::string sql = "INSERT INTO kernels (entry, import, checksum, " + index_column_list() + ") VALUES (?1";
  const std::size_t columns = 3 + kernel_columns().size() + static_cast<std::size_t>(texts);
  for (std::size_t i = 2; i <= columns; ++i)
    sql += ", ?" + std::to_string(i);
  return sql + ")";
}

// Turns one row of SQLite into one of ours. Rows that follow each other are alike, so what is costly to parse
// is kept from one to the next.
class RowReader {
 public:
  RowReader(const sqlite::Statement& statement, const std::map<std::uint64_t, std::string>& sources)
      : statement_(statement), sources_(sources) {}

  Result<void> read(KernelRow& row) {
    Cells cells;
    const auto columns = kernel_columns();
    for (const Column& column : columns) {
      const std::int64_t value = statement_.integer(static_cast<int>(cells.count));
      if (!column.fits(value)) return damaged("holds a value out of range");
      column.set(row, value);
      cells.numbers[cells.count++] = value;
    }
    const auto at = [&](Text text) { return static_cast<int>(columns.size()) + static_cast<int>(text); };
    for (const Text number : {key, origin, version})
      cells.numbers[cells.count++] = statement_.integer(at(number));
    cells.blobs = {statement_.blob(at(implementation)), statement_.blob(at(target)),
                   statement_.blob(at(function_name)),  statement_.blob(at(digest)),
                   statement_.blob(at(fingerprint)),    statement_.blob(at(extras))};
    if (cells.checksum() != statement_.integer(at(texts))) return damaged("does not match its checksum");
    return fill_in(cells, row);
  }

 private:
  Result<void> fill_in(const Cells& cells, KernelRow& row) {
    row.implementation = as_text(cells.blobs[0]);
    CUBINET_TRY_ASSIGN(row.target, target_of(as_text(cells.blobs[1])));
    row.function_name = as_text(cells.blobs[2]);
    const auto digest = as_digest(cells.blobs[3]);
    if (!digest) return damaged("has a digest of another size");
    row.digest = *digest;
    // Only a row of an entry that was compiled here has a fingerprint.
    if (const auto fingerprint = as_digest(cells.blobs[4])) row.provenance.fingerprint = *fingerprint;
    if (!cells.blobs[5].empty()) {
      CUBINET_TRY_ASSIGN(row.extras, decode_extras(cells.blobs[5]));
    }
    const std::int64_t origin_number = cells.numbers[cells.count - 2];
    if (origin_number < 0 || origin_number > static_cast<std::int64_t>(RowOrigin::imported)) {
      return damaged("is of an unknown origin");
    }
    row.provenance.origin = static_cast<RowOrigin>(origin_number);
    row.provenance.version = static_cast<std::uint64_t>(cells.numbers[cells.count - 1]);
    if (row.provenance.origin == RowOrigin::imported)
      row.provenance.source = source_of(row.provenance.version);
    return check_ranges(row);
  }

  Result<SmTarget> target_of(std::string_view text) {
    if (text != target_text_) {
      CUBINET_TRY_ASSIGN(target_, parse_stored_target(text));
      target_text_ = text;
    }
    return target_;
  }

  const std::string& source_of(std::uint64_t import) {
    if (source_ == nullptr || import != import_) {
      static const std::string kUnknown;
      const auto found = sources_.find(import);
      source_ = found == sources_.end() ? &kUnknown : &found->second;
      import_ = import;
    }
    return *source_;
  }

  const sqlite::Statement& statement_;
  const std::map<std::uint64_t, std::string>& sources_;
  std::string target_text_;
  SmTarget target_;
  const std::string* source_ = nullptr;
  std::uint64_t import_ = 0;
};

}  // namespace

Result<void> KernelRowTable::prepare(sqlite::Database& database) {
  const std::string read_sql = "SELECT " + index_column_list() + ", checksum FROM kernels";
  const std::string insert_text = insert_sql();
  const std::array<std::string_view, static_cast<std::size_t>(count_)> queries = {
      read_sql,
      "SELECT max(id) FROM kernels",
      insert_text,
      "DELETE FROM kernels WHERE entry = ?1",
      "DELETE FROM kernels WHERE import = ?1",
      "DELETE FROM kernels",
  };
  return statements_.prepare(database, queries);
}

Result<std::vector<KernelRow>> KernelRowTable::read(const std::map<std::uint64_t, std::string>& sources) {
  std::vector<KernelRow> rows;
  {
    sqlite::Statement& bound = statements_[highest];
    const sqlite::Run run(bound);
    CUBINET_TRY(bound.step());
    rows.reserve(static_cast<std::size_t>(std::clamp<std::int64_t>(bound.integer(0), 0, kReserveLimit)));
  }
  sqlite::Statement& bound = statements_[read_all];
  const sqlite::Run run(bound);
  RowReader reader(bound, sources);
  while (true) {
    CUBINET_TRY_ASSIGN(const bool row, bound.step());
    if (!row) return rows;
    if (auto read = reader.read(rows.emplace_back()); !read) {
      // A value out of range that carries a true checksum was written by somebody else.
      return read.error().code == ErrorCode::corruption ? read.error() : damaged(": " + read.error().message);
    }
  }
}

Result<void> KernelRowTable::insert(Owner owner, std::int64_t id, const KernelRow& row) {
  CUBINET_TRY(check_ranges(row));
  const KernelKey own_key = identify(published_spec(row), row.target).key();
  const Bytes extra_bytes = encode_extras(row.extras);
  const std::string target_text = stored_target(row.target);
  const bool compiled = row.provenance.origin == RowOrigin::compiled;
  Cells cells;
  for (const Column& column : kernel_columns())
    cells.numbers[cells.count++] = column.get(row);
  const std::size_t numbers = cells.count;
  cells.numbers[cells.count++] = static_cast<std::int64_t>(own_key.value);
  cells.numbers[cells.count++] = static_cast<std::int64_t>(row.provenance.origin);
  cells.numbers[cells.count++] = static_cast<std::int64_t>(row.provenance.version);
  cells.blobs = {as_bytes(row.implementation),
                 as_bytes(target_text),
                 as_bytes(row.function_name),
                 ByteView(row.digest.bytes),
                 compiled ? ByteView(row.provenance.fingerprint.bytes) : ByteView(),
                 ByteView(extra_bytes)};
  sqlite::Statement& bound = statements_[insert_row];
  const sqlite::Run run(bound);
  bound.bind(owner == Owner::entry ? 1 : 2, id).bind(3, cells.checksum());
  int parameter = 4;
  for (std::size_t i = 0; i < numbers; ++i)
    bound.bind(parameter++, cells.numbers[i]);
  const int first = parameter;
  bound.bind(first + key, cells.numbers[numbers])
      .bind(first + implementation, std::string_view(row.implementation))
      .bind(first + target, std::string_view(target_text))
      .bind(first + function_name, std::string_view(row.function_name))
      .bind(first + digest, cells.blobs[3])
      .bind(first + origin, cells.numbers[numbers + 1])
      .bind(first + version, cells.numbers[numbers + 2])
      .bind(first + fingerprint, cells.blobs[4])
      .bind(first + extras, cells.blobs[5]);
  CUBINET_TRY(bound.step());
  return {};
}

Result<void> KernelRowTable::insert_of_entry(std::int64_t entry, const KernelRow& row) {
  return insert(Owner::entry, entry, row);
}

Result<void> KernelRowTable::insert_of_import(std::uint64_t import, const KernelRow& row) {
  return insert(Owner::import, static_cast<std::int64_t>(import), row);
}

Result<void> KernelRowTable::erase(std::size_t query, std::int64_t id) {
  sqlite::Statement& bound = statements_[query];
  const sqlite::Run run(bound);
  CUBINET_TRY(bound.bind(1, id).step());
  return {};
}

Result<void> KernelRowTable::erase_entry(std::int64_t entry) {
  return erase(erase_of_entry, entry);
}

Result<void> KernelRowTable::erase_import(std::uint64_t import) {
  return erase(erase_of_import, static_cast<std::int64_t>(import));
}

Result<void> KernelRowTable::clear() {
  sqlite::Statement& bound = statements_[clear_all];
  const sqlite::Run run(bound);
  CUBINET_TRY(bound.step());
  return {};
}

}  // namespace cubinet
