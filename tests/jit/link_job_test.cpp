// SPDX-License-Identifier: Apache-2.0
#include "link_job.hpp"

#include "nvrtc_program.hpp"
#include "support/compiler_search.hpp"
#include "support/fake_fatbin.hpp"
#include "support/skip.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/kernel_templates/source_program.hpp>
#include <cubinet/spec/cubin_elf.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

constexpr const char* kCaller = R"cu(extern __device__ float twice(float);
static __device__ float helper(float x) { return x + 1; }
template <class T> __global__ void scaled(T* data) { data[threadIdx.x] = twice(helper(data[threadIdx.x])); }
extern "C" __global__ void plain(float* data) { *data = twice(*data); }
)cu";
constexpr const char* kCallee = R"cu(static __device__ float helper(float x) { return x * 2; }
__device__ float twice(float x) { return helper(x); }
)cu";
constexpr const char* kLauncher = R"cu(__global__ void child(int* out) { out[threadIdx.x] = threadIdx.x; }
extern "C" __global__ void parent(int* out) { child<<<1, 32>>>(out); }
)cu";

// Returns nullptr and skips the test if no linker is available.
std::shared_ptr<Compiler> linking_compiler() {
  const auto opened = Compiler::open(test::compiler_search());
  REQUIRE(opened);
  const auto linker = find_linker((*opened)->location(), test::compiler_search());
  if (linker) return *opened;
  test::skip(linker.error().message);
  return nullptr;
}

SourceProgram a_source(std::string name, std::string text) {
  SourceProgram source;
  source.name = std::move(name);
  source.text = std::move(text);
  return source;
}

SourceProgram caller_and_callee() {
  SourceProgram program = a_source("caller", kCaller);
  program.kernels = {"scaled<float>"};
  program.sources = {a_source("callee", kCallee)};
  return program;
}

CompileRequest request_of(const SourceProgram& program) {
  CompileRequest request;
  const auto made = program.as_template();
  REQUIRE_MESSAGE(made.has_value(), made.error().to_line());
  request.kernel_template = *made;
  request.target = *SmTarget::parse("sm_90a");
  return request;
}

CompileOutput linked(Compiler& compiler, const CompileRequest& request) {
  auto output = compiler.compile(request);
  REQUIRE_MESSAGE(output.has_value(), (output ? "" : output.error().to_line() + output.error().detail));
  const auto fingerprint = compiler.fingerprint(request);
  REQUIRE_MESSAGE(fingerprint.has_value(), fingerprint.error().to_line());
  CHECK(*fingerprint == output->record.fingerprint);
  return *std::move(output);
}

Error refused_link(Compiler& compiler, const CompileRequest& request) {
  auto output = compiler.compile(request);
  REQUIRE_FALSE(output);
  return output.error();
}

bool mentions(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

std::vector<std::string> symbols_of(const CompileOutput& output) {
  std::vector<std::string> symbols;
  for (const EntryPoint& entry : output.record.entry_points)
    symbols.push_back(entry.symbol);
  return symbols;
}

void write_bytes(const fs::path& path, ByteView bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << as_text(bytes);
}

// Returns NVRTC's output for a source alone: machine code, or LTO-IR if `at_link`.
Bytes library_of(Compiler& compiler, const char* text, bool at_link, const char* target = "sm_90a") {
  const auto api = NvrtcApi::open(compiler.location().library, compiler.location().builtins);
  REQUIRE(api);
  auto program = NvrtcProgram::create(**api, text, "library.cu", {});
  REQUIRE(program);
  REQUIRE(program->compile({std::string("-arch=") + target, at_link ? "-dlto" : "-rdc=true"}) ==
          NVRTC_SUCCESS);
  return at_link ? *program->lto_ir() : *program->cubin();
}

}  // namespace

TEST_CASE("sources that call each other are one cubin, as machine code and optimised when they are linked") {
  const auto compiler = linking_compiler();
  if (!compiler) return;
  std::vector<Sha256Digest> digests;
  for (const char* flag : {"-rdc=true", "-dlto"}) {
    CAPTURE(flag);
    SourceProgram program = caller_and_callee();
    program.flags = {flag};
    program.sources[0].text += "extern \"C\" __global__ void other(double* x, int n) { *x = n; }\n";
    program.sources[0].kernels = {"other"};
    const CompileOutput output = linked(*compiler, request_of(program));
    CHECK(symbols_of(output) == std::vector<std::string>{"_Z6scaledIfEvPT_", "other"});
    CHECK(output.record.entry_points[0].name == "scaled<float>");
    CHECK(output.record.compiler.find("; nvJitLink ") != std::string::npos);
    CHECK(output.record.options.find(flag[1] == 'r' ? "relocatable" : "dlink-time-opt") != std::string::npos);
    CHECK(linked(*compiler, request_of(program)).record.digest == output.record.digest);
    digests.push_back(output.record.digest);
    // The program has all kernels of both sources if no names are given.
    program.kernels.clear();
    program.sources[0].kernels.clear();
    CHECK(symbols_of(linked(*compiler, request_of(program))) == std::vector<std::string>{"other", "plain"});
  }
  CHECK(digests[0] != digests[1]);
}

