// SPDX-License-Identifier: Apache-2.0
#include "reference/sequence_rows.hpp"
#include "size_limits.hpp"

#include <cubinet/attention/measure.hpp>

namespace cubinet {

AttentionWork attention_work(const AttentionProblem& problem, const std::vector<std::int32_t>& kv_lengths,
                             const std::vector<std::int32_t>& q_lengths) {
  AttentionInputs lengths;
  lengths.kv_lengths = kv_lengths;
  lengths.q_lengths = q_lengths;
  if (q_lengths.empty()) lengths.q_lengths.assign(problem.batch, static_cast<std::int32_t>(problem.q_len));
  const SequenceRows rows(problem, lengths);
  double pairs = 0;
  double tokens = 0;
  for (std::size_t b = 0; b < problem.batch; ++b) {
    TokenRange read;
    for (std::uint32_t token = 0; token < rows.q_length(b); ++token) {
      const TokenRange seen = rows.visible(b, token);
      pairs += static_cast<double>(std::max<std::int64_t>(seen.end - seen.begin, 0));
      read = {token == 0 ? seen.begin : std::min(read.begin, seen.begin), std::max(read.end, seen.end)};
    }
    tokens += static_cast<double>(std::max<std::int64_t>(read.end - read.begin, 0));
  }
  const auto bytes = [](double elements, DataType type) { return elements * bits_of(type) / 8; };
  const double q_rows = static_cast<double>(rows.q_tokens()) * problem.heads_q;
  const double kv_rows = tokens * problem.heads_kv;
  AttentionWork work;
  work.operations = 2 * pairs * problem.heads_q * (problem.head_dim_qk + problem.head_dim_v);
  work.kv_bytes = bytes(kv_rows * problem.head_dim_qk, problem.data_type_k);
  // In latent attention, V is the first columns of K.
  if (!problem.is_mla_generation()) work.kv_bytes += bytes(kv_rows * problem.head_dim_v, problem.data_type_v);
  work.bytes = work.kv_bytes + bytes(q_rows * problem.head_dim_qk, problem.data_type_q) +
               bytes(q_rows * problem.head_dim_v, problem.data_type_o);
  return work;
}

Result<void> check_memory(const AttentionProblem& problem, const std::vector<std::int32_t>& kv_lengths,
                          const DeviceProperties& device) {
  double bytes = attention_work(problem, kv_lengths).bytes;
  const double rows = static_cast<double>(query_tokens(problem));
  bytes += sizeof(float) * rows * problem.heads_q;
  if (problem.mask == AttentionMask::custom) bytes += sizeof(std::uint32_t) * rows * problem.mask_words();
  const std::uint64_t pages =
      problem.layout == QkvLayout::paged_kv ? std::uint64_t{problem.batch} * problem.pages_per_sequence() : 0;
  bytes += sizeof(std::int32_t) * static_cast<double>(pages);
  const auto gibibytes = [](double count) {
    return std::to_string(static_cast<std::uint64_t>(count / (std::uint64_t{1} << 30U))) + " GiB";
  };
  if (bytes > static_cast<double>(device.memory_bytes)) {
    return Error{ErrorCode::unavailable,
                 "the tensors alone take " + gibibytes(bytes) + ", and " + device.to_string() + " has " +
                     gibibytes(static_cast<double>(device.memory_bytes)),
                 "ask for a smaller batch or fewer tokens"};
  }
  if (pages <= kLargestCount) return {};
  return Error{ErrorCode::unavailable,
               std::to_string(pages) + " pages are more than the 2^31 - 1 that a page table numbers",
               "ask for a smaller batch, fewer tokens or larger pages"};
}

}  // namespace cubinet
