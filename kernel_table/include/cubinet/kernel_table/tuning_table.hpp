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

// A table of the fastest measured ways to run problems on devices (docs/tuning.md). A plain value.
// Its rows are ordered and distinct, so that equal tables have equal bytes and one digest.
class TuningTable {
 public:
  struct Row {
    // The subject of the measurement: the values of the problem except its batch and KV length,
    // which are separate fields, and the device with its driver. Problems whose batch and KV length
    // round up to the same powers of two share a bucket.
    std::string problem;
    std::uint32_t batch = 1;
    std::uint32_t kv_len = 1;
    std::string device;
    std::uint32_t driver = 0;  // as returned by cuDriverGetVersion
    // The build of the kernel's source. The row does not apply to other builds.
    std::string version;

    // The fastest configuration: a backend, the attention kernel and the KV splits.
    std::string backend;
    KernelSpec kernel;         // complete; without a name, the backend chooses the kernel
    std::uint32_t splits = 0;  // 0: the backend chooses

    double microseconds = 0;           // per run
    double modelled_microseconds = 0;  // of the plan without measurements, timed in the same minute
    std::uint32_t candidates = 0;      // number of timed candidates
    // The time of the measurement, in seconds since 1970, before the year 10000.
    std::int64_t measured = 0;

    friend bool operator==(const Row&, const Row&) = default;
  };

  TuningTable() = default;
  // Returns corruption for damaged bytes and unsupported for a newer version.
  static Result<TuningTable> decode(ByteView bytes);
  Bytes encode() const;
  // Returns whether decode() would accept the output of encode(). An invalid_argument names the
  // first invalid row.
  Result<void> check() const;
  // Returns the digest of encode(). Two ranks with equal digests make equal plans.
  Sha256Digest digest() const;

  const std::vector<Row>& rows() const { return rows_; }
  bool empty() const { return rows_.empty(); }
  // Adds a row. A row with the same problem, lengths, device, driver and version is replaced if the
  // new one was measured later. Dates from the year 9000 on, which no clock shows, count as earlier
  // than all others.
  void add(Row row);
  // Dates a new measurement one second after the row that it replaces, if that row has a later date
  // because its clock was ahead.
  static void date_after(Row& row, const Row& before);
  // Returns the row with the same subject, or nullptr if there is none. Valid until the table
  // changes.
  const Row* find(const Row& row) const;
  // Adds the rows of `other`. The order of merging does not affect the result.
  void merge(const TuningTable& other);

  // Returns the rows of a bucket. Rows with the nearest batch come first, then with the nearest KV
  // length, then the newest. Valid until the table changes.
  std::vector<const Row*> find(std::string_view problem, std::uint32_t batch, std::uint32_t kv_len,
                               std::string_view device) const;

  friend bool operator==(const TuningTable&, const TuningTable&) = default;

 private:
  std::vector<Row> rows_;
};

// The latest date that a row may have.
inline constexpr std::int64_t kLatestMeasurement = 253'402'300'799;
// The size limit of a table.
inline constexpr std::uint64_t kMaximumTuningBytes = std::uint64_t{16} << 20;

}  // namespace cubinet
