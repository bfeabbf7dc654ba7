// SPDX-License-Identifier: Apache-2.0
#include "compiler_input_text.hpp"

#include <cubinet/base/text.hpp>

#include <fmt/format.h>

namespace cubinet {
namespace {

nlohmann::json input_file_document(const CompilerInput::File& file) {
  nlohmann::json described = {{"name", file.name}, {"bytes", file.bytes}, {"place", nullptr}};
  if (!file.place.empty()) described["place"] = file.place;
  return described;
}

std::string input_file_line(const CompilerInput::File& file) {
  return fmt::format("  {}, {} bytes{}", file.name, file.bytes,
                     file.place.empty() ? "" : ", from " + file.place);
}

}  // namespace

nlohmann::json describe(const CompilerInput& input, std::string_view compiler, std::string_view target) {
  nlohmann::json headers = nlohmann::json::array();
  for (const CompilerInput::File& header : input.headers)
    headers.push_back(input_file_document(header));
  return {{"target", target},
          {"compiler", compiler},
          {"flags", input.flags},
          {"names", input.names},
          {"sources_sha256", input.sources.to_hex()},
          {"variables_kept",
           input.variables_kept.empty() ? nlohmann::json() : nlohmann::json(input.variables_kept)},
          {"source", input_file_document(input.source)},
          {"headers", std::move(headers)}};
}

std::vector<std::string> to_lines(const CompilerInput& input, std::string_view compiler,
                                  std::string_view target) {
  std::vector<std::string> lines = {fmt::format("for {}, {} is given", target, compiler),
                                    fmt::format("  flags: {}", fmt::join(input.flags, " "))};
  if (!input.names.empty()) lines.push_back(fmt::format("  names: {}", fmt::join(input.names, "; ")));
  lines.push_back(input.variables_kept.empty()
                      ? "  unused variables: removed if the machine code stays the same"
                      : "  unused variables: kept, because " + input.variables_kept);
  lines.push_back(fmt::format("  texts, of SHA-256 {} together:", input.sources.to_hex()));
  lines.push_back("  " + input_file_line(input.source));
  for (const CompilerInput::File& header : input.headers)
    lines.push_back("  " + input_file_line(header));
  return lines;
}

}  // namespace cubinet
