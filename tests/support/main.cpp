// SPDX-License-Identifier: Apache-2.0
// doctest's main, in which a run of no test case fails. With doctest 2.4.9 a filter that matches
// nothing, such as one made from a name with ';' or '\' in it, passes.
#define DOCTEST_CONFIG_IMPLEMENT
#include "support/skip.hpp"

#include <doctest/doctest.h>

#include <cstdio>

namespace {

unsigned cases_started = 0;

struct CaseCounter : doctest::IReporter {
  explicit CaseCounter(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override { ++cases_started; }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("cubinet_case_counter", 1, CaseCounter);

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
// nvJitLink (13.0, 13.5) leaks memory, in particular when it rejects an input.
extern "C" const char* __lsan_default_suppressions();   // NOLINT(bugprone-reserved-identifier): its name
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "leak:libnvJitLink\n";
}
#endif

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int status = context.run();
  if (context.shouldExit()) return status;  // a query: --list-test-cases, --help
  if (cases_started == 0) {
    std::fputs("no test case matches the filter\n", stderr);
    return 2;
  }
  if (status == 0 && cubinet::test::skip_was_called()) return cubinet::test::kSkippedStatus;
  return status;
}
