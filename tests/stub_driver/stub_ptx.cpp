// SPDX-License-Identifier: Apache-2.0
#include "stub_cubin.hpp"

#include <cstdlib>
#include <map>
#include <regex>

namespace cubinet::stub {
namespace {

std::uint32_t bytes_of_type(const std::string& type) {
  static const std::map<std::string, std::uint32_t> kBytes = {
      {"b8", 1},  {"u8", 1},  {"s8", 1},  {"b16", 2}, {"u16", 2}, {"s16", 2}, {"f16", 2}, {"b32", 4},
      {"u32", 4}, {"s32", 4}, {"f32", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}};
  const auto found = kBytes.find(type);
  return found == kBytes.end() ? 0 : found->second;
}

std::vector<Parameter> read_parameters(const std::string& list) {
  static const std::regex parameter(R"(\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+\w+(?:\[(\d+)\])?)");
  std::vector<Parameter> parameters;
  std::uint32_t offset = 0;
  for (std::sregex_iterator at(list.begin(), list.end(), parameter), end; at != end; ++at) {
    const std::string count = (*at)[2];
    const auto elements =
        static_cast<std::uint32_t>(count.empty() ? 1 : std::strtoul(count.c_str(), nullptr, 10));
    const std::uint32_t size = bytes_of_type((*at)[1]) * elements;
    parameters.push_back({offset, size});
    offset += size;
  }
  return parameters;
}

}  // namespace

// Reads what ptxas would keep of the text: names and parameters. Static shared memory remains 0.
std::optional<CubinImage> read_ptx(const void* image) {
  if (image == nullptr) return std::nullopt;
  const std::string text = static_cast<const char*>(image);
  static const std::regex target(R"(\.target\s+sm_(\d+)([af]?))");
  static const std::regex entry(R"(\.entry\s+(\w+)\s*\(([^)]*)\))");
  std::smatch match;
  if (text.find(".version") == std::string::npos || !std::regex_search(text, match, target))
    return std::nullopt;
  CubinImage read;
  read.ptx = true;
  read.sm = std::atoi(match[1].str().c_str());
  read.specific = match[2] == "a";
  for (std::sregex_iterator at(text.begin(), text.end(), entry), end; at != end; ++at) {
    KernelImage kernel;
    kernel.name = (*at)[1];
    kernel.parameters = read_parameters((*at)[2]);
    read.kernels.push_back(std::move(kernel));
  }
  return read;
}

}  // namespace cubinet::stub
