// SPDX-License-Identifier: Apache-2.0
#include "small_image.hpp"

#include "compile_flags.hpp"
#include "jit/many_constants.hpp"
#include "nvrtc_program.hpp"
#include "support/compiler_search.hpp"
#include "support/skip.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/kernel_templates/source_program.hpp>
#include <cubinet/spec/code_equality.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

// Returns nullptr and skips the test if there is no linker of the compiler's release.
std::shared_ptr<Compiler> shrinking_compiler() {
  const auto opened = Compiler::open(test::compiler_search());
  REQUIRE(opened);
  const auto linker = find_linker((*opened)->location(), test::compiler_search());
  const std::string& compiler = (*opened)->identity();  // "NVRTC 13.0, build ..."
  const std::string release = compiler.substr(6, compiler.find(',') - 6);
  if (linker && linker->identity.starts_with("nvJitLink " + release + ",")) return *opened;
  test::skip("there is no nvJitLink " + release);
  return nullptr;
}

SourceProgram a_program(const std::string& text) {
  SourceProgram program;
  program.name = "small";
  program.text = test::many_constants() + text;
  return program;
}

CompileRequest request_for(const SourceProgram& program, const char* target = "sm_90a") {
  CompileRequest request;
  const auto made = program.as_template();
  REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error().to_line()));
  request.kernel_template = *made;
  request.target = *SmTarget::parse(target);
  return request;
}

CompileOutput compiled(Compiler& compiler, const CompileRequest& request) {
  auto output = compiler.compile(request);
  REQUIRE_MESSAGE(output.has_value(), (output ? "" : output.error().to_line() + output.error().detail));
  const auto fingerprint = compiler.fingerprint(request);
  REQUIRE(fingerprint);
  CHECK(*fingerprint == output->record.fingerprint);
  return *std::move(output);
}

// Returns what NVRTC alone makes of a program.
Bytes with_all_variables(Compiler& compiler, const SourceProgram& program, const char* target = "sm_90a") {
  const auto api = NvrtcApi::open(compiler.location().library, compiler.location().builtins);
  REQUIRE(api);
  auto made = NvrtcProgram::create(**api, program.text, "small.cu", {});
  REQUIRE(made);
  for (const std::string& kernel : program.kernels)
    REQUIRE(made->add_name_expression(kernel));
  for (const std::string& global : program.globals)
    REQUIRE(made->add_name_expression("&" + global));
  std::vector<std::string> flags = {std::string("-arch=") + target, "--std=c++17"};
  flags.insert(flags.end(), program.flags.begin(), program.flags.end());
  REQUIRE_MESSAGE(made->compile(flags) == NVRTC_SUCCESS, made->log());
  return *made->cubin();
}

// Returns the size of each variable of an image, by its symbol.
std::map<std::string, std::uint64_t> variables_of(ByteView image) {
  const auto elf = ElfImage::parse(image);
  REQUIRE(elf);
  const auto symbols = elf->symbols();
  REQUIRE(symbols);
  std::map<std::string, std::uint64_t> variables;
  for (const ElfSymbol& symbol : *symbols) {
    const bool is_defined = symbol.type == 1 && symbol.section != 0;
    if (is_defined) variables.emplace(symbol.name, symbol.size);
  }
  return variables;
}

// Checks that the image has the code of NVRTC's and less than half of its size.
void check_small(Compiler& compiler, const SourceProgram& program, const char* target = "sm_90a") {
  CAPTURE(program.text.substr(test::many_constants().size()));
  CAPTURE(std::string(target));
  const CompileOutput output = compiled(compiler, request_for(program, target));
  CHECK(output.variables_kept == "");
  const Bytes whole = with_all_variables(compiler, program, target);
  CHECK(output.image->size() < whole.size() / 2);
  const auto equal = have_equal_code(whole, *output.image);
  REQUIRE(equal);
  CHECK(*equal);
  CHECK(output.record.compiler.find("; nvJitLink ") != std::string::npos);
}

std::string reason_for(Compiler& compiler, const SourceProgram& program, ImageKind kind = ImageKind::cubin) {
  CompileRequest request = request_for(program);
  request.kind = kind;
  const auto inputs = compiler.inputs(request);
  REQUIRE_MESSAGE(inputs.has_value(), (inputs ? "" : inputs.error().to_line()));
  CHECK(compiled(compiler, request).variables_kept == inputs->front().variables_kept);
  return inputs->front().variables_kept;
}

