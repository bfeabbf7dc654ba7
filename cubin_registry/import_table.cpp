// SPDX-License-Identifier: Apache-2.0
#include "import_table.hpp"

#include <cubinet/base/binary_format.hpp>
#include <cubinet/kernel_table/table_codec.hpp>

#include <xxhash.h>

#include <array>

namespace cubinet {
namespace {

enum Query : std::size_t {
  list_imports,
  locate_digest,
  list_kernels,
  insert_import,
  insert_kernel,
  insert_artifact,
  erase_import,
  erase_kernels,
  erase_artifacts,
  clear_imports,
  clear_kernels,
  clear_artifacts,
  count_
};

constexpr std::array<std::string_view, static_cast<std::size_t>(count_)> kQueries = {
    "SELECT number, file_size, modified_ns, folder, placement, rows, plain, files, bytes FROM imports ORDER "
    "BY "
    "number",
    "SELECT imports.folder, imports.placement, artifact_files.name, artifact_files.size FROM artifact_files "
    "JOIN imports ON imports.number = artifact_files.import WHERE artifact_files.digest = ?1 ORDER BY "
    "imports.number DESC, artifact_files.id",
    "SELECT import, function_name, shared_bytes, threads, target, digest, checksum FROM plain_kernels ORDER "
    "BY id",
    "INSERT INTO imports VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    "INSERT INTO plain_kernels VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    "INSERT INTO artifact_files VALUES (NULL, ?1, ?2, ?3, ?4)",
    "DELETE FROM imports WHERE number = ?1",
    "DELETE FROM plain_kernels WHERE import = ?1",
    "DELETE FROM artifact_files WHERE import = ?1",
    "DELETE FROM imports",
    "DELETE FROM plain_kernels",
    "DELETE FROM artifact_files",
};

Error damaged(std::string_view reason) {
  return Error{ErrorCode::corruption, "an import's row of the index " + std::string(reason)};
}

Result<ArtifactPlacement> placement_of(std::int64_t number) {
  if (number < 0 || number > static_cast<std::int64_t>(ArtifactPlacement::copied))
    return damaged("is of an unknown placement");
  return static_cast<ArtifactPlacement>(number);
}

// All that a row of plain_kernels says, as SQLite stores it.
struct PlainCells {
  std::int64_t import = 0;
  std::string_view function_name;
  std::int64_t shared_bytes = 0;
  std::int64_t threads = 0;
  std::string_view target;
  ByteView digest;

