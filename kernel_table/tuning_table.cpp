// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/binary_format.hpp>
#include <cubinet/base/byte_stream.hpp>
#include <cubinet/kernel_table/tuning_table.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

namespace cubinet {
namespace {

constexpr BinaryFormat kTuningFormat{.name = "a tuning table",
                                     .magic = "CTUN",
                                     .damage_remedy = "measure again with `tune_attention()`",
                                     .newer_remedy = "use the version of cubinet that wrote it"};
// The smallest row. Its strings may be empty, its numbers are always present.
constexpr std::size_t kLeastRowBytes = 60;

using Row = TuningTable::Row;

// Returns the subject, of which a table has at most one row.
auto subject_of(const Row& row) {
  return std::tie(row.device, row.problem, row.batch, row.kv_len, row.driver, row.version);
}

bool comes_before(const Row& a, const Row& b) {
  return subject_of(a) < subject_of(b);
}

Bytes encode_outcome(const Row& row) {
  ByteWriter writer;
  writer.string(row.backend);
  writer.string(row.kernel.name.empty() ? std::string_view() : as_text(identify(row.kernel).encoding()));
  writer.u32(row.splits);
  writer.u64(std::bit_cast<std::uint64_t>(row.microseconds));
  writer.u64(std::bit_cast<std::uint64_t>(row.modelled_microseconds));
  writer.u32(row.candidates);
  writer.i64(row.measured);
  return writer.take();
}

// The date from which dates rank before all others. No clock shows the last millennium of the
// allowed dates. If such a date ranked as the latest, no measurement could replace it.
constexpr std::int64_t kFirstOfNoClock = 221'845'392'000;  // the year 9000
std::int64_t age_rank(const Row& row) {
  return row.measured < kFirstOfNoClock ? row.measured : row.measured - kLatestMeasurement - 1;
}

// Returns whether row `a` replaces row `b` of the same subject: the later measurement counts. For
// equal times the choice is arbitrary but deterministic.
bool counts_before(const Row& a, const Row& b) {
  if (a.measured != b.measured) return age_rank(a) > age_rank(b);
  return encode_outcome(a) < encode_outcome(b);
}

// Returns the name of a row for messages.
std::string name_of(const Row& row) {
  return "the measurement of " + row.problem + ", batch " + std::to_string(row.batch) + ", kv_len " +
         std::to_string(row.kv_len) + " on " + row.device;
}

Bytes encode_row(const Row& row) {
  ByteWriter writer;
  writer.string(row.problem);
  writer.u32(row.batch);
  writer.u32(row.kv_len);
  writer.string(row.device);
  writer.u32(row.driver);
  writer.string(row.version);
  writer.raw(encode_outcome(row));
  return writer.take();
}

Result<double> read_time(ByteReader& reader) {
  CUBINET_TRY_ASSIGN(const std::uint64_t bits, reader.u64());
  const auto time = std::bit_cast<double>(bits);
  if (!std::isfinite(time) || std::signbit(time)) return kTuningFormat.damaged("holds a time that is none");
  return time;
}

Result<Row> read_tuning_row(ByteReader& reader) {
  Row row;
  CUBINET_TRY_ASSIGN(row.problem, reader.string());
  CUBINET_TRY_ASSIGN(row.batch, reader.u32());
  CUBINET_TRY_ASSIGN(row.kv_len, reader.u32());
  if (row.batch == 0 || row.kv_len == 0) return kTuningFormat.damaged("holds a problem without tokens");
  CUBINET_TRY_ASSIGN(row.device, reader.string());
  CUBINET_TRY_ASSIGN(row.driver, reader.u32());
  CUBINET_TRY_ASSIGN(row.version, reader.string());
  CUBINET_TRY_ASSIGN(row.backend, reader.string());
  CUBINET_TRY_ASSIGN(const ByteView kernel, reader.blob());
  if (!kernel.empty()) {
    CUBINET_TRY_ASSIGN(row.kernel, decode_kernel(kernel));
    const Bytes canonical = identify(row.kernel).encoding();
    if (row.kernel.name.empty() ||
        !std::equal(kernel.begin(), kernel.end(), canonical.begin(), canonical.end()))
      return kTuningFormat.damaged("names a kernel in an encoding that is not its own");
  }
  CUBINET_TRY_ASSIGN(row.splits, reader.u32());
  if (row.kernel.name.empty() && row.splits != 0)
    return kTuningFormat.damaged("holds KV splits without the kernel that they are of");
  CUBINET_TRY_ASSIGN(row.microseconds, read_time(reader));
  CUBINET_TRY_ASSIGN(row.modelled_microseconds, read_time(reader));
  CUBINET_TRY_ASSIGN(row.candidates, reader.u32());
  CUBINET_TRY_ASSIGN(row.measured, reader.i64());
  if (row.measured < 0 || row.measured > kLatestMeasurement)
    return kTuningFormat.damaged("holds a date that is none");
  return row;
}

// Returns the distance of two numbers that are at least 1. Numbers of one bucket differ by less
// than a factor of two.
double distance(std::uint32_t a, std::uint32_t b) {
  return std::abs(std::log2(static_cast<double>(a)) - std::log2(static_cast<double>(b)));
}

// Returns the number rounded up to a power of two. All numbers above 2^31 share one bucket.
std::uint64_t bucket_of(std::uint32_t number) {
  return std::bit_ceil(std::uint64_t{number});
}

}  // namespace

Result<TuningTable> TuningTable::decode(ByteView bytes) {
  if (bytes.size() > kMaximumTuningBytes) {
    return kTuningFormat.damaged("has " + std::to_string(bytes.size()) + " bytes, and " +
                                 std::to_string(kMaximumTuningBytes) + " are allowed");
  }
  if (bytes.size() < kTuningFormat.magic.size() + sizeof(std::uint16_t))
    return kTuningFormat.damaged(bytes.empty() ? "is empty" : "ends early");
  CUBINET_TRY_ASSIGN(auto fields, kTuningFormat.read_checked(bytes));
  ByteReader& reader = fields.reader;
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  if (count > reader.remaining() / kLeastRowBytes) return kTuningFormat.damaged("ends before its last row");
  TuningTable table;
  table.rows_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    auto read = read_tuning_row(reader);
    if (!read) {
      Error error = std::move(read).error();
      error.message = "row " + std::to_string(i + 1) + ": " + error.message;
      if (error.remedy.empty()) error.remedy = kTuningFormat.damage_remedy;
      return error;
    }
    Row& row = *read;
    if (!table.rows_.empty() && !comes_before(table.rows_.back(), row))
      return kTuningFormat.damaged("holds rows that are not in order");
    table.rows_.push_back(std::move(row));
  }
  if (reader.remaining() != 0) return kTuningFormat.damaged("holds bytes after its last row");
  return table;
}

