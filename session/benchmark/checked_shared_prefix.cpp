// SPDX-License-Identifier: Apache-2.0
#include <cubinet/loader/stream.hpp>
#include <cubinet/session/checked_shared_prefix.hpp>

#include <utility>

namespace cubinet {

Result<SharedPrefixProblem> one_prefix_problem(AttentionProblem whole, std::uint32_t prefix) {
  const auto refused = [prefix](const std::string& reason, std::string remedy) {
    return Error{ErrorCode::invalid_argument,
                 "a shared prefix of " + std::to_string(prefix) + " tokens " + reason, std::move(remedy)};
  };
  if (whole.kv_len < prefix || whole.kv_len - prefix < whole.q_len) {
    return refused("leaves no room in `AttentionProblem::kv_len`, " + std::to_string(whole.kv_len) +
                       ", for the own tokens, which include the query tokens (`AttentionProblem::q_len`, " +
                       std::to_string(whole.q_len) + ")",
                   whole.kv_len > whole.q_len
                       ? "share at most " + std::to_string(whole.kv_len - whole.q_len) + " tokens"
                       : "reduce `AttentionProblem::q_len`, or attend without a shared prefix");
  }
  SharedPrefixProblem problem;
  for (std::int32_t& length : whole.kv_lengths) {
    if (length < static_cast<std::int32_t>(prefix))
      return refused("is longer than a sequence, which has " + std::to_string(length),
                     "share no more tokens than the shortest sequence has");
    length -= static_cast<std::int32_t>(prefix);
  }
  whole.kv_len -= prefix;
  problem.own = std::move(whole);
  // The position of a token counts the prefix, so runs are given it.
  if (auto& append = problem.own.append; append && append->rope_dim != 0) append->positions = true;
  problem.prefix_len = prefix;
  problem.prefix_lengths = {static_cast<std::int32_t>(prefix)};
  CUBINET_TRY(check_problem(problem.own));
  const auto served = check_shared_prefix(problem);
  if (!served && served.error().code != ErrorCode::unsupported) return served.error();
  return problem;
}

SharedPrefixProblem without_lengths(SharedPrefixProblem problem) {
  problem.own.kv_lengths.clear();
  problem.prefix_lengths.clear();
  return problem;
}

Result<SharedPrefixCase> make_shared_prefix_case(Runtime& runtime,
                                                 const std::shared_ptr<const Device>& device,
                                                 SharedPrefixProblem problem,
                                                 const std::vector<std::int32_t>& own_lengths,
                                                 std::uint64_t seed, unsigned threads,
                                                 const std::vector<std::int32_t>& q_lengths) {
  SharedPrefixCase made;
  made.problem = std::move(problem);
  const AttentionProblem& own = made.problem.own;
  CUBINET_TRY_ASSIGN(
      made.inputs,
      make_shared_prefix_inputs(
          made.problem, {made.problem.prefix_lengths, own_lengths, {own.batch}, q_lengths}, seed, threads));
  const SharedPrefixInputs& inputs = made.inputs;
  CUBINET_TRY_ASSIGN(const AttentionOutputs of_own, reference_of(runtime, device, own, inputs.own, threads));
  CUBINET_TRY_ASSIGN(const AttentionOutputs of_prefix,
                     reference_of(runtime, device, inputs.prefix_problem, inputs.prefix, threads));
  made.reference = merge_reference(inputs.merge, of_prefix, of_own);
  made.work = attention_work(own, own_lengths, inputs.own.q_lengths);
  const AttentionWork prefix =
      attention_work(inputs.prefix_problem, inputs.prefix.kv_lengths, inputs.prefix.q_lengths);
  made.work.operations += prefix.operations;
  made.work.kv_bytes += prefix.kv_bytes;
  made.work.bytes += prefix.kv_bytes;
  return made;
}

SharedPrefixAttention::Tensors CheckedSharedPrefix::tensors(std::uint32_t copy) const {
  return buffers.tensors(attention.problem().own.lse, copy);
}

Result<CheckedSharedPrefix> run_checked(Runtime& runtime, const std::shared_ptr<const Device>& device,
                                        const SharedPrefixPlan& plan, const SharedPrefixCase& given,
                                        std::uint32_t copies) {
  CUBINET_TRY_ASSIGN(SharedPrefixAttention attention,
                     SharedPrefixAttention::bind(runtime, plan, device->ordinal()));
  CUBINET_TRY_ASSIGN(SharedPrefixBuffers buffers,
                     SharedPrefixBuffers::create(device, attention, given.inputs, copies));
  CheckedSharedPrefix checked{std::move(attention), std::move(buffers), {}};
  const SharedPrefixAttention::Tensors tensors = checked.tensors();
  CUBINET_TRY(checked.attention.check(tensors));
  const auto run = [&](CUstream stream) { return checked.attention.run(tensors, stream); };
  CUBINET_TRY_ASSIGN(checked.verdict,
                     verdict_of_run(device, given.problem.own, given.problem.own.lse, checked.buffers.own,
                                    given.inputs.own, given.reference, run));
  return checked;
}

}  // namespace cubinet
