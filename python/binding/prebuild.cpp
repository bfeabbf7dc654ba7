// SPDX-License-Identifier: Apache-2.0
#include "attention_problem.hpp"
#include "classes.hpp"
#include "configuration.hpp"
#include "errors.hpp"
#include "text.hpp"
#include "without_gil.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <thread>
#include <utility>

namespace cubinet_python {
namespace {

namespace nb = nanobind;

// Signals are checked at this interval.
constexpr std::chrono::milliseconds kInterval{50};

struct Progress {
  std::size_t done;
  std::size_t total;
  std::string kernel;
  std::string outcome;
  double seconds;
  std::uint64_t bytes;
};

// One run of cubinet_prebuild in a thread of its own. The library calls back on threads that Python
// does not know, and holds a lock meanwhile, so that the callbacks only leave notes here. The
// calling thread passes them on.
class PrebuildRun {
 public:
  PrebuildRun(const cubinet_config* config, cubinet_prebuild_options options) : options_(options) {
    options_.progress = [](void* run, const cubinet_prebuild_progress* progress) {
      static_cast<PrebuildRun*>(run)->add(*progress);
    };
    options_.cancelled = [](void* run) -> std::int32_t {
      return static_cast<PrebuildRun*>(run)->cancelled_ || calls_have_ended() ? 1 : 0;
    };
    options_.user = this;
    thread_ = std::thread([this, config] {
      const LibraryUse use;
      status_ = cubinet_prebuild(config, &options_, &json_, &error_);
      const std::lock_guard lock(mutex_);
      is_done_ = true;
      changed_.notify_one();
    });
  }
  ~PrebuildRun() {
    const WithoutGil without_gil;
    cancelled_ = true;
    thread_.join();
    cubinet_text_release(json_);
    cubinet_error_release(error_);
  }
  PrebuildRun(const PrebuildRun&) = delete;
  PrebuildRun& operator=(const PrebuildRun&) = delete;

  // Waits for notes, without the GIL. Returns those that have come. Stores whether the run is done.
  std::deque<Progress> wait(bool& is_done) {
    const WithoutGil without_gil;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kInterval, [&] { return is_done_ || !notes_.empty(); });
    is_done = is_done_;
    return std::exchange(notes_, {});
  }

  void cancel() { cancelled_ = true; }

  // Returns the report as JSON, or raises the error of the run, which is done.
  std::string result() {
    if (status_ != CUBINET_OK) raise(std::exchange(error_, nullptr));
    return take_text(std::exchange(json_, nullptr));
  }

 private:
  void add(const cubinet_prebuild_progress& progress) {
    const std::lock_guard lock(mutex_);
    notes_.push_back({progress.done, progress.total, std::string(view_of(progress.kernel)),
                      std::string(view_of(progress.outcome)), progress.seconds, progress.bytes});
    changed_.notify_one();
  }

  cubinet_prebuild_options options_;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Progress> notes_;
  bool is_done_ = false;
  cubinet_status status_ = CUBINET_OK;
  cubinet_text* json_ = nullptr;
  cubinet_error* error_ = nullptr;
  std::thread thread_;
};

void pass_on(const std::deque<Progress>& notes, nb::handle progress) {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  deliver_log_lines();
  if (progress.is_none()) return;
  for (const Progress& note : notes)
    progress(note.done, note.total, note.kernel, note.outcome, note.seconds, note.bytes);
}

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
                     nb::object progress) {
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
  PrebuildRun run(config.get(), options);
  // An exception of the callback, or of a signal handler, ends the run. It is raised when the
  // compilations that have begun are finished.
  std::exception_ptr raised;
  for (bool is_done = false; !is_done;) {
    const std::deque<Progress> notes = run.wait(is_done);
    if (raised) continue;
    try {
      pass_on(notes, progress);
    } catch (nb::python_error&) {
      raised = std::current_exception();
      run.cancel();
    }
  }
  deliver_log_lines();
  if (raised) std::rethrow_exception(raised);
  return run.result();
}

}  // namespace

void add_prebuild(nb::module_& module) {
  module.def(
      "prebuild", prebuild, nb::arg("variables"), nb::arg("options"), nb::arg("output"), nb::arg("matrix"),
      nb::arg("problems"), nb::arg("plan_options"), nb::arg("device"), nb::arg("sm_count"), nb::arg("jobs"),
      nb::arg("profile"), nb::arg("channel"), nb::arg("version"), nb::arg("created"), nb::arg("expires"),
      nb::arg("progress").none(),
      nb::sig(
          "def prebuild(variables: Sequence[bytes], options: Sequence[tuple[str, bytes]], output: bytes, "
          "matrix: str, problems: Sequence[dict[str, typing.Any]], plan_options: dict[str, typing.Any], "
          "device: str, sm_count: int, jobs: int, profile: str, channel: str, version: int, created: int, "
          "expires: int, progress: object | None) -> str"));
}

}  // namespace cubinet_python