Bytes TuningTable::encode() const {
  ByteWriter writer;
  kTuningFormat.write_head(writer);
  writer.u32(static_cast<std::uint32_t>(rows_.size()));
  for (const Row& row : rows_)
    writer.raw(encode_row(row));
  write_checksum(writer);
  return writer.take();
}

// Uses the reader itself, so that the two cannot diverge.
Result<void> TuningTable::check() const {
  for (const Row& row : rows_) {
    const Bytes bytes = encode_row(row);
    ByteReader reader(bytes);
    const auto read = read_tuning_row(reader);
    if (read && reader.remaining() == 0 && *read == row) continue;
    return Error{ErrorCode::invalid_argument,
                 name_of(row) + ": " + (read ? "it would be read back as another" : read.error().message),
                 "measure again with `tune_attention()`"};
  }
  return {};
}

Sha256Digest TuningTable::digest() const {
  return sha256(encode());
}

void TuningTable::add(Row row) {
  const auto place = std::lower_bound(rows_.begin(), rows_.end(), row, comes_before);
  if (place == rows_.end() || comes_before(row, *place)) {
    rows_.insert(place, std::move(row));
  } else if (counts_before(row, *place)) {
    *place = std::move(row);
  }
}

void TuningTable::date_after(Row& row, const Row& before) {
  if (age_rank(before) >= age_rank(row)) row.measured = std::min(before.measured + 1, kFirstOfNoClock - 1);
}

const Row* TuningTable::find(const Row& row) const {
  const auto place = std::lower_bound(rows_.begin(), rows_.end(), row, comes_before);
  return place == rows_.end() || comes_before(row, *place) ? nullptr : &*place;
}

// Merges two sorted tables. Adding row by row would move all later rows each time and take minutes
// for two tables of the largest size.
void TuningTable::merge(const TuningTable& other) {
  std::vector<Row> merged;
  merged.reserve(rows_.size() + other.rows_.size());
  auto theirs = other.rows_.begin();
  for (Row& row : rows_) {
    while (theirs != other.rows_.end() && comes_before(*theirs, row))
      merged.push_back(*theirs++);
    const bool same = theirs != other.rows_.end() && !comes_before(row, *theirs);
    merged.push_back(same && counts_before(*theirs, row) ? *theirs : std::move(row));
    if (same) ++theirs;
  }
  merged.insert(merged.end(), theirs, other.rows_.end());
  rows_ = std::move(merged);
}

std::vector<const Row*> TuningTable::find(std::string_view problem, std::uint32_t batch, std::uint32_t kv_len,
                                          std::string_view device) const {
  std::vector<const Row*> found;
  // The rows are adjacent.
  const auto first = std::partition_point(rows_.begin(), rows_.end(), [&](const Row& row) {
    const int order = device.compare(row.device);
    return order > 0 || (order == 0 && problem > row.problem);
  });
  for (auto row = first; row != rows_.end() && row->device == device && row->problem == problem; ++row) {
    if (bucket_of(row->batch) == bucket_of(batch) && bucket_of(row->kv_len) == bucket_of(kv_len))
      found.push_back(&*row);
  }
  const auto far = [&](const Row* row) {
    return std::pair(distance(row->batch, batch), distance(row->kv_len, kv_len));
  };
  std::stable_sort(found.begin(), found.end(), [&](const Row* a, const Row* b) {
    return far(a) != far(b) ? far(a) < far(b) : age_rank(*a) > age_rank(*b);
  });
  return found;
}

}  // namespace cubinet
