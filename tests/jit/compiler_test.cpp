// SPDX-License-Identifier: Apache-2.0
#include "jit/test_templates.hpp"
#include "support/compiler_search.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/jit/compiler.hpp>
#include <cubinet/jit/prepared_request.hpp>
#include <cubinet/spec/cubin_elf.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

using namespace cubinet;

namespace {

std::shared_ptr<Compiler> compiler() {
  const auto opened = Compiler::open(test::compiler_search());
  REQUIRE_MESSAGE(opened, opened.error().message);
  return *opened;
}

// nullptr, and the test is skipped, where there is none.
std::shared_ptr<Compiler> later_compiler() {
  const auto search = test::later_compiler_search();
  if (!search) return nullptr;
  const auto opened = Compiler::open(*search);
  REQUIRE_MESSAGE(opened, opened.error().message);
  return *opened;
}

std::string print_of(const CompileRequest& request) {
  const auto fingerprint = compiler()->fingerprint(request);
  REQUIRE_MESSAGE(fingerprint, fingerprint.error().message);
  return fingerprint->to_string();
}

}  // namespace

namespace {

// Builds for all that the compiler supports, which it gives back.
std::vector<SmTarget> check_every_target(Compiler& nvrtc) {
  const auto targets = nvrtc.supported_targets();
  REQUIRE(targets);
  CHECK(targets->size() > 20);
  for (const SmTarget target : *targets) {
    const auto output = nvrtc.compile(test::scale_request(test::kScaleBody, target.to_string().c_str()));
    REQUIRE_MESSAGE(output, output.error().message);
    CHECK(output->record.identity.target() == target);
    const auto inspection = inspect_cubin(*output->image);
    REQUIRE(inspection);
    CHECK_FALSE(contradicts(*inspection, target));
    REQUIRE(inspection->kind);
    CHECK(inspection->target_name() == target.to_string());
    CHECK(nvrtc.identity().starts_with("NVRTC " + release_of_cubin(*output->image) + ","));
    CHECK(inspection->kernels == std::vector<std::string>{"scale"});
    CHECK(inspection->argument_bytes == std::vector<std::uint32_t>{8});
    for (const SmTarget other : *targets) {
      CHECK(check_cubin(*output->image, other, {"scale"}).has_value() == (other == target));
    }
  }
  return *targets;
}

}  // namespace

TEST_CASE("every target that the compiler supports is built, and the cubin says which it is") {
  check_every_target(*compiler());
}

TEST_CASE("a later release builds for sm 107 and its two suffixes too, and the cubins say so") {
  const auto nvrtc = later_compiler();
  if (nvrtc == nullptr) return;
  const std::vector<SmTarget> targets = check_every_target(*nvrtc);
  for (const char* name : {"sm_107", "sm_107a", "sm_107f"})
    CHECK(std::count(targets.begin(), targets.end(), *SmTarget::parse(name)) == 1);
}

TEST_CASE("two releases work in one process, and a fingerprint is of one of them") {
  const auto later = later_compiler();
  if (later == nullptr) return;
  const auto nvrtc = compiler();
  const CompileRequest request = test::scale_request();
  std::vector<CompileOutput> outputs;
  for (const auto& used : {nvrtc, later, nvrtc}) {
    auto output = used->compile(request);
    REQUIRE_MESSAGE(output, output.error().message);
    CHECK(output->record.compiler == used->identity());
    CHECK(output->record.fingerprint == *used->fingerprint(request));
    outputs.push_back(*std::move(output));
  }
  CHECK(outputs[0].record.identity == outputs[1].record.identity);
  CHECK(outputs[0].record.fingerprint != outputs[1].record.fingerprint);
  CHECK(outputs[0].record.fingerprint == outputs[2].record.fingerprint);
  CHECK(outputs[0].record.digest == outputs[2].record.digest);
}

