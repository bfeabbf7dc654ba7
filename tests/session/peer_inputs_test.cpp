// SPDX-License-Identifier: Apache-2.0
#include "benchmark/peer_inputs.hpp"

#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/attention/reference_values.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <span>

using namespace cubinet;
using test::ok;

namespace {

AttentionProblem small_problem(DataType of_kv) {
  AttentionProblem problem;
  problem.batch = 3;
  problem.kv_len = 40;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.head_dim_qk = problem.head_dim_v = 64;
  problem.tokens_per_page = 16;
  problem.data_type_k = problem.data_type_v = of_kv;
  return problem;
}

AttentionInputs inputs_of(const AttentionProblem& problem) {
  return ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 1));
}

// Elements of 16 bits, as they are stored.
Bytes stored(const std::vector<double>& values, DataType type) {
  ElementBits bits;
  for (const double value : values)
    bits.push_back(from_float(static_cast<float>(value), type));
  const auto bytes = std::as_bytes(std::span(bits));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("the inputs of a peer are the bytes that kernels read, and 0 where no query reads") {
  const test::TempDir folder;
  const std::shared_ptr<FileSystem> shared = posix_file_system();
  FileSystem& files = *shared;
  for (const DataType type : {DataType::bf16, DataType::e4m3}) {
    const AttentionProblem problem = small_problem(type);
    const AttentionInputs inputs = inputs_of(problem);
    ok(write_peer_inputs(files, folder.path(), problem, inputs));
    const Bytes k = ok(files.read(folder.path() / "k", 1 << 24));
    REQUIRE(k.size() == inputs.k.size() * bits_of(type) / 8);
    std::size_t zeros = 0;
    for (std::size_t i = 0; i < inputs.k.size(); ++i) {
      const std::uint16_t bits =
          type == DataType::e4m3 ? static_cast<std::uint16_t>(k[i])
                                 : static_cast<std::uint16_t>(static_cast<unsigned>(k[2 * i]) |
                                                              (static_cast<unsigned>(k[2 * i + 1]) << 8U));
      const bool unread = std::isnan(to_float(inputs.k[i], type));
      zeros += unread ? 1 : 0;
      if (bits != (unread ? 0 : inputs.k[i])) FAIL("element " << i << " is " << bits);
    }
    CHECK(zeros > 0);
    CHECK(ok(files.read(folder.path() / "v", 1 << 24)).size() == k.size());
    CHECK(ok(files.read(folder.path() / "q", 1 << 24)).size() == inputs.q.size() * 2);
    CHECK(ok(files.read(folder.path() / "page_table", 1 << 24)).size() == inputs.page_table.size() * 4);
  }
}

TEST_CASE("the output of a peer is read, and one of another size is refused") {
  const test::TempDir folder;
  const std::shared_ptr<FileSystem> shared = posix_file_system();
  FileSystem& files = *shared;
  const AttentionProblem problem = small_problem(DataType::bf16);
  const AttentionOutputs reference = ok(attention_reference(problem, inputs_of(problem)));
  const auto path = folder.path() / "output";
  const Bytes o = stored(reference.o, DataType::bf16);
  ok(write_file_atomically(files, path, o));
  CHECK(ok(read_peer_output(files, path, o.size())) == o);
  CHECK(read_peer_output(files, path, o.size() + 1).error().code == ErrorCode::invalid_argument);
  CHECK_FALSE(read_peer_output(files, path, o.size() - 1));
  CHECK_FALSE(read_peer_output(files, folder.path() / "none", o.size()));
}
