// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rounds.hpp"

#include <cubinet/base/result.hpp>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace cubinet::bench {

// The result of one benchmark as JSON: the measurements, the machine, the commit and the time.
class Report {
 public:
  // `device` is the ordinal of the device that the machine's description names. Without a driver it
  // is unnamed.
  Report(std::string benchmark, const std::string& commit, int device);

  // Adds a free-form row. If `print` is true, also writes it to stderr as one line at once, so that
  // an interrupted run keeps its rows.
  void add(nlohmann::json row);
  // Returns a row of medians in `unit` ("ms", "us", "ns"), with every round's value.
  nlohmann::json rounds_row(const std::string& name, const Rounds& rounds, const std::string& unit) const;
  // Adds "ratios": {"a : b": {"median", "goal", "met"}} to a row made by rounds_row.
  static void add_ratio(nlohmann::json& row, const Rounds& rounds, std::size_t numerator,
                        std::size_t denominator, std::optional<double> goal);
  void set(const std::string& name, nlohmann::json value) { document_[name] = std::move(value); }

  // Writes to a file, or to stdout if `path` is empty.
  Result<void> write(const std::filesystem::path& path) const;

 private:
  nlohmann::json document_;
};

}  // namespace cubinet::bench
