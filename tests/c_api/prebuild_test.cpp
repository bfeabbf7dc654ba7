// SPDX-License-Identifier: Apache-2.0
#include "api/runtime_fixture.hpp"
#include "c_fixture.hpp"

using namespace cubinet::test;

namespace {

constexpr const char* kMatrix =
    R"({"kernels": [{"template": "scale", "targets": ["sm_90"], "parameters": {"factor": [2, 3]}}]})";

cubinet_status prebuild(const CConfig& config, const cubinet_prebuild_options& options, CText& report,
                        Failure& failure) {
  cubinet_text* json = nullptr;
  const auto status = cubinet_prebuild(config.get(), &options, &json, failure.out());
  report.reset(json);
  return status;
}

}  // namespace

TEST_CASE("a matrix is compiled into a bundle, which a runtime that may not compile uses") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const std::string output = (folder / "x.bundle").string();
  std::size_t kernels = 0;
  cubinet_prebuild_options options = CUBINET_PREBUILD_OPTIONS_INIT;
  options.output = c_string(output);
  options.matrix = cubinet_str(kMatrix);
  options.user = &kernels;
  options.progress = [](void* user, const cubinet_prebuild_progress* progress) {
    if (progress->kernel.size != 0) ++*static_cast<std::size_t*>(user);
    CHECK(progress->total == 2);
  };
  CText report;
  Failure failure;
  REQUIRE_MESSAGE(prebuild(config, options, report, failure) == CUBINET_OK, failure.message());
  CHECK(kernels == 2);
  CHECK(text(cubinet_text_get(report.get())).find("x.bundle") != std::string::npos);

  const CConfig reader = make_config();
  set(reader, "bundle", output);
  set(reader, "template_file", (folder / "scale.cu").string());
  set(reader, "compile", "never");
  const CRuntime runtime = make_runtime(reader);
  const CSpec spec = make_spec("scale");
  set_integer(spec, "factor", 3);
  const CKernel kernel = make_kernel(runtime, spec);
  cubinet_text* image = nullptr;
  REQUIRE(cubinet_kernel_image(kernel.get(), cubinet_str("sm_90"), CUBINET_IMAGE_CUBIN, &image,
                               failure.out()) == CUBINET_OK);
  cubinet_text_release(image);
}

TEST_CASE("a prebuild that is cancelled or has nothing to write is no success") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const std::string output = (folder / "x.bundle").string();
  cubinet_prebuild_options options = CUBINET_PREBUILD_OPTIONS_INIT;
  CText report;
  Failure failure;
  options.matrix = cubinet_str(kMatrix);
  CHECK(prebuild(config, options, report, failure) == CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message() == "`options.output` is empty");
  options.output = c_string(output);
  options.cancelled = [](void*) -> std::int32_t { return 1; };
  CHECK(prebuild(config, options, report, failure) != CUBINET_OK);
  CHECK(report == nullptr);
  options.cancelled = nullptr;
  options.matrix = cubinet_str("{");
  CHECK(prebuild(config, options, report, failure) == CUBINET_INVALID_ARGUMENT);
  options.matrix = cubinet_str("");
  CHECK(prebuild(config, options, report, failure) == CUBINET_INVALID_ARGUMENT);
  options.profile = cubinet_str("tar");
  CHECK(prebuild(config, options, report, failure) == CUBINET_INVALID_ARGUMENT);
}

TEST_CASE("the kernels of problems are built for a named device") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const std::string output = (folder / "x.bundle").string();
  cubinet_attention_problem problem = CUBINET_ATTENTION_PROBLEM_INIT;
  problem.kv_len = 64;
  const cubinet_attention_problem* const problems[] = {&problem};
  cubinet_prebuild_options options = CUBINET_PREBUILD_OPTIONS_INIT;
  options.output = c_string(output);
  options.problems = problems;
  options.problem_count = 1;
  options.device = cubinet_str("9.0");
  CText report;
  Failure failure;
  REQUIRE_MESSAGE(prebuild(config, options, report, failure) == CUBINET_OK, failure.message());
  CHECK(text(cubinet_text_get(report.get())).find("attention_decode") != std::string::npos);
  options.device = cubinet_str("99");
  CHECK(prebuild(config, options, report, failure) == CUBINET_INVALID_ARGUMENT);
}
