// SPDX-License-Identifier: Apache-2.0
#include "attention_problem.hpp"
#include "background_run.hpp"
#include "classes.hpp"
#include "configuration.hpp"
#include "conversions.hpp"
#include "text.hpp"
#include "without_gil.hpp"

#include <deque>
#include <utility>

namespace cubinet_python {
namespace {

namespace nb = nanobind;

// Attention problems as the C library takes them.
class Problems {
 public:
  Problems(const std::vector<nb::dict>& problems, const nb::dict& plan_options) {
    for (const nb::dict& problem : problems)
      pointers_.push_back(&values_.emplace_back(problem, plan_options).problem());
  }
  const cubinet_attention_problem* const* data() const { return pointers_.data(); }
  std::size_t size() const { return pointers_.size(); }

 private:
  std::deque<ProblemValues> values_;
  std::vector<const cubinet_attention_problem*> pointers_;
};

std::string prebuild(const Variables& variables, const Options& settings, nb::bytes output,
                     const std::string& matrix, const std::vector<nb::dict>& problems,
                     const nb::dict& plan_options, const std::string& device, std::uint32_t sm_count,
                     std::uint32_t jobs, const std::string& profile, const std::string& channel,
                     std::uint64_t version, std::uint64_t created, std::uint64_t expires,
                     const std::string& workload, nb::object progress) {
  const ConfigHandle config = make_configuration(variables, settings);
  cubinet_prebuild_options options = CUBINET_PREBUILD_OPTIONS_INIT;
  options.output = {output.c_str(), output.size()};
  options.matrix = to_c(matrix);
  const Problems given(problems, plan_options);
  options.problems = given.data();
  options.problem_count = given.size();
  options.device = to_c(device);
  options.sm_count = sm_count;
  options.jobs = jobs;
  options.profile = to_c(profile);
  options.channel = to_c(channel);
  options.version = version;
  options.created = created;
  options.expires = expires;
  options.workload = to_c(workload);
  const auto run = [&](const cubinet_prebuild_options* wanted, cubinet_text** json, cubinet_error** error) {
    return cubinet_prebuild(config.get(), wanted, json, error);
  };
  return run_with_progress<cubinet_prebuild_options>(options, run, progress);
}

}  // namespace

void add_prebuild(nb::module_& module) {
  module.def(
      "prebuild", prebuild, nb::arg("variables"), nb::arg("options"), nb::arg("output"), nb::arg("matrix"),
      nb::arg("problems"), nb::arg("plan_options"), nb::arg("device"), nb::arg("sm_count"), nb::arg("jobs"),
      nb::arg("profile"), nb::arg("channel"), nb::arg("version"), nb::arg("created"), nb::arg("expires"),
      nb::arg("workload"), nb::arg("progress").none(),
      nb::sig(
          "def prebuild(variables: Sequence[bytes], options: Sequence[tuple[str, bytes]], output: bytes, "
          "matrix: str, problems: Sequence[dict[str, typing.Any]], plan_options: dict[str, typing.Any], "
          "device: str, sm_count: int, jobs: int, profile: str, channel: str, version: int, created: int, "
          "expires: int, workload: str, progress: object | None) -> str"));
}

}  // namespace cubinet_python