TEST_CASE("shared memory and variables of what is linked may be larger than its code") {
  const auto compiler = linking_compiler();
  if (!compiler) return;
  SourceProgram program = a_source("tile", R"cu(__device__ int table[50000];
extern "C" __global__ void tile(int* data) {
  __shared__ int staged[9000];
  staged[threadIdx.x] = table[data[0]];
  data[0] = staged[data[1]];
}
)cu");
  program.flags = {"-rdc=true"};
  for (const char* target : {"sm_80", "sm_90a", "sm_100f"}) {
    CompileRequest request = request_of(program);
    request.target = *SmTarget::parse(target);
    CHECK(symbols_of(linked(*compiler, request)) == std::vector<std::string>{"tile"});
  }
}

TEST_CASE("several sources are linked without a word of relocatable code") {
  const auto compiler = linking_compiler();
  if (!compiler) return;
  const CompileRequest unsaid = request_of(caller_and_callee());
  SourceProgram said = caller_and_callee();
  said.flags = {"-rdc=true"};
  CHECK(linked(*compiler, unsaid).record.identity == linked(*compiler, request_of(said)).record.identity);
}

TEST_CASE("a program that needs no linker does without, with the fingerprint of itself alone") {
  const auto compiler = Compiler::open(test::compiler_search());
  REQUIRE(compiler);
  // Kernels that launch others, and calls into another source, have to be linked.
  for (const auto& [text, words] : {std::pair{kLauncher, "cudadevrt"}, std::pair{kCaller, "defines it"}}) {
    const Error error = refused_link(**compiler, request_of(a_source("unlinked", text)));
    CHECK(error.code == ErrorCode::compile_failed);
    CHECK_MESSAGE(mentions(error.remedy, words), error.to_line());
  }
  SourceProgram alone = a_source("alone", "extern \"C\" __global__ void k(float* x) { *x = 1; }");
  const auto built = (*compiler)->compile(request_of(alone));
  REQUIRE(built);
  CHECK(built->record.compiler == (*compiler)->identity());
  CHECK_FALSE(mentions(built->record.options, "relocatable"));
}

TEST_CASE("a kernel that launches a kernel is linked with the device runtime") {
  const auto compiler = linking_compiler();
  if (!compiler) return;
  SourceProgram program = a_source("launcher", kLauncher);
  program.flags = {"-rdc=true"};
  const Error alone = refused_link(*compiler, request_of(program));
  CHECK(alone.code == ErrorCode::compile_failed);
  CHECK_MESSAGE(mentions(alone.message, "launcher.cu"), alone.message);
  CHECK_MESSAGE(mentions(alone.remedy, "cudadevrt"), alone.remedy);
  program.libraries = {"cudadevrt"};
  for (const char* flag : {"-rdc=true", "-dlto"}) {
    CAPTURE(flag);
    program.flags = {flag};
    const auto output = compiler->compile(request_of(program));
    if (!output && output.error().code == ErrorCode::unavailable) return test::skip(output.error().message);
    REQUIRE_MESSAGE(output.has_value(), (output ? "" : output.error().to_line() + output.error().detail));
    // The runtime's own kernels are not listed.
    CHECK(symbols_of(*output) == std::vector<std::string>{"_Z5childPi", "parent"});
  }
}