TEST_CASE("the code sees the very value of a parameter of every kind, as a constant or as a macro") {
  const auto source = [](bool macros) {
    std::string parameters;
    for (const char* parameter :
         {R"("i", "type": "int")", R"("b", "type": "bool")",
          R"("c", "type": "choice", "values": ["one", "2x1"])", R"("f", "type": "float")",
          R"("d", "type": "double")", R"("s", "type": "string")", R"("t", "type": "type")",
          R"("l", "type": "int[]")", R"("m", "type": "float[]")"}) {
      parameters += std::string(parameters.empty() ? "" : ",") + "{\"name\": " + parameter;
      if (macros) parameters += std::string(", \"macro\": \"P_") + parameter[1] + "\"";
      parameters += "}";
    }
    return R"cu(/* cubinet-template {"name": "kinds", "interface": 1, "parameters": [)cu" + parameters +
           R"cu(, {"name": "n", "type": "identifier", "macro": "NAME"}], "kernels": [{"name": "k", "threads": 32}]} */
namespace my { template <class T, int N> struct Pair { T values[N]; }; }
#include <cubinet/parameters.cuh>
using namespace cubinet::parameters;
__device__ constexpr int NAME() { return 5; }
__device__ constexpr bool is(const char* a, const char* b) { return *a == *b && (*a == 0 || is(a + 1, b + 1)); }
)cu" +
           (macros ? R"cu(
#if P_i != -7 || P_b
#error "conditions"
#endif
#define one 1
#define JOIN(a, b) a##b
#define TEXT_OF(a) #a
#define TEXT(a) TEXT_OF(a)
constexpr int l[] = {P_l};
constexpr float m[] = {P_m};
static_assert(2 * P_i - 1 == -15 && P_f == 0.1f && P_d == 1e-300 && is(P_s, "a\"\n?\?=\\") && is(TEXT(P_c), "2x1"));
using t = P_t;
)cu"
                   : R"cu(
static_assert(i == -7 && !b && c == c_values::_2x1 && f == 0.1f && d == 1e-300 && is(s, "a\"\n?\?=\\"));
)cu") +
           R"cu(
static_assert(sizeof(t) == 16 && sizeof(l) / sizeof(*l) == 3 && l[1] == -2 && m[0] == 1e-45f && m[1] == -3e38f);
static_assert(named() == 5);
extern "C" __global__ void k(int* o, int at) { o[0] = l[at]; o[1] = static_cast<int>(m[at % 2]); }
)cu";
  };
  const auto nvrtc = compiler();
  for (const bool macros : {false, true}) {
    CompileRequest request = test::request_of(test::parse_template(source(macros)));
    request.spec.set("i", -7)
        .set("b", false)
        .set("c", "2x1")
        .set("f", 0.1)
        .set("d", 1e-300)
        .set("n", "named");
    request.spec.set("s", "a\"\n?\?=\\").set("t", "my::Pair<unsigned  long long , 2>");
    request.spec.set("l", std::vector<std::int64_t>{1, -2, 3}).set("m", std::vector<double>{1e-45, -3e38});
    const auto output = nvrtc->compile(request);
    CHECK_MESSAGE(output.has_value(), (output ? "" : output.error().message + output.error().detail));
    if (output) CHECK(output->record.warnings == "");
  }
}

TEST_CASE("a header that a parameter names is a part of the build") {
  const test::TempDir dir;
  std::ofstream(dir.path() / "eight.h") << "#define VALUE 8\n";
  CompileRequest request = test::request_of(test::parse_template(
      R"cu(/* cubinet-template {"name": "named", "interface": 1, "parameters": [
    {"name": "header", "type": "string", "macro": "HEADER"}], "kernels": [{"name": "k", "threads": 32}]} */
#include <cubinet/parameters.cuh>
#include HEADER
static_assert(VALUE == 8);
extern "C" __global__ void k() {}
)cu"));
  const auto nvrtc = compiler();
  request.spec.set("header", "eight.h");
  request.options.include_directories = {dir.path().string()};
  const auto first = nvrtc->compile(request);
  REQUIRE_MESSAGE(first.has_value(), (first ? "" : first.error().message));
  std::ofstream(dir.path() / "eight.h") << "// other\n#define VALUE 8\n";
  const auto second = nvrtc->compile(request);
  REQUIRE(second);
  CHECK(first->record.fingerprint != second->record.fingerprint);
  request.spec.set("header", (dir.path() / "eight.h").string());
  CHECK(nvrtc->compile(request).error().message.find("by an absolute path") != std::string::npos);
}