constexpr const char* kPlain = "extern \"C\" __global__ void k(int* x) { x[threadIdx.x] *= 3; }\n";

}  // namespace

TEST_CASE("an image has none of the constants that no kernel uses, and the same code") {
  const auto compiler = shrinking_compiler();
  if (!compiler) return;
  for (const char* text :
       {kPlain,
        // strings, addresses of functions, tables that are indexed at run time
        "__device__ const float weights[4] = {1, 2, 3, 4};\n"
        "extern \"C\" __global__ void k(float* x, int i) { *x = weights[i]; printf(\"%d\\n\", i); }\n",
        "static __device__ int calls;\n"
        "extern \"C\" __global__ void k(int* x) { *x = atomicAdd(&calls, 1); if (*x > 9) __trap(); }\n",
        "extern \"C\" __global__ void a(cudaTextureObject_t t, float* x) { *x = tex2D<float>(t, x[0], x[1]); "
        "}\n"
        "extern \"C\" __global__ void b(cudaSurfaceObject_t s) { surf2Dwrite(1.0F, s, 4, 0); }\n",
        "extern \"C\" __global__ void __launch_bounds__(256, 2) k(float* x) {\n"
        "  __shared__ float tile[512]; tile[threadIdx.x] = x[threadIdx.x]; __syncthreads();\n"
        "  x[threadIdx.x] = tile[511 - threadIdx.x]; }\n"
        "__global__ void second(double* x) { *x = sqrt(*x); }\n"})
    check_small(*compiler, a_program(text));
  for (const char* target : {"sm_80", "sm_90", "sm_100f", "sm_120"})
    check_small(*compiler, a_program(kPlain), target);
}

TEST_CASE("names, flags of the code generator and fast math have their effect on small images") {
  const auto compiler = shrinking_compiler();
  if (!compiler) return;
  SourceProgram program = a_program(
      "template <class T, int N> __global__ void scaled(T* x, T a) {\n"
      "  for (int i = 0; i < N; ++i) x[i] = a / x[i] + sqrtf(x[i]); }\n");
  program.kernels = {"scaled<float, 4>", "scaled<double, 2>"};
  const CompileOutput output = compiled(*compiler, request_for(program));
  CHECK(output.record.entry_points[0].symbol == "_Z6scaledIfLi4EEvPT_S0_");
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{},
                                             {"--use_fast_math"},
                                             {"--ftz=true", "--fmad=false"},
                                             {"--maxrregcount=32"},
                                             {"--ptxas-options=--allow-expensive-optimizations=false"}}) {
    program.flags = flags;
    check_small(*compiler, program);
  }
}

TEST_CASE("a variable that only the host writes stays in the image, and kernels read it") {
  const auto compiler = shrinking_compiler();
  if (!compiler) return;
  // The linker would fold each of these if it were free to.
  for (const char* declaration :
       {"__constant__ int v = 3;", "static __constant__ int v = 3;", "__device__ int v = 3;",
        "static __device__ int v = 3;", "__managed__ int v = 3;", "inline __constant__ int v = 3;",
        "extern \"C\" { __constant__ int v; }", "extern \"C\" __constant__ int v;",
        "__constant__ int other; __constant__ int v = 3;"}) {
    CAPTURE(declaration);
    const SourceProgram program =
        a_program(std::string(declaration) + "\nextern \"C\" __global__ void k(int* x) { *x = v; }\n");
    check_small(*compiler, program);
    const auto kept = variables_of(*compiled(*compiler, request_for(program)).image);
    REQUIRE(kept.contains("v"));
    CHECK(kept.at("v") == 4);
    CHECK(kept.size() == (std::string(declaration).find("other") == std::string::npos ? 1 : 2));
  }
}

TEST_CASE("code of targets before Hopper is compared by the variables that it reads, too") {
  const auto compiler = shrinking_compiler();
  if (!compiler) return;
  const SourceProgram program = a_program(
      "static __device__ int hidden = 7;\n__device__ int table[4];\n"
      "extern \"C\" __global__ void k(int* x) { *x = hidden + table[x[1]]; }\n");
  for (const char* target : {"sm_75", "sm_80", "sm_89"}) {
    CAPTURE(target);
    const CompileOutput output = compiled(*compiler, request_for(program, target));
    CHECK(output.variables_kept == "");
    CHECK(output.image->size() < 8000);
    CHECK(variables_of(*output.image) == std::map<std::string, std::uint64_t>{{"hidden", 4}, {"table", 16}});
  }
}

