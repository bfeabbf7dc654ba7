// SPDX-License-Identifier: Apache-2.0
#include "describe.hpp"

#include "arguments.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/spec/image_target.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet::cli {
namespace {

std::string loaded_target(const KernelEvent& kernel) {
  return kernel.target ? ImageTarget{*kernel.target, kernel.kind}.to_string() : "?";
}

}  // namespace

nlohmann::json describe_loaded(const KernelEvent& kernel) {
  return {{"key", kernel.key.to_string()},
          {"target", loaded_target(kernel)},
          {"source", kernel.source ? to_string(*kernel.source) : "nowhere"},
          {"bytes", kernel.bytes},
          {"total_seconds", kernel.total_seconds},
          {"find_seconds", kernel.find_seconds},
          {"compile_seconds", kernel.compile_seconds},
          {"load_seconds", kernel.load_seconds}};
}

std::string loaded_lines(const KernelEvent& kernel) {
  return fmt::format(
      "kernel     {} for {}, {}\nfrom       {} in {}: found in {}, compiled in {}, loaded in {}",
      printable(kernel.spec.to_string()), loaded_target(kernel), format_bytes(kernel.bytes),
      kernel.source ? to_string(*kernel.source) : "nowhere", format_seconds(kernel.total_seconds),
      format_seconds(kernel.find_seconds), format_seconds(kernel.compile_seconds),
      format_seconds(kernel.load_seconds));
}

std::string describe_block(const EntryPoint& entry_point) {
  const auto [x, y, z] = entry_point.block();
  if (y == 1 && z == 1) return std::to_string(x);
  return z == 1 ? fmt::format("{} x {}", x, y) : fmt::format("{} x {} x {}", x, y, z);
}

std::string describe_origin(const CubinRecord& record) {
  if (record.origin == CubinOrigin::compiled) {
    const KernelMaker maker = record.identity.kernel().maker();
    if (maker == KernelMaker::tool) return "adopted here";
    return maker == KernelMaker::function ? "added here" : "compiled here";
  }
  if (record.origin == CubinOrigin::imported) return fmt::format("import {}", record.version);
  return fmt::format("a bundle of version {}", record.version);
}

std::string compile_command(const KernelSpec& spec, SmTarget target) {
  std::string command = "cubinet compile " + spec.name;
  for (const auto& [name, value] : spec.parameters)
    if (spec.maker == KernelMaker::kernel_template)
      command += " -p " + shell_quoted(name + "=" + to_string(value));
  for (const std::string& flag : compiler_flags(spec.options))
    command += " --flag=" + shell_quoted(flag);
  return command + " --target " + target.to_string();
}

Table::Table(std::vector<std::string> header) {
  rows_.push_back(std::move(header));
}

void Table::add(std::vector<std::string> row) {
  for (std::string& cell : row)
    cell = printable(cell);
  rows_.push_back(std::move(row));
}

std::string Table::to_string() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    if (!text.empty()) text += '\n';
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
  }
  return text;
}

std::string outranked_text(const std::vector<ImportReport::Outranked>& outranked) {
  constexpr std::size_t kLines = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(outranked.size(), kLines); ++i) {
    const CubinRecord& in_use = *outranked[i].in_use;
    text +=
        fmt::format("\n{} for {}: build {} of version {} stays in use, which is newer", kernel_title(in_use),
                    in_use.target_name(), in_use.fingerprint.to_string().substr(0, 12), in_use.version);
  }
  if (outranked.size() > kLines)
    text += fmt::format("\n... and newer builds of {}", plural(outranked.size() - kLines, "other kernel"));
  if (!text.empty())
    text += "\nto use the older version, pin its channel and pull it, or remove the newer builds";
  return text;
}

Table record_table(const std::vector<std::shared_ptr<const CubinRecord>>& records) {
  Table table({"KEY", "TARGET", "SIZE", "BUILD", "VERSION", "KERNEL"});
  for (const auto& record : records) {
    table.add({record->identity.key().to_string(), record->target_name(), format_bytes(record->size),
               record->fingerprint.to_string().substr(0, 12),
               record->origin == CubinOrigin::bundle ? std::to_string(record->version) : "-",
               kernel_title(*record)});
  }
  return table;
}

}  // namespace cubinet::cli
