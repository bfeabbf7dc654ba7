// SPDX-License-Identifier: Apache-2.0
#include "kernel_rows.hpp"

#include <cubinet/kernel_table/conflict.hpp>
#include <cubinet/kernel_table/metadata_header.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

constexpr std::uint64_t kMaximumHeaderBytes = std::uint64_t{1} << 30U;
constexpr std::size_t kListedProblems = 5;

Result<std::vector<KernelRow>> resolved(const Context& context, std::vector<KernelRow> rows) {
  CUBINET_TRY_ASSIGN(ResolvedRows result, resolve_conflicts(std::move(rows)));
  for (const RowConflict& conflict : result.conflicts)
    context.console().message(LogLevel::warning, conflict.to_string());
  return std::move(result.rows);
}

}  // namespace

Result<std::vector<KernelRow>> rows_of_header(const Context& context, const std::string& file) {
  CUBINET_TRY_ASSIGN(const Bytes bytes, context.files()->read(file, kMaximumHeaderBytes));
  auto header = read_metadata_header(as_text(bytes));
  if (!header) {
    Error error = header.error();
    error.message = file + ": " + error.message;
    return error;
  }
  for (std::size_t i = 0; i < header->problems.size() && i < kListedProblems; ++i) {
    const MetadataProblem& problem = header->problems[i];
    context.console().message(LogLevel::warning,
                              fmt::format("{}:{}: {}", file, problem.line, problem.reason));
  }
  if (header->problem_count > kListedProblems) {
    context.console().message(LogLevel::warning,
                              fmt::format("{}: {} rows could not be taken", file, header->problem_count));
  }
  return resolved(context, std::move(header->rows));
}

Result<std::vector<KernelRow>> rows_of_home(const Context& context) {
  auto registry = context.open_registry(RegistryOptions::Access::read_only);
  if (!registry) {
    context.console().message(LogLevel::info, "no rows of the home: " + registry.error().to_line());
    return std::vector<KernelRow>{};
  }
  CUBINET_TRY_ASSIGN(std::vector<KernelRow> rows, (*registry)->kernel_rows());
  return resolved(context, std::move(rows));
}

}  // namespace cubinet::cli