TEST_CASE("a source that is declared beside it sees its parameters, and errors tell its own lines") {
  const std::string source =
      "\xef\xbb\xbf#if WIDTH == 4\ntemplate <class T> __global__ void scale(T* x) { x[0] *= WIDTH; }\n"
      "#else\n#error \"line four\"\n#endif\n";
  const auto kernel_template =
      KernelTemplate::parse(source, "scale.cubinet.json", {}, R"({"name": "scale", "interface": 1,
    "parameters": [{"name": "width", "type": "int", "macro": "WIDTH"}, {"name": "t", "type": "dtype", "values": ["fp64", "uint16"]}],
    "kernels": [{"name": "scale", "threads": 32, "symbol_expression": "scale<cubinet::parameters::t>"}]})");
  REQUIRE_MESSAGE(kernel_template.has_value(), kernel_template.error().message);
  const auto nvrtc = compiler();
  CompileRequest request = test::request_of(*kernel_template);
  request.spec.set("width", 4).set("t", "fp64");
  const auto output = nvrtc->compile(request);
  REQUIRE_MESSAGE(output.has_value(), (output ? "" : output.error().message + output.error().detail));
  CHECK(output->record.entry_points[0].symbol == "_Z5scaleIdEvPT_");
  request.spec.set("width", 8);
  const auto failed = nvrtc->compile(request);
  REQUIRE_FALSE(failed);
  CHECK_MESSAGE(failed.error().message.find("scale.cu(4)") != std::string::npos, failed.error().message);
}

TEST_CASE("a base of a declaration is a part of the fingerprint, to the byte") {
  const auto nvrtc = compiler();
  const auto fingerprint = [&](const std::string& base) {
    const auto kernel_template = KernelTemplate::parse(
        "extern \"C\" __global__ void scale(float* x) { x[0] *= cubinet::parameters::factor; }\n",
        "scale.cubinet.json", {},
        R"({"name": "scale", "interface": 1, "base": "b.json", "kernels": [{"name": "scale", "threads": 32}]})",
        [&](const std::string&) -> Result<std::string> { return base; });
    REQUIRE_MESSAGE(kernel_template, (kernel_template ? "" : kernel_template.error().message));
    const auto made = nvrtc->fingerprint(test::request_of(*kernel_template));
    REQUIRE(made);
    return *made;
  };
  const std::string base = R"({"parameters": [{"name": "factor", "type": "int", "default": 2}]})";
  CHECK(fingerprint(base) == fingerprint(base));
  CHECK(fingerprint(base) != fingerprint(base + " "));
}

TEST_CASE("a target that the compiler does not know is unsupported and the known ones are told") {
  const auto output = compiler()->compile(test::scale_request(test::kScaleBody, "sm_107a"));
  REQUIRE_FALSE(output);
  CHECK(output.error().code == ErrorCode::unsupported);
  CHECK(output.error().message.find("cannot build for sm_107a") != std::string::npos);
  CHECK(output.error().remedy.find("sm_90a") != std::string::npos);
}

