// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session/workload_recorder.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace cubinet;
using test::ok;
using test::TempDir;

namespace {

Runtime::Counters none() {
  return {};
}

KernelEvent load_of(int number) {
  KernelEvent event;
  event.spec = KernelSpec{"k", {}}.set("number", number);
  event.source = KernelSource::compiled;
  event.capability = ComputeCapability{9, 0};
  return event;
}

}  // namespace

TEST_CASE("a recorder notes loads in their order while it is on, and nothing else") {
  WorkloadRecorder recorder{{}};
  recorder.note(load_of(0));
  CHECK(recorder.recorded(none).to_text() == Workload().to_text());
  ok(recorder.start(none));
  recorder.note(load_of(5));
  recorder.note(load_of(4));
  recorder.note(load_of(5));
  KernelEvent failed = load_of(6);
  failed.source.reset();
  recorder.note(failed);
  KernelEvent prebuilt = load_of(7);
  prebuilt.capability.reset();
  recorder.note(prebuilt);
  {
    const WorkloadRecorder::Binding binding;
    recorder.note(load_of(8));
  }
  recorder.stop(none);
  recorder.note(load_of(9));
  const auto entries = recorder.recorded(none).entries();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].to_string() == "k(number=5)");
  CHECK(entries[1].to_string() == "k(number=4)");
  CHECK(entries[1].first_use == 1);
}

TEST_CASE("the counters of a recording are those of the periods in which it was on") {
  WorkloadRecorder recorder{{}};
  Runtime::Counters counters;
  const auto now = [&] { return counters; };
  counters.process_hits = 10;
  ok(recorder.start(now));
  counters.process_hits = 15;
  counters.compiled = counters.bundle_hits = 1;
  recorder.stop(now);
  counters.process_hits = 100;
  const WorkloadRecording first = recorder.recorded(now).recordings().begin()->second;
  CHECK(first == WorkloadRecording{5, 2, 1, 0, 0});
  ok(recorder.start(now));
  counters.process_hits = 101;
  counters.misses = 3;
  const Workload both = recorder.recorded(now);
  REQUIRE(both.recordings().size() == 1);
  CHECK(both.recordings().begin()->second == WorkloadRecording{6, 2, 1, 3, 0});
  WorkloadRecorder other{{}};
  ok(other.start(none));
  CHECK(other.recorded(none).recordings().begin()->first != both.recordings().begin()->first);
}

TEST_CASE("a full recording is logged once, and a reader takes all of it") {
  int warnings = 0;
  WorkloadRecorder recorder([&](const LogRecord&) { ++warnings; }, {}, 10);
  ok(recorder.start(none));
  for (int i = 0; i < 15; ++i)
    recorder.note(load_of(i));
  CHECK(warnings == 1);
  const Workload recorded = recorder.recorded(none);
  CHECK(recorded.size() + recorded.recordings().size() == 10);
}

TEST_CASE("threads note kernels while another reads the recording") {
  WorkloadRecorder recorder{{}};
  ok(recorder.start(none));
  std::vector<std::thread> threads;
  threads.reserve(5);
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&recorder, thread] {
      for (int i = 0; i < 25; ++i)
        recorder.note(load_of((thread * 20) + i));
    });
  }
  threads.emplace_back([&recorder] {
    for (int i = 0; i < 20; ++i)
      CHECK(recorder.recorded(none).size() <= 85);
    CHECK(recorder.start(none));
  });
  for (std::thread& thread : threads)
    thread.join();
  const auto entries = recorder.recorded(none).entries();
  REQUIRE(entries.size() == 85);
  for (std::size_t i = 0; i < entries.size(); ++i)
    CHECK(entries[i].first_use == i);
}

TEST_CASE("a recorder appends each entry to a file at once, and its counters at the end") {
  const TempDir temp;
  WorkloadRecorder recorder({}, temp.path().string());
  ok(recorder.start(none));
  const auto file = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(temp.path()))
      return ok(Workload::read(entry.path().string()));
    return Workload();
  };
  CHECK(file().empty());
  recorder.note(load_of(1));
  recorder.note(load_of(2));
  CHECK(file().size() == 2);
  CHECK(file().entries()[1].to_string() == "k(number=2)");
  CHECK(file().recordings().empty());
  const auto size = std::filesystem::file_size(std::filesystem::directory_iterator(temp.path())->path());
  recorder.note(load_of(1));  // known
  CHECK(std::filesystem::file_size(std::filesystem::directory_iterator(temp.path())->path()) == size);
  recorder.append_counters(none);
  CHECK(file().to_text() == recorder.recorded(none).to_text());
  CHECK(file().rejected().empty());
}

TEST_CASE("a file that cannot be written is one warning, and the recording goes on in memory") {
  int warnings = 0;
  WorkloadRecorder recorder([&](const LogRecord&) { ++warnings; }, "/none");
  ok(recorder.start(none));
  recorder.note(load_of(1));
  recorder.note(load_of(2));
  recorder.append_counters(none);
  CHECK(warnings == 1);
  CHECK(recorder.recorded(none).size() == 2);
}

TEST_CASE("a recorder that never started writes no file") {
  const TempDir temp;
  WorkloadRecorder recorder({}, temp.path().string());
  recorder.note(load_of(1));
  recorder.append_counters(none);
  CHECK(std::filesystem::is_empty(temp.path()));
}

TEST_CASE("counters only grow while threads read them and others stop and start the recording") {
  WorkloadRecorder recorder{{}};
  std::atomic<std::uint64_t> hits{0};
  const auto read = [&] {
    Runtime::Counters counters;
    counters.process_hits = ++hits;
    std::this_thread::yield();
    return counters;
  };
  ok(recorder.start(read));
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int i = 0; i < 300; ++i) {
      recorder.stop(read);
      ok(recorder.start(read));
    }
  });
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      std::uint64_t before = 0;
      for (int i = 0; i < 300; ++i) {
        const std::uint64_t now = recorder.recorded(read).recordings().begin()->second.hits;
        CHECK(now >= before);
        before = now;
      }
      CHECK(before <= hits);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

TEST_CASE("a forked child appends nothing to the file and waits for no lock") {
  const TempDir temp;
  WorkloadRecorder recorder({}, temp.path().string());
  ok(recorder.start(none));
  recorder.note(load_of(1));
  bool child_ended_well = false;
  // The lock is held while the counters are read, so the child has it held for ever.
  recorder.stop([&] {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      recorder.append_counters(none);
      ::_exit(0);
    }
    int status = -1;
    child_ended_well = ::waitpid(child, &status, 0) == child && status == 0;
    return Runtime::Counters{};
  });
  CHECK(child_ended_well);
  for (const auto& entry : std::filesystem::directory_iterator(temp.path())) {
    const Workload read = ok(Workload::read(entry.path().string()));
    CHECK(read.size() == 1);
    CHECK(read.recordings().empty());
  }
}
