// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/cubin_registry/row_table.hpp>
#include <cubinet/kernel_table/metadata_header.hpp>
#include <cubinet/kernel_table/published_header.hpp>
#include <cubinet/kernel_table/row_codec.hpp>
#include <cubinet/session/table_store.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::size_t kLoggedProblems = 5;

std::shared_ptr<const CubinRecord> table_record_of(const KernelRow& row) {
  CubinRecord record;
  record.identity = identify(row);
  record.target = row.target;
  record.fingerprint.digest = row.digest;
  record.digest = row.digest;
  record.origin = CubinOrigin::imported;
  record.row = encode_row(row);
  EntryPoint& entry = record.entry_points.emplace_back();
  entry.name = entry.symbol = row.function_name;
  entry.threads = row.threads;
  entry.dynamic_shared_bytes = row.shared_bytes;
  return std::make_shared<const CubinRecord>(std::move(record));
}

class TableStore final : public Store, public RowTable {
 public:
  TableStore(std::string file, std::vector<KernelRow> rows)
      : description_{.kind = "imported", .place = std::move(file), .source = KernelSource::imported} {
    StoredRows stored;
    for (KernelRow& row : rows) {
      auto record = table_record_of(row);
      records_.push_back(record);
      stored.push_back({std::make_shared<const KernelRow>(std::move(row)), std::move(record)});
    }
    rows_ = std::make_shared<const StoredRows>(std::move(stored));
  }

  const StoreDescription& description() const override { return description_; }
  Result<CubinRecords> find(const KernelId& kernel) override {
    return select([&](const CubinRecord& record) { return record.identity.is_of(kernel); });
  }
  Result<CubinRecords> find_key(KernelKey key) override {
    return select([&](const CubinRecord& record) { return record.identity.key() == key; });
  }
  Result<CubinRecords> find_function(std::string_view symbol) override {
    return select([&](const CubinRecord& record) { return record.entry_points.front().symbol == symbol; });
  }
  Result<CubinRecords> list() override { return records_; }
  Result<std::shared_ptr<const StoredRows>> rows() override { return rows_; }
  // A header names cubins but contains none.
  Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord>) override {
    return std::optional<Cubin>();
  }

 private:
  template <class Wanted>
  CubinRecords select(const Wanted& wanted) const {
    CubinRecords found;
    std::copy_if(records_.begin(), records_.end(), std::back_inserter(found),
                 [&](const auto& record) { return wanted(*record); });
    return found;
  }

  StoreDescription description_;
  CubinRecords records_;
  std::shared_ptr<const StoredRows> rows_;
};

}  // namespace

Result<std::shared_ptr<Store>> open_table(const std::string& file, const LogSink& sink) {
  CUBINET_TRY_ASSIGN(const Bytes bytes, posix_file_system()->read(file, kMaximumImageBytes));
  return open_table(file, bytes, sink);
}

Result<std::shared_ptr<Store>> open_table(const std::string& file, ByteView bytes, const LogSink& sink) {
  auto header = read_metadata_header(as_text(bytes));
  if (!header) {
    Error error = header.error();
    error.message = file + ": " + error.message;
    return error;
  }
  for (std::size_t i = 0; i < header->problems.size() && i < kLoggedProblems; ++i) {
    const MetadataProblem& problem = header->problems[i];
    log(sink, LogLevel::warning, fmt::format("{}:{}: {}", file, problem.line, problem.reason));
  }
  if (header->problem_count > kLoggedProblems) {
    log(sink, LogLevel::warning, fmt::format("{}: {} rows could not be taken", file, header->problem_count));
  }
  const Sha256Digest digest = sha256(bytes);
  const PublishedHeader* known = find_published_header(digest);
  for (KernelRow& row : header->rows) {
    row.pin = digest.to_hex();
    if (known != nullptr) row.layout = known->argument_layout;
  }
  return std::shared_ptr<Store>(std::make_shared<TableStore>(file, std::move(header->rows)));
}

}  // namespace cubinet
