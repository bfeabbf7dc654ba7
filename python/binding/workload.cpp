// SPDX-License-Identifier: Apache-2.0
#include "background_run.hpp"
#include "classes.hpp"
#include "conversions.hpp"
#include "runtime.hpp"

#include <vector>

namespace cubinet_python {
namespace {

void record(const PyRuntime& self, bool on) {
  const Handle<cubinet_runtime> runtime = self.state->open();
  call([&](cubinet_error** error) { return cubinet_runtime_record(runtime.get(), on ? 1 : 0, error); });
}

std::string recorded(const PyRuntime& self) {
  const Handle<cubinet_runtime> runtime = self.state->open();
  cubinet_text* workload = nullptr;
  call([&](cubinet_error** error) { return cubinet_runtime_workload(runtime.get(), &workload, error); });
  return take_text(workload);
}

std::string merge_workloads(const std::vector<std::string>& texts) {
  std::vector<cubinet_string> given;
  for (const std::string& text : texts)
    given.push_back(to_c(text));
  cubinet_text* merged = nullptr;
  call([&](cubinet_error** error) {
    return cubinet_workload_merge(given.data(), given.size(), &merged, error);
  });
  return take_text(merged);
}

// True while this thread is in prepare(). The C library cannot know that a callback belongs to a
// preparation, because callbacks run on this thread and the preparation on another one.
thread_local bool is_preparing = false;

class Preparing {
 public:
  Preparing() { is_preparing = true; }
  ~Preparing() { is_preparing = false; }
  Preparing(const Preparing&) = delete;
  Preparing& operator=(const Preparing&) = delete;
};

std::string prepare(const PyRuntime& self, const std::string& workload, std::int32_t device,
                    std::uint32_t jobs, std::uint64_t memory, nb::object progress) {
  if (is_preparing)
    refuse_busy("a callback of a running preparation cannot prepare a workload",
                "call it after the running one has returned, or on another thread");
  const Preparing preparing;
  const Handle<cubinet_runtime> runtime = self.state->open();
  cubinet_prepare_options options = CUBINET_PREPARE_OPTIONS_INIT;
  options.workload = to_c(workload);
  options.device = device;
  options.jobs = jobs;
  options.memory = memory;
  const auto run = [&](const cubinet_prepare_options* wanted, cubinet_text** json, cubinet_error** error) {
    return cubinet_prepare(runtime.get(), wanted, json, error);
  };
  return run_with_progress<cubinet_prepare_options>(options, run, progress);
}

}  // namespace

void add_workload(nb::module_& module) {
  module.def("record", record, nb::arg("runtime"), nb::arg("on"));
  module.def("recorded", recorded, nb::arg("runtime"));
  module.def("merge_workloads", merge_workloads, nb::arg("texts"),
             nb::sig("def merge_workloads(texts: Sequence[str]) -> str"));
  module.def("prepare", prepare, nb::arg("runtime"), nb::arg("workload"), nb::arg("device"), nb::arg("jobs"),
             nb::arg("memory"), nb::arg("progress").none());
}

}  // namespace cubinet_python