TEST_CASE("a source that differs in relocatable code has the variables of NVRTC alone") {
  const auto compiler = shrinking_compiler();
  if (!compiler) return;
  const SourceProgram program = a_program(R"cu(#ifdef __CUDACC_RDC__
__device__ int mode = 1;
#else
__device__ int mode = 2;
__constant__ int unread = 3;
#endif
extern "C" __global__ void k(int* x) { *x = mode; }
)cu");
  const CompileOutput output = compiled(*compiler, request_for(program));
  CHECK(output.variables_kept == "");
  CHECK(variables_of(*output.image) == std::map<std::string, std::uint64_t>{{"mode", 4}, {"unread", 4}});
  const auto elf = ElfImage::parse(*output.image);
  REQUIRE(elf);
  const ElfSection* const values = elf->find_section(".nv.global.init");
  REQUIRE(values != nullptr);
  CHECK(values->content.front() == std::byte{2});
  // The program's own definition counts in both compilations.
  SourceProgram relocatable = program;
  relocatable.flags = {"-D__CUDACC_RDC__"};
  CHECK(variables_of(*compiled(*compiler, request_for(relocatable)).image) ==
        std::map<std::string, std::uint64_t>{{"mode", 4}});
}

TEST_CASE("variables that no kernel reads stay if the host can look them up") {
  const auto compiler = shrinking_compiler();
  if (!compiler) return;
  SourceProgram program = a_program(R"cu(__constant__ int unread = 10;
static __constant__ int hidden = 11;
__device__ int unread_counter;
template <class T> __device__ T of_type = T(12);
inline __device__ int of_no_use = 13;
__global__ void k(float* x) { *x = 1; }
)cu");
  program.globals = {"of_type<int>"};
  program.kernels = {"k"};
  const CompileOutput output = compiled(*compiler, request_for(program));
  CHECK(output.variables_kept == "");
  CHECK(variables_of(*output.image) ==
        std::map<std::string, std::uint64_t>{
            {"unread", 4}, {"hidden", 4}, {"unread_counter", 4}, {"_Z7of_typeIiE", 4}});
  CHECK(output.record.globals.at("of_type<int>") == "_Z7of_typeIiE");
}

TEST_CASE("constants of several linkages stay in every image, which has the code of NVRTC") {
  const auto compiler = shrinking_compiler();
  if (!compiler) return;
  // The linker may order them in another way, and then the code may differ.
  const SourceProgram program = a_program(R"cu(__constant__ int shown = 3;
static __constant__ int hidden = 4;
namespace { __constant__ int unnamed = 5; }
__constant__ float coefficients[4];
extern "C" __global__ void k(int* x, int i) { *x = shown + hidden + unnamed + int(coefficients[i]); }
)cu");
  const CompileOutput output = compiled(*compiler, request_for(program));
  const auto equal = have_equal_code(with_all_variables(*compiler, program), *output.image);
  REQUIRE(equal);
  CHECK(*equal);
  const auto kept = variables_of(*output.image);
  for (const char* name : {"shown", "hidden", "coefficients"})
    CHECK(kept.contains(name));
}

TEST_CASE("an image whose code would change stays as NVRTC made it, with the reason") {
  const auto compiler = shrinking_compiler();
  if (!compiler) return;
  // nvJitLink's optimiser treats some loops in another way than NVRTC's.
  SourceProgram program = a_program(R"cu(extern "C" __global__ void k(const double* t, const double* x,
    long long* out, int n, int k, bool extrapolate, int total) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= total) return;
  const double value = x[i];
  if (isnan(value)) { out[i] = -1; return; }
  if ((value < t[k] || value > t[n]) && !extrapolate) { out[i] = -1; return; }
  int left = k; int right = n; int middle; bool found = false;
  while (right - left > 1 && !found) {
    middle = (left + right) / 2;
    if (value >= t[middle] && value < t[middle + 1]) { left = middle; found = true; }
    else if (value < t[middle]) right = middle; else left = middle;
  }
  while (left != n - 1 && value >= t[left + 1]) ++left;
  out[i] = left;
}
)cu");
  const CompileOutput output = compiled(*compiler, request_for(program));
  const Bytes whole = with_all_variables(*compiler, program);
  const auto equal = have_equal_code(whole, *output.image);
  REQUIRE(equal);
  CHECK(*equal);
  if (output.variables_kept.empty()) {
    CHECK(output.image->size() < whole.size() / 2);
  } else {
    CHECK(output.variables_kept == "the linker makes other machine code of it");
    CHECK(output.record.compiler == compiler->identity());
  }
}