TEST_CASE("libraries of every kind are linked with, and are a part of the fingerprint by their contents") {
  const auto compiler = linking_compiler();
  if (!compiler) return;
  const test::TempDir folder;
  const test::TempDir elsewhere;
  write_bytes(folder / "callee.cubin", library_of(*compiler, kCallee, false));
  write_bytes(folder / "callee.ltoir", library_of(*compiler, kCallee, true));
  SourceProgram program = a_source("caller", kCaller);
  const auto request = [&](const char* library, const char* flag, const test::TempDir& place) {
    program.libraries = {library};
    program.flags = {flag};
    CompileRequest made = request_of(program);
    made.options.library_directories = {place.path()};
    return made;
  };
  const CompileOutput machine = linked(*compiler, request("callee.cubin", "-rdc=true", folder));
  CHECK(symbols_of(machine) == std::vector<std::string>{"plain"});
  linked(*compiler, request("callee.ltoir", "-dlto", folder));
  const Error unoptimised = refused_link(*compiler, request("callee.ltoir", "-rdc=true", folder));
  CHECK_MESSAGE(mentions(unoptimised.message, "callee.ltoir"), unoptimised.message);
  CHECK_MESSAGE(mentions(unoptimised.remedy, "-dlto"), unoptimised.remedy);

  const Error missing = refused_link(*compiler, request("callee.cubin", "-rdc=true", elsewhere));
  CHECK(missing.code == ErrorCode::unavailable);
  CHECK(mentions(missing.message, elsewhere.path().c_str()));
  fs::copy_file(folder / "callee.cubin", elsewhere / "callee.cubin");
  CHECK(linked(*compiler, request("callee.cubin", "-rdc=true", elsewhere)).record.fingerprint ==
        machine.record.fingerprint);
  const std::string changed = std::string(kCallee) + "__device__ int more;\n";
  write_bytes(elsewhere / "callee.cubin", library_of(*compiler, changed.c_str(), false));
  CHECK(linked(*compiler, request("callee.cubin", "-rdc=true", elsewhere)).record.fingerprint !=
        machine.record.fingerprint);

  write_bytes(elsewhere / "callee.cubin", library_of(*compiler, kCallee, false, "sm_80"));
  const Error foreign = refused_link(*compiler, request("callee.cubin", "-rdc=true", elsewhere));
  CHECK(foreign.code == ErrorCode::compile_failed);
  CHECK_MESSAGE(mentions(foreign.message, "callee.cubin"), foreign.message);
  CHECK_MESSAGE(mentions(foreign.remedy, "sm_90a"), foreign.remedy);
}

TEST_CASE("device libraries that nvcc has made are linked with") {
  const auto compiler = linking_compiler();
  if (!compiler) return;
  const fs::path nvcc = fs::path(test::cuda_root()) / "bin/nvcc";
  if (!fs::exists(nvcc)) return test::skip("there is no nvcc");
  const test::TempDir folder;
  std::ofstream(folder / "callee.cu") << kCallee;
  const auto run = [&](const std::string& arguments) {
    return std::system(
        ("cd '" + folder.path().string() + "' && '" + nvcc.string() + "' " + arguments).c_str());
  };
  if (run("-arch=sm_90a -dc callee.cu -o callee.o") != 0)
    return test::skip("nvcc has no compiler for the host");
  REQUIRE(run("-lib callee.o -o libcallee.a") == 0);
  REQUIRE(run("-arch=sm_90a -rdc=true -fatbin callee.cu -o callee.fatbin") == 0);
  REQUIRE(run("-gencode arch=compute_90a,code=lto_90a -dc callee.cu -o lto.o && '" + nvcc.string() +
              "' -lib lto.o -o liblto.a") == 0);
  for (const auto& each : std::vector<std::pair<std::string, std::string>>{{"callee", "-rdc=true"},
                                                                           {"callee.fatbin", "-rdc=true"},
                                                                           {"callee.o", "-dlto"},
                                                                           {"lto", "-dlto"}}) {
    const std::string& library = each.first;  // Clang 14 cannot capture a structured binding in a lambda
    CAPTURE(library);
    SourceProgram program = a_source("caller", kCaller);
    program.libraries = {library};
    program.flags = {each.second};
    CompileRequest request = request_of(program);
    request.options.library_directories = {folder.path()};
    CHECK(symbols_of(linked(*compiler, request)) == std::vector<std::string>{"plain"});
  }
}

TEST_CASE("a library of another architecture is refused, and keeps nobody else from linking") {
  const auto compiler = linking_compiler();
  if (!compiler) return;
  const fs::path nvcc = fs::path(test::cuda_root()) / "bin/nvcc";
  if (!fs::exists(nvcc)) return test::skip("there is no nvcc");
  const test::TempDir folder;
  std::ofstream(folder / "callee.cu") << kCallee;
  const std::string line = "cd '" + folder.path().string() + "' && '" + nvcc.string() +
                           "' -gencode arch=compute_80,code=sm_80 -dc callee.cu -o old.o";
  if (std::system(line.c_str()) != 0) return test::skip("nvcc has no compiler for the host");
  SourceProgram program = a_source("caller", kCaller);
  program.libraries = {"old.o"};
  CompileRequest request = request_of(program);
  request.options.library_directories = {folder.path()};
  for (int time = 0; time < 2; ++time) {
    std::thread([&] {
      const Error error = refused_link(*compiler, request);
      CHECK(error.code == ErrorCode::compile_failed);
      CHECK_MESSAGE(mentions(error.message, "does not take 'old.o'"), error.message);
      CHECK_MESSAGE(mentions(error.remedy, "sm_90a"), error.remedy);
    }).join();
    linked(*compiler, request_of(caller_and_callee()));
  }
}