TEST_CASE("what a template refuses is refused before the compiler is loaded") {
  const auto nvrtc = compiler();
  CompileRequest request = test::builtin_request("attention_decode", "sm_90a");
  request.spec.set("head_dim_qk", 96);
  CHECK(nvrtc->compile(request).error().code == ErrorCode::invalid_argument);
  CHECK(nvrtc->fingerprint(request).error().code == ErrorCode::invalid_argument);
  CHECK(nvrtc->compile(test::builtin_request("attention_decode", "sm_75")).error().code ==
        ErrorCode::unsupported);
  CompileRequest large = test::builtin_request("attention_decode", "sm_120f");
  large.spec.set("head_dim_qk", 256).set("head_dim_v", 256).set("tile_size_kv", 128);
  const auto output = nvrtc->compile(large);
  CHECK(output.error().code == ErrorCode::unsupported);
  CHECK(output.error().message.find("shared memory") != std::string::npos);
  CHECK(nvrtc->compile(CompileRequest{}).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("the fingerprint is that of the record, and differs for whatever changes the code") {
  const CompileRequest request = test::scale_request();
  const auto output = compiler()->compile(request);
  REQUIRE(output);
  CHECK(output->record.fingerprint.to_string() == print_of(request));
  CHECK(print_of(request) == print_of(test::scale_request()));

  std::map<std::string, std::string> seen = {{print_of(request), "itself"}};
  const auto is_new = [&](const CompileRequest& other, const std::string& what) {
    const auto known = seen.emplace(print_of(other), what);
    CHECK_MESSAGE(known.second, (what + " has the fingerprint of " + known.first->second));
  };
  CompileRequest other = request;
  other.spec.set("factor", 3);
  is_new(other, "another parameter");
  is_new(test::scale_request(test::kScaleBody + "\n"), "another source");
  is_new(test::scale_request(test::kScaleBody, "sm_90"), "another target");
  other = request;
  other.spec.options = {{"generate-line-info", ""}};
  is_new(other, "line information");
  other = request;
  other.kind = ImageKind::ptx;
  is_new(other, "PTX");
  is_new(test::scale_request("#include <cubinet/pdl.cuh>\n" + test::kScaleBody), "another header");
}

TEST_CASE("what the environment would change in the code is not compiled, and later compiles are as usual") {
  const CompileRequest request = test::scale_request();
  const auto loaded = compiler();
  const auto fresh = compiler();
  const auto usual = loaded->fingerprint(request);
  REQUIRE(usual);
  REQUIRE(::setenv("NV_NVVM_VERSION", "x", 1) == 0);
  const auto output = loaded->compile(request);
  const auto fingerprint = loaded->fingerprint(request);
  const auto unloaded = fresh->supported_targets();  // loads NVRTC
  ::unsetenv("NV_NVVM_VERSION");
  REQUIRE_FALSE(output);
  CHECK(output.error().code == ErrorCode::unavailable);
  CHECK(output.error().remedy == "unset NV_NVVM_VERSION");
  REQUIRE(fingerprint);
  CHECK(*fingerprint == *usual);
  REQUIRE_FALSE(unloaded);
  CHECK(unloaded.error().remedy == "unset NV_NVVM_VERSION");
  CHECK(fresh->compile(request));
}

TEST_CASE("a changed header of an include directory changes the fingerprint of the same compiler object") {
  const test::TempDir folder;
  std::ofstream(folder / "a.h") << "#define A 1\n";
  CompileRequest request = test::scale_request("#include <a.h>\n" + test::kScaleBody);
  request.options.include_directories = {folder.path()};
  const auto nvrtc = compiler();
  const auto before = nvrtc->fingerprint(request);
  REQUIRE(before);
  CHECK(*nvrtc->fingerprint(request) == *before);
  std::ofstream(folder / "a.h") << "#define A 22\n";
  CHECK(*nvrtc->fingerprint(request) != *before);
}

TEST_CASE("a prepared request has the fingerprint of its request, and no longer than that has it") {
  const test::TempDir folder;
  std::ofstream(folder / "a.h") << "#define A 1\n";
  const auto source = test::parse_template(test::scale_source("#include <a.h>\n" + test::kScaleBody));
  CompileOptions options;
  options.include_directories = {folder.path()};
  const KernelSpec spec{source->name(), {}};
  const PreparedRequest prepared(source, *source->resolve(spec), options);
  const auto nvrtc = compiler();
  const auto check_all = [&] {
    for (const char* name : {"sm_90a", "sm_100f"}) {
      const SmTarget target = *SmTarget::parse(name);
      for (const ImageKind kind : {ImageKind::cubin, ImageKind::ptx}) {
        const auto expected = nvrtc->fingerprint(prepared.for_target(target, kind));
        REQUIRE(expected);
        for (int time = 0; time < 2; ++time)
          CHECK(*nvrtc->fingerprint(prepared, target, kind) == *expected);
      }
    }
    return *nvrtc->fingerprint(prepared, *SmTarget::parse("sm_90a"), ImageKind::cubin);
  };
  const BuildFingerprint before = check_all();
  std::ofstream(folder / "a.h") << "#define A 22\n";
  CHECK(check_all() != before);
  std::ofstream(folder / "a.h") << "#define A 1\n";
  CHECK(check_all() == before);
}

TEST_CASE("sixteen threads compile at once and each gets its own") {
  const auto nvrtc = compiler();
  std::vector<std::thread> threads;
  std::vector<Result<CompileOutput>> outputs(16, Error{});
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    threads.emplace_back([&, i] {
      CompileRequest request = test::scale_request();
      request.spec.set("factor", static_cast<int>(i) + 1);
      outputs[i] = nvrtc->compile(request);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    REQUIRE_MESSAGE(outputs[i], outputs[i].error().message);
    CompileRequest request = test::scale_request();
    request.spec.set("factor", static_cast<int>(i) + 1);
    const auto again = nvrtc->compile(request);
    REQUIRE(again);
    CHECK(outputs[i]->record.digest == again->record.digest);
  }
}

TEST_CASE("opening a compiler does not load it, and tells where it lies") {
  const auto nvrtc = compiler();
  CHECK(std::filesystem::exists(nvrtc->location().library));
  CHECK(std::filesystem::exists(nvrtc->location().builtins));
  CHECK(nvrtc->identity().find("build") != std::string::npos);
}

TEST_CASE("an NVRTC that was replaced before it was loaded compiles nothing under the old name") {
  const test::TempDir folder;
  const auto installed = compiler()->location();
  const auto library = folder / "libnvrtc.so.13";
  std::filesystem::copy_file(installed.library, library);
  std::filesystem::copy_file(installed.builtins,
                             folder.path() / std::filesystem::path(installed.builtins).filename());
  CompilerSearch search;
  search.library = library;
  const auto opened = Compiler::open(search);
  REQUIRE(opened);
  const std::string identity = (*opened)->identity();
  std::string build;  // its bytes
  for (std::size_t at = identity.find("build ") + 6; identity[at] != '+'; at += 2)
    build.push_back(static_cast<char>(std::stoi(identity.substr(at, 2), nullptr, 16)));
  {
    std::string bytes(std::filesystem::file_size(installed.library), '\0');
    std::ifstream(installed.library, std::ios::binary)
        .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const std::size_t at = bytes.find(build);
    REQUIRE(at != std::string::npos);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    std::filesystem::remove(library);
    std::ofstream(library, std::ios::binary) << bytes;
  }
  const auto output = (*opened)->compile(test::scale_request());
  REQUIRE_FALSE(output);
  CHECK(output.error().code == ErrorCode::unavailable);
  CHECK_MESSAGE(output.error().message.find(identity) != std::string::npos, output.error().message);
  CHECK(output.error().remedy.find("replaced") != std::string::npos);
  const auto again = Compiler::open(search);
  REQUIRE(again);
  CHECK((*again)->identity() != identity);
  const auto built = (*again)->compile(test::scale_request());
  REQUIRE_MESSAGE(built, built.error().message);
  CHECK(built->record.compiler == (*again)->identity());
}
