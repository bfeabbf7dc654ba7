// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include "bare_driver.hpp"

#include <cubinet/base/dynamic_library.hpp>
#include <cubinet/base/file_system.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <thread>

namespace cubinet::bench {
namespace {

using nlohmann::json;

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

// Returns the driver's own version (580.159.04). cuDriverGetVersion returns only the CUDA version
// that it implements.
std::optional<std::string> display_driver_version() {
  Result<DynamicLibrary> library = DynamicLibrary::open("libnvidia-ml.so.1");
  if (!library) return std::nullopt;
  auto* const init = reinterpret_cast<int (*)()>(library->find("nvmlInit_v2"));
  auto* const version =
      reinterpret_cast<int (*)(char*, unsigned)>(library->find("nvmlSystemGetDriverVersion"));
  std::array<char, 96> text{};
  if (init == nullptr || version == nullptr || init() != 0) return std::nullopt;
  if (version(text.data(), text.size()) != 0) return std::nullopt;
  return std::string(text.data());
}

json machine(int device) {
  json result = {{"cpu", processor_name()}, {"cores", std::thread::hardware_concurrency()}};
  if (const std::optional<std::string> version = display_driver_version()) result["driver"] = *version;
  const Result<BareDriver> driver = BareDriver::open(device);
  if (!driver) {
    result["gpu"] = nullptr;
    return result;
  }
  result["gpu"] = driver->device_name();
  result["cuda_driver"] = driver->version();
  return result;
}

double factor(const std::string& unit) {
  if (unit == "ns") return 1e9;
  if (unit == "us") return 1e6;
  return unit == "ms" ? 1e3 : 1.0;
}

double rounded(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.5g", value);
  return std::strtod(text.data(), nullptr);
}

}  // namespace

Report::Report(std::string benchmark, const std::string& commit, int device) {
  document_ = {{"schema", 1},       {"benchmark", std::move(benchmark)}, {"commit", commit},
               {"date", utc_now()}, {"machine", machine(device)},        {"rows", json::array()}};
}

void Report::add(json row) {
  json shown = row;
  shown.erase("rounds");
  std::cerr << shown.dump() << '\n';
  document_["rows"].push_back(std::move(row));
}

json Report::rounds_row(const std::string& name, const Rounds& rounds, const std::string& unit) const {
  json row = {{"name", name}, {"unit", unit}};
  for (std::size_t i = 0; i < rounds.names().size(); ++i) {
    row["median"][rounds.names()[i]] = rounded(rounds.median_seconds(i) * factor(unit));
    json& all = row["rounds"][rounds.names()[i]] = json::array();
    for (const double seconds : rounds.seconds(i))
      all.push_back(rounded(seconds * factor(unit)));
  }
  return row;
}

void Report::add_ratio(json& row, const Rounds& rounds, std::size_t numerator, std::size_t denominator,
                       std::optional<double> goal) {
  const double ratio = rounds.median_ratio(numerator, denominator);
  json& entry = row["ratios"][rounds.names()[numerator] + " : " + rounds.names()[denominator]];
  entry["median"] = rounded(ratio);
  if (goal) {
    entry["goal"] = *goal;
    entry["met"] = ratio <= *goal;
  }
}

Result<void> Report::write(const std::filesystem::path& path) const {
  // One row per line: readable, and a new run changes few lines.
  std::string text = "{\n";
  for (const auto& [name, value] : document_.items()) {
    if (name != "rows") text += json(name).dump() + ": " + value.dump() + ",\n";
  }
  text += "\"rows\": [\n";
  const json& rows = document_["rows"];
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += rows[i].dump() + (i + 1 < rows.size() ? ",\n" : "\n");
  text += "]}\n";
  if (path.empty()) {
    std::cout << text;
    return {};
  }
  return write_file_atomically(*posix_file_system(), path, as_bytes(text));
}

}  // namespace cubinet::bench