TEST_CASE("what is defined nowhere, or twice, is told with the names of the sources") {
  const auto compiler = linking_compiler();
  if (!compiler) return;
  for (const char* flag : {"-rdc=true", "-dlto"}) {
    CAPTURE(flag);
    SourceProgram program = a_source("caller", kCaller);
    program.flags = {flag};
    const Error undefined = refused_link(*compiler, request_of(program));
    CHECK(undefined.code == ErrorCode::compile_failed);
    CHECK_MESSAGE(mentions(undefined.message, "_Z5twicef"), undefined.message);
    CHECK_MESSAGE(mentions(undefined.remedy, "defines it"), undefined.remedy);
    program.sources = {a_source("callee", kCallee), a_source("again", kCallee)};
    const Error twice = refused_link(*compiler, request_of(program));
    CHECK(twice.code == ErrorCode::compile_failed);
    CHECK_MESSAGE(mentions(twice.message + twice.detail, "_Z5twicef"), twice.message);
    CHECK_MESSAGE(mentions(twice.message + twice.detail, "again.cu"), twice.message);
    CHECK_MESSAGE(mentions(twice.remedy, "static"), twice.remedy);
  }
  // A library that is linked as a whole provides it, too.
  const test::TempDir folder;
  const Bytes callee = library_of(*compiler, kCallee, false);
  write_bytes(folder / "callee.cubin", callee);
  write_bytes(folder / "callee.fatbin", test::make_fake_fatbin({{2, callee, test::FatbinPacking::none}}));
  for (const char* library : {"callee.cubin", "callee.fatbin"}) {
    CAPTURE(library);
    SourceProgram program = caller_and_callee();
    program.libraries = {library};
    CompileRequest request = request_of(program);
    request.options.library_directories = {folder.path()};
    const Error error = refused_link(*compiler, request);
    CHECK_MESSAGE(mentions(error.message, ("'callee.cu' and in '" + std::string(library) + "'").c_str()),
                  error.message);
  }
  // Both sources are equal and define the same kernel.
  SourceProgram same = a_source("a", "extern \"C\" __global__ void k(int* x) { *x = 1; }");
  same.sources = {a_source("b", same.text)};
  CHECK(mentions(refused_link(*compiler, request_of(same)).message, "'a.cu' and in 'b.cu'"));
}

