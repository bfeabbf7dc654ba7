// SPDX-License-Identifier: Apache-2.0
#include "kernel_rows.hpp"

#include "describe.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/kernel_table/conflict.hpp>
#include <cubinet/kernel_table/metadata_header.hpp>
#include <cubinet/usable_rows.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

constexpr std::size_t kListedProblems = 5;

void tell_conflicts(const Context& context, const std::vector<RowConflict>& conflicts) {
  for (const RowConflict& conflict : conflicts)
    context.console().message(LogLevel::warning, conflict.to_string());
}

}  // namespace

Result<std::vector<KernelRow>> rows_of_header(const Context& context, const std::string& file) {
  CUBINET_TRY_ASSIGN(const Bytes bytes, context.files()->read(file, kMaximumImageBytes));
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
  CUBINET_TRY_ASSIGN(ResolvedRows resolved, resolve_conflicts(std::move(header->rows)));
  tell_conflicts(context, resolved.conflicts);
  return std::move(resolved.rows);
}

Result<std::vector<KernelRow>> rows_of_home(const Context& context) {
  const auto registry = context.registry_to_read();
  if (registry == nullptr) return std::vector<KernelRow>{};
  CUBINET_TRY_ASSIGN(const TemplateCatalog templates, context.catalog({}));
  const auto compiler = Compiler::open(context.compiler_search());
  CUBINET_TRY_ASSIGN(UsableRows usable,
                     usable_rows(*registry, templates, compiler ? compiler->get() : nullptr));
  tell_conflicts(context, usable.conflicts);
  if (usable.stale + usable.foreign > 0) {
    context.console().message(
        LogLevel::info,
        fmt::format("{} of the home are left out: {} stale, {} of another interface version",
                    plural(usable.stale + usable.foreign, "build"), usable.stale, usable.foreign));
  }
  return std::move(usable.rows);
}

}  // namespace cubinet::cli
