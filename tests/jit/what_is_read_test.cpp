// SPDX-License-Identifier: Apache-2.0
// Checks that NVRTC reads only hashed files, and that hashed files are reachable. The evidence is
// NVRTC's own trace of headers and every path that it passes to the C library.
#include "compiler_search.hpp"
#include "header_macros.hpp"
#include "include_closure.hpp"
#include "include_scanner.hpp"
#include "jit/file_calls.hpp"
#include "jit/test_templates.hpp"
#include "nvrtc_program.hpp"
#include "support/compiler_search.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/kernel_templates/source_program.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <deque>
#include <fstream>
#include <random>

using namespace cubinet;
using cubinet::test::FileCalls;

namespace {

struct Source {
  const char* name;
  const char* text;
};

const std::vector<Source> kSources = {{"groups", R"cu(#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int* p) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  *p = cg::reduce(warp, static_cast<int>(threadIdx.x), cg::plus<int>());
})cu"},
                                      {"mma", R"cu(#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(const half* a, float* p) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> f;
  wmma::load_matrix_sync(f, a, 16);
  *p = __half2float(f.x[0]);
})cu"},
                                      {"narrow", R"cu(#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
extern "C" __global__ void k(float* p) {
  *p = float(__nv_fp8_e4m3(*p)) + __half2float(__float2half(*p)) + __bfloat162float(__float2bfloat16(*p));
})cu"},
                                      {"block_reduce", R"cu(#include <cub/block/block_reduce.cuh>
extern "C" __global__ void k(int* p) {
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage storage;
  *p = Reduce(storage).Sum(static_cast<int>(threadIdx.x));
})cu"},
                                      {"standard", R"cu(#include <cuda/std/tuple>
#include <cstdint>
#include <type_traits>
extern "C" __global__ void k(std::uint32_t* p) {
  static_assert(std::is_same_v<std::uint32_t, unsigned>);
  *p = cuda::std::get<1>(cuda::std::make_tuple(1, *p));
})cu"},
                                      {"own", R"cu(#define HEADER "own/a.h"
#include HEADER
#include "own/../own/a.h"
#if __has_include(<own/none.h>) || !__has_include("own/b.h")
#error
#endif
extern "C" __global__ void k(int* p) { *p = A + B; })cu"}};

constexpr int kRandomTexts = 250;

const Source kRandom = {"random", R"cu(#include <curand_kernel.h>
extern "C" __global__ void k(float* p) {
  curandStatePhilox4_32_10_t state;
  curand_init(1, threadIdx.x, 0, &state);
  *p = curand_uniform(&state);
})cu"};

CompileRequest request_of(const Source& source, const std::string& folder) {
  SourceProgram program;
  program.name = source.name;
  program.text = source.text;
  program.folder = folder;
  const auto made = program.as_template();
  REQUIRE_MESSAGE(made.has_value(), made.error().to_line());
  CompileRequest request = test::request_of(*made);
  request.spec = *(*made)->resolve({});
  return request;
}

// Returns the names of headers in NVRTC's trace.
std::set<std::string> headers_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  const auto document = nlohmann::json::parse(stream);
  std::set<std::string> names;
  for (const auto& event : document["traceEvents"]) {
    if (event.value("name", "") == "Processing Header File") names.insert(event["args"]["detail"]);
  }
  return names;
}

// Returns every name in angle brackets.
std::set<std::string> names_in(const std::string& text) {
  std::set<std::string> names;
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    const std::size_t end = text.find_first_of("<>\n", at + 1);
    if (end != std::string::npos && text[end] == '>') names.insert(text.substr(at + 1, end - at - 1));
  }
  return names;
}

// Returns the headers that the source names, those that they name, and so on, also through macros.
std::set<std::string> reachable(const IncludeClosure& closure) {
  HeaderMacros macros;
  std::map<std::string, const std::string*> texts;
  for (const CompilerHeader& header : closure.headers)
    texts.emplace(header.name, &header.text);
  static const std::string kTypes = "<cubinet/types.cuh>";  // the generated header may include it
  std::deque<const std::string*> pending = {&closure.source, &kTypes};
  for (const auto& [name, text] : texts)
    pending.push_back(text);
  for (const std::string* text : pending) {
    for (const HeaderMacro& macro : scan_includes(*text).macros)
      macros.define(macro.name, macro.body);
  }
  pending.resize(2);
  std::set<std::string> reached;
  for (; !pending.empty(); pending.pop_front()) {
    std::set<std::string> names = names_in(*pending.front());
    for (const ComputedHeader& computed : scan_includes(*pending.front()).computed) {
      for (const std::string& header : macros.headers_of(computed.operand).names)
        names.insert(header.substr(1, header.size() - 2));
    }
    for (const std::string& name : names) {
      const auto text = texts.find(name);
      if (text != texts.end() && reached.insert(name).second) pending.push_back(text->second);
    }
  }
  return reached;
}

