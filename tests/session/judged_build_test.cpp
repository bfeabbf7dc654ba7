// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"
#include "support/ok.hpp"

#include <cubinet/session/judged_build.hpp>
#include <cubinet/session/open_stores.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

std::shared_ptr<const CubinRecord> record_of(KernelMaker maker, CubinOrigin origin = CubinOrigin::compiled) {
  KernelSpec spec{"one", {}, maker};
  CubinRecord record = *make_cubin(spec).record;
  record.origin = origin;
  return std::make_shared<const CubinRecord>(std::move(record));
}

}  // namespace

TEST_CASE("kernels that were brought have no current build") {
  CHECK(can_be_stale(*record_of(KernelMaker::kernel_template)));
  CHECK(can_be_stale(*record_of(KernelMaker::source, CubinOrigin::bundle)));
  CHECK_FALSE(can_be_stale(*record_of(KernelMaker::function)));
  CHECK_FALSE(can_be_stale(*record_of(KernelMaker::tool)));
  CHECK_FALSE(can_be_stale(*record_of(KernelMaker::publisher, CubinOrigin::imported)));
}

TEST_CASE("a build is judged by the templates and the compiler of a Runtime") {
  SessionOptions session;
  session.compiler.library = "/absent.so";
  const auto runtime = ok(make_runtime(session, {}, ok(TemplateCatalog::builtin())));
  const JudgedBuild unknown = judged_build(*runtime, record_of(KernelMaker::kernel_template));
  CHECK(unknown.status == BuildStatus::unchecked);
  CHECK_FALSE(unknown.outdated());
  const JudgedBuild brought = judged_build(*runtime, record_of(KernelMaker::function));
  CHECK_FALSE(brought.status);
  CHECK(brought.verdict.empty());
  CHECK(JudgedBuild{nullptr, BuildStatus::stale}.outdated());
  CHECK(JudgedBuild{nullptr, BuildStatus::foreign}.outdated());
}
