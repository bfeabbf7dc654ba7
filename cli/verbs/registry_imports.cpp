// SPDX-License-Identifier: Apache-2.0
#include "registry_imports.hpp"

#include "describe.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/imports.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet::cli {
namespace {

std::vector<std::string> functions_of(const ArtifactImport& import) {
  std::vector<std::string> names;
  for (const KernelRow& row : import.rows)
    names.push_back(row.function_name);
  for (const PlainKernel& kernel : import.plain)
    names.push_back(kernel.function_name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string import_text(const ImportSummary& import) {
  return fmt::format(
      "import {}    {}\n  version      {}\n  pin          {}\n  files        {}, {} ({})\n  rows         {}\n"
      "  functions    {} found by name{}",
      import.number, printable(import.folder),
      import.version.empty() ? "not known" : printable(import.version), import.pin, import.files,
      format_bytes(import.bytes), to_string(import.placement), import.rows, import.plain,
      import.gone ? "\n  gone         its folder is not there: it offers nothing" : "");
}

}  // namespace

nlohmann::json describe(const ImportSummary& import) {
  return {{"number", import.number},
          {"folder", import.folder},
          {"version", import.version},
          {"pin", import.pin},
          {"placement", to_string(import.placement)},
          {"rows", import.rows},
          {"plain", import.plain},
          {"files", import.files},
          {"bytes", import.bytes},
          {"gone", import.gone}};
}

Result<ExitStatus> list_imports(const Context& context, Home* home, std::uint64_t number) {
  std::vector<ImportSummary> imports;
  CUBINET_TRY_ASSIGN(const std::string place, context.place_of(home));
  if (home != nullptr) {
    CUBINET_TRY_ASSIGN(imports, home->imports().list());
  }
  if (number != 0)
    std::erase_if(imports, [&](const ImportSummary& import) { return import.number != number; });
  if (number != 0 && imports.empty()) {
    return context.fail(Error{ErrorCode::not_found, fmt::format("the home has no import {}", number),
                              "`cubinet registry list --imports` prints those that it has"},
                        ExitStatus::negative);
  }
  nlohmann::json described = nlohmann::json::array();
  for (const ImportSummary& import : imports) {
    CUBINET_TRY_ASSIGN(const auto content, home->imports().read(import.number));
    nlohmann::json one = describe(import);
    const auto functions = content == nullptr ? std::vector<std::string>() : functions_of(*content);
    one["functions"] = functions;
    described.push_back(std::move(one));
    context.console().text(import_text(import));
    if (number == 0 && !context.verbose()) continue;
    for (const std::string& function : functions)
      context.console().text("    " + printable(function));
  }
  if (imports.empty()) context.console().message(LogLevel::info, "no import");
  context.console().document({{"home", place}, {"imports", std::move(described)}});
  return ExitStatus::done;
}

}  // namespace cubinet::cli
