// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// What was measured to be the fastest way to run problems on devices (docs/tuning.md). A plain value: rows in
// one order, none twice, so that equal tables have equal bytes and one digest.
class TuningTable {
 public:
  struct Row {
    // Of what: the problem in values, without its batch and KV length, which stand beside it, and the device
    // with the driver that it had. Problems whose batch and KV length round up to the same powers of two
    // share a bucket.
    std::string problem;
    std::uint32_t batch = 1;
    std::uint32_t kv_len = 1;
    std::string device;
    std::uint32_t driver = 0;  // as cuDriverGetVersion says it
    // Which build of the kernel's source: of another one the row says nothing.
    std::string version;

    // What won: a backend, the kernel that attends and the KV splits.
    std::string backend;
    KernelSpec kernel;         // complete; without a name it is the backend's choice
    std::uint32_t splits = 0;  // 0: the same

    double microseconds = 0;           // of a run
    double modelled_microseconds = 0;  // of what is planned without measurements, in the same minute
    std::uint32_t candidates = 0;      // that were timed
    std::int64_t measured = 0;         // when, in seconds since 1970, before the year 10000

    friend bool operator==(const Row&, const Row&) = default;
  };

  TuningTable() = default;
  // corruption for damaged bytes, unsupported for a newer version.
  static Result<TuningTable> decode(ByteView bytes);
  Bytes encode() const;
  // Whether decode() would take what encode() gives: invalid_argument names the first row that is none.
  Result<void> check() const;
  // Of encode(): two ranks that plan with one digest plan alike.
  Sha256Digest digest() const;

  const std::vector<Row>& rows() const { return rows_; }
  bool empty() const { return rows_.empty(); }
  // A row of the same problem, lengths, device, driver and version is replaced by one measured later. Dates
  // from the year 9000 on, which no clock shows, are earlier than all others.
  void add(Row row);
  // Dates what was measured just now a second after the row that it is to replace, where a clock that was
  // ahead had dated that later.
  static void date_after(Row& row, const Row& before);
  // The row of the same; nullptr where there is none. Valid until the table changes.
  const Row* find(const Row& row) const;
  // The rows of both. Who is merged into whom makes no difference.
  void merge(const TuningTable& other);

  // The rows of a bucket, those first whose batch, then KV length, is nearest, of equals the newest. Valid
  // until the table changes.
  std::vector<const Row*> find(std::string_view problem, std::uint32_t batch, std::uint32_t kv_len,
                               std::string_view device) const;

  friend bool operator==(const TuningTable&, const TuningTable&) = default;

 private:
  std::vector<Row> rows_;
};

// When no row was measured later.
inline constexpr std::int64_t kLatestMeasurement = 253'402'300'799;
// No table is larger.
inline constexpr std::uint64_t kMaximumTuningBytes = std::uint64_t{16} << 20;

}  // namespace cubinet