// Returns whether a call does not affect the build: system files, and the file identity of a name
// in memory in the compilation's working directory, "/".
bool is_harmless(const std::string& call) {
  const std::filesystem::path path = std::filesystem::path("/") / call.substr(call.find(' ') + 1);
  for (const char* system : {"/proc/", "/sys/", "/dev/"}) {
    if (path.native().starts_with(system)) return true;
  }
  return call.starts_with("stat ") && !std::filesystem::is_regular_file(path);
}

struct Release {
  test::TempDir folder;
  std::shared_ptr<Compiler> compiler;

  explicit Release(CompilerSearch search) {
    search.bundled_headers = (folder / "home/headers").string();
    std::filesystem::create_directory(folder / "own");
    std::ofstream(folder / "own/a.h") << "#pragma once\n#include \"b.h\"\nstatic const int A = 1;\n";
    std::ofstream(folder / "own/b.h") << "#pragma once\nstatic const int B = 2;\n";
    const auto opened = Compiler::open(search);
    REQUIRE_MESSAGE(opened, opened.error().message);
    compiler = *opened;
  }

  void check(CompileRequest request) const {
    CAPTURE(request.spec.name);
    const std::string trace = (folder / ("trace-" + request.spec.name)).string();
    request.spec = *request.kernel_template->resolve(request.spec);
    request.resolved = true;
    const auto inputs = compiler->inputs(request);
    REQUIRE_MESSAGE(inputs, inputs.error().to_line());
    REQUIRE(inputs->size() == 1);
    const CompilerInput& given = inputs->front();
    // A caller may not set this option, because it writes a file.
    request.spec.options["fdevice-time-trace"] = trace;
    request.spec.options["Ofast-compile"] = "max";
    request.kind = ImageKind::ptx;
    FileCalls calls;
    const auto output = compiler->compile(request);
    const std::set<std::string> named = calls.take();
    REQUIRE_MESSAGE(output, (output.error().message + output.error().detail));

    // NVRTC opens the trace file, which shows that opened files are seen.
    bool sees_trace = false;
    for (const std::string& call : named) {
      const bool is_trace = call.find(trace) != std::string::npos;
      sees_trace = sees_trace || is_trace;
      CHECK_MESSAGE((is_trace || is_harmless(call)), call);
    }
    CHECK(sees_trace);

    std::set<std::string> hashed = {"cubinet/parameters.cuh"};
    for (const auto& header : given.headers)
      hashed.insert(header.name);
    const std::set<std::string> read = headers_in(trace + ".json");
    CHECK_FALSE(read.empty());
    for (const std::string& name : read) {
      if (name != "__nv_nvrtc_builtin_header.h") CHECK_MESSAGE(hashed.contains(name), name);
    }
    check_reachable(request, given.sources);
  }

  void check_reachable(const CompileRequest& request, const Sha256Digest& sources) const {
    std::vector<std::string> folders = header_folders(compiler->location());
    const auto bundled = std::filesystem::path(folder / "home/headers");
    if (std::filesystem::exists(bundled)) {
      for (const auto& place : std::filesystem::directory_iterator(bundled)) {
        folders.push_back(place.path().string());
        folders.push_back((place.path() / "cccl").string());
      }
    }
    const auto closure = close_over_includes(*request.kernel_template, {{}, folders, {}});
    REQUIRE(closure);
    CHECK(closure->digest == sources);
    const std::set<std::string> reached = reachable(*closure);
    for (const CompilerHeader& header : closure->headers) {
      CHECK_MESSAGE(reached.contains(header.name), header.name);
    }
  }
};

void check_sources(const Release& release, const std::vector<Source>& sources) {
  for (const Source& source : sources)
    release.check(request_of(source, release.folder.path()));
}

void check_library(const Release& release, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    release.check(test::builtin_request(name, "sm_90a"));
}

}  // namespace

TEST_CASE("NVRTC reads no file for the templates of the library, and no header that is not hashed") {
  check_library(Release(test::compiler_search()), test::builtin_names());
}

TEST_CASE("NVRTC reads no file for sources that include the heads of CUDA, and none that is not hashed") {
  std::vector<Source> sources = kSources;
  sources.push_back(kRandom);
  check_sources(Release(test::compiler_search()), sources);
}

TEST_CASE("a later NVRTC reads no file either, with the headers that it has within it") {
  const auto search = test::later_compiler_search();
  if (!search) return;
  const Release release(*search);
  check_library(release, {"rms_norm"});
  check_sources(release, {kSources[2], kSources[4], kSources[5]});
}

