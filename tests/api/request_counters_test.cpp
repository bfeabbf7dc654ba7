// SPDX-License-Identifier: Apache-2.0
#include "request_counters.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("a request is counted by its source, and in the phases that it had") {
  RequestCounters counters;
  KernelEvent event;
  event.device = 0;
  event.source = KernelSource::compiled;
  event.total_seconds = 2;
  event.compile_seconds = 1.5;
  event.load_seconds = 0.25;
  counters.count(event, false);
  event.source = KernelSource::bundle;
  event.device = -1;  // nothing is loaded
  event.compile_seconds = event.load_seconds = 0;
  counters.count(event, false);
  const Runtime::Counters read = counters.read();
  CHECK(read.compiled == 1);
  CHECK(read.bundle_hits == 1);
  CHECK(read.request_seconds.count() == 2);
  CHECK(read.request_seconds.seconds == doctest::Approx(4.0));
  CHECK(read.compile_seconds.count() == 1);
  CHECK(read.load_seconds.count() == 1);
  CHECK(read.find_seconds.count() == 0);
}

TEST_CASE("a request without a source is a miss or a failure, and trims are counted") {
  RequestCounters counters;
  counters.count(KernelEvent(), true);
  counters.count(KernelEvent(), false);
  counters.count(TrimmedModules{2, 300});
  counters.process_hits.add(5);
  const Runtime::Counters read = counters.read();
  CHECK(read.misses == 1);
  CHECK(read.failures == 1);
  CHECK(read.process_hits == 5);
  CHECK(read.trims == 1);
  CHECK(read.trimmed_modules == 2);
  CHECK(read.trimmed_bytes == 300);
}