  std::int64_t checksum() const {
    ByteWriter writer;
    writer.i64(import);
    writer.string(function_name);
    writer.i64(shared_bytes);
    writer.i64(threads);
    writer.string(target);
    writer.raw(digest);
    return static_cast<std::int64_t>(XXH3_64bits(writer.bytes().data(), writer.bytes().size()));
  }
};

Result<void> run_to_end(sqlite::Statement& bound) {
  const sqlite::Run run(bound);
  CUBINET_TRY(bound.step());
  return {};
}

}  // namespace

Result<void> ImportTable::prepare(sqlite::Database& database) {
  return statements_.prepare(database, kQueries);
}

Result<std::vector<IndexedImport>> ImportTable::list() {
  sqlite::Statement& bound = statements_[list_imports];
  const sqlite::Run run(bound);
  std::vector<IndexedImport> imports;
  while (true) {
    CUBINET_TRY_ASSIGN(const bool row, bound.step());
    if (!row) return imports;
    const auto number = [&](int column) { return static_cast<std::uint64_t>(bound.integer(column)); };
    CUBINET_TRY_ASSIGN(const ArtifactPlacement placement, placement_of(bound.integer(4)));
    imports.push_back(
        {{number(0), number(1), bound.integer(2)},
         {number(0), std::string(bound.text(3)), placement, number(5), number(6), number(7), number(8)}});
  }
}

Result<std::vector<ArtifactLocation>> ImportTable::locate(const Sha256Digest& digest) {
  sqlite::Statement& bound = statements_[locate_digest];
  const sqlite::Run run(bound);
  bound.bind(1, ByteView(digest.bytes));
  std::vector<ArtifactLocation> locations;
  while (true) {
    CUBINET_TRY_ASSIGN(const bool row, bound.step());
    if (!row) return locations;
    CUBINET_TRY_ASSIGN(const ArtifactPlacement placement, placement_of(bound.integer(1)));
    locations.push_back({std::string(bound.text(0)),
                         placement,
                         {std::string(bound.text(2)), digest, static_cast<std::uint64_t>(bound.integer(3))}});
  }
}

Result<std::vector<NamedKernel>> ImportTable::plain_kernels() {
  sqlite::Statement& bound = statements_[list_kernels];
  const sqlite::Run run(bound);
  std::vector<NamedKernel> kernels;
  while (true) {
    CUBINET_TRY_ASSIGN(const bool row, bound.step());
    if (!row) return kernels;
    const PlainCells cells{bound.integer(0), bound.text(1), bound.integer(2),
                           bound.integer(3), bound.text(4), bound.blob(5)};
    if (cells.checksum() != bound.integer(6)) return damaged("does not match its checksum");
    NamedKernel& named = kernels.emplace_back();
    named.import = static_cast<std::uint64_t>(cells.import);
    named.kernel.function_name = cells.function_name;
    named.kernel.shared_bytes = static_cast<std::uint32_t>(cells.shared_bytes);
    named.kernel.threads = static_cast<std::uint32_t>(cells.threads);
    CUBINET_TRY_ASSIGN(named.kernel.target, parse_stored_target(cells.target));
    const auto digest = as_digest(cells.digest);
    if (!digest) return damaged("has a digest of another size");
    named.kernel.digest = *digest;
  }
}

Result<void> ImportTable::insert(const StoredImport& stored) {
  const ArtifactImport& content = stored.content;
  const auto number = static_cast<std::int64_t>(stored.stamp.number);
  std::uint64_t bytes = 0;
  for (const ArtifactFile& file : content.files)
    bytes += file.size;
  {
    sqlite::Statement& bound = statements_[insert_import];
    const sqlite::Run run(bound);
    bound.bind(1, number)
        .bind(2, static_cast<std::int64_t>(stored.stamp.size))
        .bind(3, stored.stamp.modified_ns)
        .bind(4, std::string_view(content.folder.native()))
        .bind(5, static_cast<std::int64_t>(content.placement))
        .bind(6, static_cast<std::int64_t>(content.rows.size()))
        .bind(7, static_cast<std::int64_t>(content.plain.size()))
        .bind(8, static_cast<std::int64_t>(content.files.size()))
        .bind(9, static_cast<std::int64_t>(bytes));
    CUBINET_TRY(bound.step());
  }
  for (const PlainKernel& kernel : content.plain)
    CUBINET_TRY(insert_plain(number, kernel));
  for (const ArtifactFile& file : content.files)
    CUBINET_TRY(insert_file(number, file));
  return {};
}

Result<void> ImportTable::insert_plain(std::int64_t number, const PlainKernel& kernel) {
  const std::string target = stored_target(kernel.target);
  const PlainCells cells{number, kernel.function_name,         kernel.shared_bytes, kernel.threads,
                         target, ByteView(kernel.digest.bytes)};
  sqlite::Statement& bound = statements_[insert_kernel];
  const sqlite::Run run(bound);
  bound.bind(1, number)
      .bind(2, std::string_view(kernel.function_name))
      .bind(3, cells.shared_bytes)
      .bind(4, cells.threads)
      .bind(5, std::string_view(target))
      .bind(6, cells.digest)
      .bind(7, cells.checksum());
  CUBINET_TRY(bound.step());
  return {};
}

Result<void> ImportTable::insert_file(std::int64_t number, const ArtifactFile& file) {
  sqlite::Statement& bound = statements_[insert_artifact];
  const sqlite::Run run(bound);
  bound.bind(1, number)
      .bind(2, std::string_view(file.name))
      .bind(3, ByteView(file.digest.bytes))
      .bind(4, static_cast<std::int64_t>(file.size));
  CUBINET_TRY(bound.step());
  return {};
}

Result<void> ImportTable::erase(std::uint64_t number) {
  for (const Query query : {erase_import, erase_kernels, erase_artifacts}) {
    CUBINET_TRY(run_to_end(statements_[query].bind(1, static_cast<std::int64_t>(number))));
  }
  return {};
}

Result<void> ImportTable::clear() {
  for (const Query query : {clear_imports, clear_kernels, clear_artifacts})
    CUBINET_TRY(run_to_end(statements_[query]));
  return {};
}

}  // namespace cubinet