TEST_CASE("a header that NVRTC looks for by itself is seen, whether it is there or not") {
  const test::TempDir folder;
  std::ofstream(folder / "there.h") << "#define THERE 1\n";
  std::vector<CompilerSearch> searches = {test::compiler_search()};
  if (const auto later = test::later_compiler_search()) searches.push_back(*later);
  for (const CompilerSearch& search : searches) {
    const auto candidate = find_compilers(search).front();
    const auto api = NvrtcApi::open(candidate.library, candidate.builtins);
    REQUIRE(api);
    auto program = NvrtcProgram::create(**api,
                                        "#include <there.h>\n#if __has_include(<absent.h>)\n#error\n#endif\n"
                                        "__global__ void k(int* p) { *p = THERE; }\n",
                                        "k.cu", {});
    REQUIRE(program);
    FileCalls calls;
    CHECK(program->compile({"-I" + folder.path().string()}) == NVRTC_SUCCESS);
    bool there = false;
    bool absent = false;
    for (const std::string& call : calls.take()) {
      there = there || call.find("there.h") != std::string::npos;
      absent = absent || call.find("absent.h") != std::string::npos;
    }
    CHECK(there);
    CHECK(absent);
  }
}

namespace {

// Returns random tokens around an include that could mislead a preprocessor.
std::string random_text(std::mt19937& random, const std::string& header) {
  static const std::vector<std::string> kTokens = {"\"",
                                                   "'",
                                                   "R\"(",
                                                   ")\"",
                                                   "u8R\"a(",
                                                   ")a\"",
                                                   "/*",
                                                   "*/",
                                                   "//",
                                                   "\\\n",
                                                   "\\\r\n",
                                                   "?\?/\n",
                                                   "?\?=",
                                                   "?\?'",
                                                   "\n",
                                                   "\n",
                                                   "\n",
                                                   "\r",
                                                   " ",
                                                   "1'",
                                                   "1e+",
                                                   "0x1p-",
                                                   "a",
                                                   ".",
                                                   "#",
                                                   "%:",
                                                   "<",
                                                   ">",
                                                   "\\",
                                                   "\n#if 0\n",
                                                   "\n#endif\n",
                                                   "\n#else\n",
                                                   "#define Q ",
                                                   "\n#pragma x ",
                                                   "\n#error ",
                                                   "\n#include ",
                                                   "__has_include(",
                                                   "u",
                                                   "L",
                                                   "R",
                                                   "8",
                                                   "_",
                                                   "$",
                                                   "\xc3\xa9",
                                                   "\t",
                                                   "\f"};
  std::string text;
  const auto soup = [&](std::size_t most) {
    for (std::size_t left = random() % most; left > 0; --left)
      text += kTokens[random() % kTokens.size()];
  };
  soup(8);
  text += random() % 2 == 0 ? "\n#include \"" : "\n#if 0\n#endif\n#include \"";
  text += header + "\"\n";
  soup(6);
  return text;
}

}  // namespace

TEST_CASE("whatever a text makes NVRTC include has been seen in it") {
  const test::TempDir folder;
  const std::string header = (folder / "h.h").string();
  std::ofstream(header) << "int h;\n";
  const auto candidate = find_compilers(test::compiler_search()).front();
  const auto api = NvrtcApi::open(candidate.library, candidate.builtins);
  REQUIRE(api);
  std::mt19937 random(11);  // NOLINT(cert-msc51-cpp): the same texts every time
  FileCalls calls;
  int opened = 0;
  for (int i = 0; i < kRandomTexts; ++i) {
    static const std::vector<std::string> kStandards = {"c++03", "c++11", "c++14", "c++17", "c++20"};
    const std::string standard = kStandards[random() % kStandards.size()];
    const std::string text = random_text(random, header);
    auto program = NvrtcProgram::create(**api, text, "k.cu", {});
    REQUIRE(program);
    static_cast<void>(calls.take());
    static_cast<void>(
        program->compile({"--std=" + standard, "--no-source-include", "--fdevice-syntax-only", "--minimal"}));
    bool is_opened = false;
    for (const std::string& call : calls.take())
      is_opened = is_opened || (call.find("open ") != std::string::npos && call.ends_with(header));
    if (!is_opened) continue;
    ++opened;
    const IncludeScan scan = scan_includes(text, SourceDialect::of(standard));
    const bool is_seen =
        std::any_of(scan.references.begin(), scan.references.end(),
                    [&](const HeaderReference& reference) { return reference.name == header; });
    CHECK_MESSAGE(is_seen, (standard + ": " + text));
  }
  CHECK(opened > kRandomTexts / 20);
}