TEST_CASE("the reason is told where variables stay for every linker") {
  const auto compiler = shrinking_compiler();
  if (!compiler) return;
  CHECK(reason_for(*compiler, a_program(kPlain)).empty());
  CHECK(reason_for(*compiler, a_program(kPlain), ImageKind::ptx) == "the image is PTX");
  SourceProgram few;
  few.text = "constexpr int one = 1;\n" + std::string(kPlain);
  CHECK(reason_for(*compiler, few) == "its texts and headers have 1 times constexpr, fewer than 1000");
  for (const auto& [flag, reason] :
       {std::pair{"-lineinfo", "it has line information"}, std::pair{"-G", "it has debug information"},
        std::pair{"-rdc=true", "machine code is linked (no -dlto)"}}) {
    SourceProgram program = a_program(kPlain);
    program.flags = {flag};
    CHECK(reason_for(*compiler, program) == reason);
  }
}

TEST_CASE("a program of few variables is compiled once") {
  const auto compiler = shrinking_compiler();
  if (!compiler) return;
  SourceProgram program;
  // The word constexpr alone makes no variable.
  program.text = std::string(kPlain) + "/* " + test::many_constants() + " */\n";
  const CompileOutput output = compiled(*compiler, request_for(program));
  CHECK(output.variables_kept == "variables are less than a quarter of it");
  CHECK(output.record.compiler == compiler->identity());
}

TEST_CASE("sources that are optimised when they are linked give a small image, too") {
  const auto compiler = shrinking_compiler();
  if (!compiler) return;
  SourceProgram program = a_program(
      "extern __device__ int twice(int);\n__constant__ int scale = 2;\n"
      "extern \"C\" __global__ void k(int* x) { *x = twice(*x) * scale; }\n");
  program.sources.emplace_back();
  program.sources[0].name = "callee";
  program.sources[0].text = "__device__ int twice(int x) { return 2 * x; }\n";
  program.flags = {"-dlto"};
  const CompileOutput output = compiled(*compiler, request_for(program));
  CHECK(output.variables_kept == "");
  CHECK(output.image->size() < 8000);
  CHECK(variables_of(*output.image) == std::map<std::string, std::uint64_t>{{"scale", 4}});
}

TEST_CASE("whether variables are removed depends on the texts and the kind of image") {
  const auto kernel_template = request_for(a_program(kPlain)).kernel_template;
  const auto reason = [&](std::size_t constants, ImageKind kind) {
    const auto closure = std::make_shared<IncludeClosure>();
    closure->constants = constants;
    return reason_to_keep_variables(*kernel_template, {}, kind, {closure});
  };
  CHECK(reason(999, ImageKind::cubin));
  CHECK_FALSE(reason(1000, ImageKind::cubin));
  CHECK(reason(1000, ImageKind::ptx));
}

TEST_CASE("the build of the linker is a part of the fingerprint of those builds alone") {
  const auto compiler = shrinking_compiler();
  if (!compiler) return;
  // The same NVRTC beside a linker of another release.
  const test::TempDir folder;
  fs::create_directories(folder / "lib64");
  const fs::path builtins = compiler->location().builtins;
  fs::copy_file(compiler->location().library, folder / "lib64/libnvrtc.so.13");
  fs::copy_file(builtins, folder.path() / "lib64" / builtins.filename());
  fs::copy_file(CUBINET_TEST_BROKEN_NVJITLINK, folder / "lib64/libnvJitLink.so.13");
  CompilerSearch search;
  search.toolkit_roots = {folder.path()};
  search.usual_toolkits.clear();
  const auto alone = Compiler::open(search);
  REQUIRE_MESSAGE(alone.has_value(), (alone ? "" : alone.error().to_line()));
  SourceProgram few;
  few.text = kPlain;
  for (const auto& [program, differs] : {std::pair{few, false}, std::pair{a_program(kPlain), true}}) {
    CompileRequest request = request_for(program);
    CHECK((*compiler->fingerprint(request) != *(*alone)->fingerprint(request)) == differs);
    request.kind = ImageKind::ptx;
    CHECK(*compiler->fingerprint(request) == *(*alone)->fingerprint(request));
  }
}
