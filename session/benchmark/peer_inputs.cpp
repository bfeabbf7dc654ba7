// SPDX-License-Identifier: Apache-2.0
#include "benchmark/peer_inputs.hpp"

#include <cubinet/attention/reference_values.hpp>
#include <cubinet/base/bytes.hpp>

#include <fmt/format.h>

#include <cmath>
#include <span>

namespace cubinet {
namespace {

Bytes without_nan(ElementBits elements, DataType type) {
  for (std::uint16_t& bits : elements) {
    if (std::isnan(to_float(bits, type))) bits = 0;
  }
  if (bits_of(type) != 16) return packed_elements(elements, type);
  const auto bytes = std::as_bytes(std::span(elements));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Result<void> write_peer_inputs(FileSystem& files, const std::filesystem::path& folder,
                               const AttentionProblem& problem, const AttentionInputs& inputs) {
  const auto write = [&](const char* name, ByteView content) {
    return write_file_atomically(files, folder / name, content);
  };
  CUBINET_TRY(write("q", without_nan(inputs.q, problem.data_type_q)));
  CUBINET_TRY(write("k", without_nan(inputs.k, problem.data_type_k)));
  if (!inputs.v.empty()) CUBINET_TRY(write("v", without_nan(inputs.v, problem.data_type_v)));
  return write("page_table", std::as_bytes(std::span(inputs.page_table)));
}

Result<Bytes> read_peer_output(FileSystem& files, const std::filesystem::path& path, std::size_t bytes) {
  CUBINET_TRY_ASSIGN(Bytes o, files.read(path, bytes));
  if (o.size() == bytes) return o;
  return Error{ErrorCode::invalid_argument,
               fmt::format("{} has {} bytes, and the output has {}", path.string(), o.size(), bytes)};
}

}  // namespace cubinet
