// SPDX-License-Identifier: Apache-2.0
#include "preamble.hpp"

#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/jit/compiler.hpp>
#include <cubinet/kernel_templates/source_program.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace cubinet::nvcc {
namespace {

using test::ok;

// Compiles a source with the preamble, and returns the compiler's warnings.
Result<std::string> compile(const std::string& text, const std::vector<std::string>& flags = {}) {
  SourceProgram program;
  program.name = "caller";
  program.text = text;
  program.flags = flags;
  program.flags.emplace_back("--device-as-default-execution-space");
  program.preludes.push_back({kPreambleName, preamble(flags), {}});
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

TEST_CASE("Macros of the numerics that NVRTC alone defines are undefined, with and without the flag") {
  std::string source = "__global__ void k(float* out) { *out = expf(*out) / 3; }\n";
  for (const char* name : {"__USE_FAST_MATH__", "__CUDA_FTZ", "__CUDA_PREC_DIV", "__CUDA_PREC_SQRT"})
    source += "#ifdef " + std::string(name) + "\n#error\n#endif\n";
  CHECK(ok(compile(source)).empty());
  CHECK(ok(compile(source, {"--use_fast_math"})).empty());
  const auto defined = compile(source, {"-D__CUDA_FTZ=1"});
  REQUIRE_FALSE(defined.has_value());
  CHECK(defined.error().detail.find("#error") != std::string::npos);
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
  program.preludes.push_back({kPreambleName, preamble({}), {}});
  CompileRequest request;
  request.kernel_template = ok(program.as_template());
  request.target = ok(SmTarget::parse("sm_80"));
  ok(ok(Compiler::open(test::compiler_search()))->compile(request));
}

TEST_CASE("A descriptor of CuTe is a parameter as under nvcc") {
  const test::TempDir folder;
  const auto write = [&](const char* name, const char* text) { test::write_file(folder / name, text); };
  for (const char* name : {"cutlass/numeric_types.h", "cute/config.hpp", "cute/arch/util.hpp",
                           "cute/arch/copy.hpp", "cute/arch/copy_sm90.hpp", "cute/container/alignment.hpp",
                           "cute/container/bit_field.hpp", "cute/numeric/numeric_types.hpp"})
    write(name, "#pragma once\n");
  write("cute/container/array.hpp", "#pragma once\nstruct alignas(16) Sixteen { int i; };\n");
  CHECK(adapted_headers({folder.path().string()}).empty());
  write("cute/arch/copy_sm90_desc.hpp",
        "#pragma once\n#include <cute/container/array.hpp>\nnamespace cute {\n"
        "#ifdef __CUDACC_RTC__\nusing TmaDescriptor = struct alignas(64) { char bytes[128]; };\n"
        "using Im2ColTmaDescriptor = struct alignas(64) { char bytes[128]; };\n#endif\n}\n");
  SourceProgram program;
  program.text =
      "#include <cute/arch/copy_sm90_desc.hpp>\nstatic_assert(alignof(Sixteen) == 16, \"\");\n"
      "struct alignas(32) Own { int i; };\nstatic_assert(alignof(Own) == 32, \"\");\n"
      "__global__ void k(int* out, const __grid_constant__ cute::TmaDescriptor map) { *out = sizeof(map); "
      "}\n";
  program.flags = {"--device-as-default-execution-space"};
  program.headers = adapted_headers({"/nowhere", folder.path().string()});
  REQUIRE(program.headers.size() == 1);
  CompileRequest request;
  request.kernel_template = ok(program.as_template());
  request.target = ok(SmTarget::parse("sm_90a"));
  request.options.include_directories = {folder.path().string()};
  const CompileOutput output = ok(ok(Compiler::open(test::compiler_search()))->compile(request));
  REQUIRE(output.record.entry_points.size() == 1);
  CHECK(output.record.entry_points[0].symbol == "_Z1kPi14CUtensorMap_st");
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
