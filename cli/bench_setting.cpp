// SPDX-License-Identifier: Apache-2.0
#include "bench_setting.hpp"

#include "arguments.hpp"
#include "bench_cases.hpp"
#include "option_lines.hpp"
#include "server_arguments.hpp"

#include <cubinet/session/output_file.hpp>

namespace cubinet::cli {
namespace {

// Parses NAME=COMMAND.
Result<BenchmarkPeer> peer_of(const std::string& option) {
  const std::size_t sign = option.find('=');
  if (sign == 0 || sign == std::string::npos || sign + 1 == option.size())
    return Error{ErrorCode::invalid_argument, "--peer: '" + option + "' is not NAME=COMMAND"};
  return BenchmarkPeer{option.substr(0, sign), option.substr(sign + 1)};
}

}  // namespace

void add_bench_setting(CLI::App& verb, BenchSetting& setting) {
  CLI::Option* peer =
      verb.add_option("--peer", setting.peers,
                      "Another implementation, a process that is asked in the same rounds; may be repeated")
          ->allow_extra_args(false)
          ->type_name("NAME=COMMAND");
  add_text(verb, "--peer-inputs", setting.peer_inputs, "FOLDER",
           "Give the peers our inputs too, as files there, and compare what they compute of them")
      ->needs(peer);
  add_integer(verb, "--iterations", setting.iterations, 1, 100'000, "Rounds to time (default: 20)");
  add_integer(verb, "--seed", setting.seed, 0, INT64_MAX,
              "Of the random inputs and of the sample (default: 1)");
  add_integer(verb, "--device", setting.device, 0, 1023, "The GPU's number (default: 0)");
  add_places(verb, setting.places);
  add_written_cache(verb, setting.places);
}

Result<BenchmarkOptions> benchmark_options_of(const Context& context, const BenchSetting& setting) {
  BenchmarkOptions options;
  for (const std::string& peer : setting.peers) {
    CUBINET_TRY_ASSIGN(options.peers.emplace_back(), peer_of(peer));
  }
  options.peer_environment = context.environment().lines();
  options.peer_folder = setting.peer_inputs;
  options.device = setting.device;
  options.rounds = setting.iterations;
  options.seed = setting.seed;
  options.threads = context.jobs();
  return options;
}

Result<void> check_peer_folder(const Context& context, const BenchSetting& setting) {
  if (setting.peer_inputs.empty()) return {};
  // Any name in the folder works for the check.
  CUBINET_TRY(check_output_file(*context.files(), setting.peer_inputs + "/output"));
  return {};
}

Result<std::vector<BenchmarkCase>> cases_of_sweep(const Context& context, const std::string& file) {
  CUBINET_TRY_ASSIGN(const Bytes text, context.files()->read(file, kMaximumOptionFile));
  CUBINET_TRY_ASSIGN(const std::vector<BenchCase> given, parse_sweep(as_text(text), file));
  std::vector<BenchmarkCase> cases;
  for (const BenchCase& each : given) {
    CUBINET_TRY_ASSIGN(cases.emplace_back(), benchmark_case_of(each));
  }
  return cases;
}

}  // namespace cubinet::cli
