// SPDX-License-Identifier: Apache-2.0
#include "preamble.hpp"

#include "support/compiler_search.hpp"
#include "support/ok.hpp"

#include <cubinet/jit/compiler.hpp>
#include <cubinet/kernel_templates/source_program.hpp>

#include <doctest/doctest.h>

namespace cubinet::nvcc {
namespace {

using test::ok;

// Compiles a source with the preamble, and returns the compiler's warnings.
Result<std::string> compile(const std::string& text) {
  SourceProgram program;
  program.name = "caller";
  program.text = text;
  program.flags = {"--device-as-default-execution-space"};
  program.preludes.push_back({kPreambleName, std::string(preamble()), {}});
  CompileRequest request;
  CUBINET_TRY_ASSIGN(request.kernel_template, program.as_template());
  CUBINET_TRY_ASSIGN(request.target, SmTarget::parse("sm_90a"));
  CUBINET_TRY_ASSIGN(const auto compiler, Compiler::open(test::compiler_search()));
  CUBINET_TRY_ASSIGN(const CompileOutput output, compiler->compile(request));
  return output.record.warnings;
}

constexpr const char* kCaller = R"(
struct Pair { int a; int b; };
constexpr float far = INFINITY;
int twice(int x) { return 2 * x; }
__global__ void k(float* out, uint n, ushort m) {
  static_assert(offsetof(Pair, b) == 4, "a constant");
  cudaGridDependencySynchronize();
  out[0] = far + NAN + twice(n + m);
  cudaTriggerProgrammaticLaunchCompletion();
}
)";

TEST_CASE("A source uses what nvcc declares by itself") {
  CHECK(ok(compile(kCaller)).empty());
}

TEST_CASE("Headers of the toolkit that declare the same go with the preamble") {
  CHECK(
      ok(compile("#include <cmath>\n#include <cstddef>\n#include <cuda_runtime.h>\n" + std::string(kCaller)))
          .find("INFINITY") == std::string::npos);
  ok(compile("#include <cuda_device_runtime_api.h>\n" + std::string(kCaller)));
}

TEST_CASE("The preamble goes with targets that have no programmatic launch") {
  SourceProgram program;
  program.text = "__global__ void k(int* out) { *out = 1; }";
  program.preludes.push_back({kPreambleName, std::string(preamble()), {}});
  CompileRequest request;
  request.kernel_template = ok(program.as_template());
  request.target = ok(SmTarget::parse("sm_80"));
  ok(ok(Compiler::open(test::compiler_search()))->compile(request));
}

TEST_CASE("Lines and file names stay those of the source") {
  ok(
      compile("static_assert(__LINE__ == 1, \"\");\n"
              "constexpr char name[] = __FILE__;\nstatic_assert(sizeof(name) == sizeof(\"caller.cu\") && "
              "name[0] == 'c', \"\");\n"
              "__global__ void k(int* out) { *out = name[1]; }"));
  const auto failed = compile("\nint wrong = nothing;");
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().detail.find("caller.cu(2): error") != std::string::npos);
}

}  // namespace
}  // namespace cubinet::nvcc