TEST_CASE("calls may go in a circle, and names that are static stay apart") {
  const auto compiler = linking_compiler();
  if (!compiler) return;
  for (const char* flag : {"-rdc=true", "-dlto"}) {
    SourceProgram program = a_source("a", R"cu(extern __device__ int g(int);
static __device__ int part(int x) { return x + 1; }
__device__ int f(int x) { return x > 0 ? g(x - 1) + part(x) : 0; }
extern "C" __global__ void k(int* x) { *x = f(*x); }
)cu");
    program.sources = {a_source("b", R"cu(extern __device__ int f(int);
static __device__ int part(int x) { return x + 2; }
__device__ int g(int x) { return x > 0 ? f(x - 1) + part(x) : 0; }
)cu")};
    program.flags = {flag};
    linked(*compiler, request_of(program));
  }
}

TEST_CASE("templates and inline functions may be in every source, and in headers of their own folders") {
  const auto compiler = linking_compiler();
  if (!compiler) return;
  const test::TempDir folder;
  for (const char* name : {"a", "b"}) {
    fs::create_directory(folder / name);
    std::ofstream(folder.path() / name / "shared.h")
        << "template <class T> __device__ __noinline__ T more(T x) { return x + 1; }\n#define MINE "
        << (name[0] == 'a') << "\n";
  }
  const auto text = [](const char* kernel) {
    return "#include \"shared.h\"\n__global__ void " + std::string(kernel) +
           "(int* x) { *x = more(MINE); }\n";
  };
  SourceProgram program = a_source("a", text("ka"));
  program.folder = folder / "a";
  program.kernels = {"ka"};
  program.sources = {a_source("b", text("kb"))};
  program.sources[0].folder = folder / "b";
  program.sources[0].kernels = {"kb"};
  CHECK(symbols_of(linked(*compiler, request_of(program))) == std::vector<std::string>{"_Z2kaPi", "_Z2kbPi"});
  const auto before = *compiler->fingerprint(request_of(program));
  std::ofstream(folder / "b/shared.h", std::ios::app) << "// edited\n";
  CHECK(*compiler->fingerprint(request_of(program)) != before);
}

TEST_CASE("neither the working folder nor where sources and libraries lie comes into what is linked") {
  const auto compiler = linking_compiler();
  if (!compiler) return;
  const fs::path before = fs::current_path();
  for (const char* flag : {"-rdc=true", "-dlto"}) {
    CAPTURE(flag);
    std::vector<CompileOutput> outputs;
    for (int time = 0; time < 2; ++time) {
      const test::TempDir folder;
      const std::string library = std::string("callee.") + (flag[1] == 'r' ? "cubin" : "ltoir");
      write_bytes(folder.path() / library, library_of(*compiler, kCallee, flag[1] == 'd'));
      SourceProgram program = a_source("caller", kCaller);
      program.folder = folder.path();
      program.flags = {flag, "-lineinfo"};
      program.libraries = {library};
      CompileRequest request = request_of(program);
      request.options.library_directories = {folder.path()};
      fs::current_path(folder.path());
      outputs.push_back(linked(*compiler, request));
      fs::current_path(before);
      CHECK_FALSE(mentions(std::string(as_text(*outputs.back().image)), folder.path().c_str()));
    }
    CHECK(outputs[0].record.digest == outputs[1].record.digest);
    CHECK(outputs[0].record.fingerprint == outputs[1].record.fingerprint);
  }
}

TEST_CASE("a template is linked where a request asks for it") {
  const auto compiler = linking_compiler();
  if (!compiler) return;
  CompileRequest request;
  request.kernel_template = *KernelTemplate::parse(
      R"cu(/* cubinet-template {"name": "t", "interface": 1, "minimum_target": "sm_75", "parameters": [],
"kernels": [{"name": "t", "threads": 32, "parameter_bytes": 8}]} */
extern "C" __global__ void t(float* x) { *x = 1; })cu",
      "t.cu");
  request.spec.name = "t";
  request.target = *SmTarget::parse("sm_90a");
  request.spec.options = {{"dlink-time-opt", ""}};
  const CompileOutput output = linked(*compiler, request);
  CHECK(output.record.entry_points[0].symbol == "t");
  CHECK(mentions(output.record.compiler, "nvJitLink"));
}

TEST_CASE("PTX comes of sources alone that are optimised when they are linked") {
  const auto compiler = linking_compiler();
  if (!compiler) return;
  SourceProgram program = caller_and_callee();
  program.flags = {"-dlto"};
  CompileRequest request = request_of(program);
  request.kind = ImageKind::ptx;
  CHECK(symbols_of(linked(*compiler, request)) == std::vector<std::string>{"_Z6scaledIfEvPT_"});
  program.flags.clear();
  request = request_of(program);
  request.kind = ImageKind::ptx;
  const Error error = refused_link(*compiler, request);
  CHECK(error.code == ErrorCode::unsupported);
  CHECK(mentions(error.remedy, "-dlto"));
}

TEST_CASE("what the linker says of a source is not quoted where sources may not be") {
  const auto compiler = linking_compiler();
  if (!compiler) return;
  CompileRequest request = request_of(a_source("caller", kCaller));
  request.options.flags = {};
  request.spec.options = {{"relocatable-device-code", "true"}};
  request.options.quote_sources = false;
  const Error error = refused_link(*compiler, request);
  CHECK_FALSE(mentions(error.message + error.detail, "twice"));
  CHECK(mentions(error.message, "does not link"));
}

TEST_CASE("linked programs compile from several threads at once, each to its own") {
  const auto compiler = linking_compiler();
  if (!compiler) return;
  std::vector<Sha256Digest> digests(6);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    threads.emplace_back([&, i] {
      SourceProgram program = caller_and_callee();
      program.flags = {i % 2 == 0 ? "-rdc=true" : "-dlto"};
      const auto made = program.as_template();
      const auto output =
          compiler->compile({*made, {}, *SmTarget::parse("sm_90a"), {}, ImageKind::cubin, false});
      if (output) digests[i] = output->record.digest;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (std::size_t i = 2; i < digests.size(); ++i)
    CHECK(digests[i] == digests[i - 2]);
  CHECK(digests[0] != Sha256Digest());
  CHECK(digests[0] != digests[1]);
}
