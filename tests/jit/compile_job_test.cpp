// SPDX-License-Identifier: Apache-2.0
#include "compile_job.hpp"

#include "jit/test_templates.hpp"
#include "support/compiler_search.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/kernel_table/row_codec.hpp>
#include <cubinet/kernel_templates/source_program.hpp>
#include <cubinet/spec/kernel_resources.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace cubinet;

namespace {

std::shared_ptr<Compiler> opened_compiler() {
  const auto opened = Compiler::open(test::compiler_search());
  REQUIRE(opened);
  return *opened;
}

CompileOutput compiled(const CompileRequest& request) {
  auto output = opened_compiler()->compile(request);
  REQUIRE_MESSAGE(output, (output.error().message + output.error().detail));
  return *std::move(output);
}

Error refused(const CompileRequest& request) {
  auto output = opened_compiler()->compile(request);
  REQUIRE_FALSE(output);
  return output.error();
}

}  // namespace

TEST_CASE("a cubin and its record belong together") {
  CompileRequest request = test::scale_request();
  const CompileOutput output = compiled(request);
  const CubinRecord& record = output.record;
  CHECK(record.digest == sha256(*output.image));
  CHECK(record.size == output.image->size());
  CHECK(record.target == request.target);
  CHECK(record.identity == identify(*request.kernel_template->resolve(request.spec), request.target));
  CHECK(record.interface_version == 1);
  REQUIRE(record.entry_points.size() == 1);
  CHECK(record.entry_points[0].symbol == "scale");
  CHECK(record.entry_points[0].parameter_bytes == 8);
  CHECK(record.compiler == opened_compiler()->identity());
  CHECK(record.options == "--gpu-architecture=sm_90a --std=c++17");
  CHECK(record.warnings.empty());
  CHECK(output.seconds > 0);
  CHECK(decode_record(encode_record(record)));
  CHECK(record.row.empty());
}

TEST_CASE("a cubin whose template declares a row has it in its record") {
  const CompileRequest request = test::builtin_request("attention_decode", "sm_90a");
  const CompileOutput output = compiled(request);
  const auto row = decode_row(output.record.row);
  REQUIRE(row);
  CHECK(row->implementation == "attention_decode");
  CHECK(row->selector.head_dim_qk == 64);
  CHECK(row->selector.tokens_per_page == 64);
  CHECK(row->traits.stages == 2);
}

TEST_CASE("the same request gives the same bytes") {
  CHECK(compiled(test::scale_request()).record.digest == compiled(test::scale_request()).record.digest);
}

TEST_CASE("C plus plus names become the symbols of the record") {
  const std::string source =
      test::scale_source(R"cu(#include <cubinet/parameters.cuh>
namespace my {
template <int n>
__global__ void kernel(float* data) { data[threadIdx.x] *= n; }
}  // namespace my
)cu",
                         R"(, "symbol_expression": "my::kernel<cubinet::parameters::factor>")");
  CompileRequest request = test::request_of(test::parse_template(source));
  for (const ImageKind kind : {ImageKind::cubin, ImageKind::ptx}) {
    request.kind = kind;
    const CompileOutput output = compiled(request);
    CHECK(output.record.entry_points[0].name == "scale");
    CHECK(output.record.entry_points[0].symbol == "_ZN2my6kernelILi2EEEvPf");
  }
}

TEST_CASE("PTX is text for the virtual target") {
  CompileRequest request = test::scale_request();
  request.kind = ImageKind::ptx;
  const CompileOutput output = compiled(request);
  CHECK(as_text(*output.image).find(".target sm_90a") != std::string_view::npos);
  CHECK(output.record.options.find("compute_90a") != std::string::npos);
  CHECK(output.record.digest == sha256(*output.image));
}

TEST_CASE("warnings are kept in the record") {
  const CompileOutput output =
      compiled(test::scale_request(test::kScaleBody + "__device__ void f() { int unused; }\n"));
  CHECK_MESSAGE(output.record.warnings.find("unused") != std::string::npos, output.record.warnings);
  CHECK(output.record.warnings.find("scale.cu(") != std::string::npos);
}

TEST_CASE(
    "that products of a warpgroup wait for each other is kept in the record, and not said of those that do "
    "not") {
  const auto warnings = [](const std::string& between) {
    const std::string body = R"cu(#include <cubinet/parameters.cuh>
#include <cubinet/wgmma.cuh>
extern "C" __global__ void __launch_bounds__(128) scale(float* data) {
  using namespace cubinet;
  extern __shared__ __align__(1024) unsigned char shared[];
  const SharedAddress k = shared_address(shared);
  FragmentD scores[8];
  wgmma_begin(scores);
#pragma unroll
  for (int step = 0; step < 4; ++step)
    Wgmma<bf16, 64>::multiply(scores, rows_of_k(k + 32 * step), rows_of_k(k + 32 * step), step > 0);
  wgmma_commit();
  )cu" + between + R"cu(
  FragmentA weights[4];
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const float* const pair = scores[i / 2].r + i % 2 * 2;
    weights[i / 4].r[i % 4] = pack2<bf16>(pair[0], pair[1]);
  }
  FragmentD output[16] = {};
  wgmma_begin(output, weights);
#pragma unroll
  for (int step = 0; step < 4; ++step)
    Wgmma<bf16, 128>::multiply<LayoutB::columns_of_k>(output, weights[step], columns_of_k(k + 2048 * step, 8192), true);
  wgmma_commit();
  wgmma_wait<0>(output);
#pragma unroll
  for (int i = 0; i < 64; ++i) data[threadIdx.x * 64 + i] = output[i / 4].r[i % 4];
}
)cu";
    return compiled(test::scale_request(body)).record.warnings;
  };
  CHECK(warnings("wgmma_wait<0>(scores);").empty());
  const std::string told = warnings("scores[0].r[0] += 1.0f; wgmma_wait<0>(scores);");
  CHECK_MESSAGE(told.find("(C75") != std::string::npos, told);
}

TEST_CASE("line information grows the cubin and is told in the options") {
  CompileRequest request = test::scale_request();
  const CompileOutput plain = compiled(request);
  request.spec.options = {{"generate-line-info", ""}};
  const CompileOutput lines = compiled(request);
  CHECK(lines.record.size > plain.record.size);
  CHECK(lines.record.options.find("--generate-line-info") != std::string::npos);
}

TEST_CASE("source that does not compile gives the log and the specification") {
  const Error error = refused(test::scale_request(
      "#include <cubinet/parameters.cuh>\nextern \"C\" __global__ void scale() { oops; }\n"));
  CHECK(error.code == ErrorCode::compile_failed);
  CHECK_MESSAGE(error.message.find("scale(factor=2) for sm_90a does not compile: scale.cu(5): error: ") == 0,
                error.message);
  CHECK(error.message.find("oops") != std::string::npos);
  CHECK(error.detail.find("1 error detected") != std::string::npos);
  CHECK(error.native != 0);
}

TEST_CASE("sources that may not be quoted are neither in an error nor in a record") {
  const test::TempDir folder;
  std::ofstream(folder / "secret") << "root:x:0:0\n";
  CompileRequest request =
      test::scale_request("#include \"" + (folder / "secret").string() + "\"\n" + test::kScaleBody);
  CHECK(refused(request).detail.find("root:x") != std::string::npos);
  request.options.quote_sources = false;
  const Error error = refused(request);
  CHECK(error.code == ErrorCode::compile_failed);
  CHECK(error.detail.empty());
  CHECK(error.to_line().find("root") == std::string::npos);
  request = test::scale_request("extern \"C\" __global__ void scale(float* p) { int unused_secret; }\n");
  CHECK_FALSE(compiled(request).record.warnings.empty());
  request.options.quote_sources = false;
  CHECK(compiled(request).record.warnings.empty());
}

TEST_CASE("a declared kernel that the source does not define is refused") {
  CompileRequest other = test::scale_request("extern \"C\" __global__ void other() {}\n");
  for (const ImageKind kind : {ImageKind::cubin, ImageKind::ptx}) {
    other.kind = kind;
    const Error missing = refused(other);
    CHECK(missing.code == ErrorCode::invalid_argument);
    CHECK(missing.message.find("declares the kernel 'scale'") != std::string::npos);
  }
  const Error mangled = refused(test::scale_request("__global__ void scale() {}\n"));
  CHECK(mangled.remedy.find("extern \"C\"") != std::string::npos);
  const Error wrong_name = refused(test::request_of(
      test::parse_template(test::scale_source(test::kScaleBody, R"(, "symbol_expression": "no::such<1>")"))));
  CHECK(wrong_name.code == ErrorCode::compile_failed);
}

TEST_CASE("an argument of another size than its template declares is refused") {
  const Error error =
      refused(test::scale_request("struct P { void* data; int count; };\nextern \"C\" __global__ void "
                                  "scale(const P p) { *(int*)p.data = p.count; }\n"));
  CHECK(error.code == ErrorCode::invalid_argument);
  CHECK_MESSAGE(
      error.message.find("declares parameter_bytes 8 of the kernel 'scale', whose argument has 16") !=
          std::string::npos,
      error.message);
}

TEST_CASE("a header in the working directory is not taken for one of the template") {
  const test::TempDir working;
  const test::TempDir headers;
  std::ofstream(working / "stray.h") << "#define STRAY 1\n";
  std::ofstream(headers / "mine.h") << "#define MINE 1\n";
  const auto previous = std::filesystem::current_path();
  std::filesystem::current_path(working.path());
  CompileRequest request = test::scale_request("#include \"stray.h\"\n" + test::kScaleBody);
  const Error without = refused(request);
  request.options.include_directories = {headers.path()};
  const Error with = refused(request);
  std::filesystem::current_path(previous);
  for (const Error& error : {without, with}) {
    CHECK(error.code == ErrorCode::compile_failed);
    CHECK_MESSAGE(error.detail.find("stray.h") != std::string::npos, error.detail);
    CHECK(error.message.find("'stray.h', which scale.cu includes") != std::string::npos);
    CHECK(error.remedy.find("`CompileOptions::include_directories`") != std::string::npos);
  }
  CHECK(with.message.find(headers.path().string()) != std::string::npos);
}

TEST_CASE("headers of include directories find each other by quoted names") {
  const test::TempDir headers;
  std::filesystem::create_directories(headers / "lib/detail");
  std::ofstream(headers / "lib/a.h") << "#include \"detail/b.h\"\n";
  std::ofstream(headers / "lib/detail/b.h") << "#define TIMES 3\n";
  CompileRequest request = test::scale_request(
      "#include <lib/a.h>\nextern \"C\" __global__ void scale(float* p) { *p *= TIMES; }\n");
  request.options.include_directories = {headers.path()};
  CHECK(compiled(request).record.options.find(headers.path().string()) == std::string::npos);
}

TEST_CASE("an include of what never ends, or never begins, is refused at once") {
  const test::TempDir headers;
  REQUIRE(::mkfifo((headers / "fifo.h").c_str(), 0600) == 0);
  std::ofstream(headers / "huge.h") << "x";
  std::filesystem::resize_file(headers / "huge.h", std::uintmax_t{1} << 40U);
  std::ofstream(headers / "made.h") << "#define STR_(x) #x\n#define STR(x) STR_(x)\n#include STR("
                                    << (headers / "fifo.h").string() << ")\n";
  for (const char* name :
       {"\"fifo.h\"", "\"huge.h\"", "\"made.h\"", "\"/dev/zero\"", "\"/dev/tty\"", "\"/\""}) {
    CAPTURE(name);
    CompileRequest request = test::scale_request("#include " + std::string(name) + "\n" + test::kScaleBody);
    request.options.include_directories = {headers.path()};
    CHECK(refused(request).code != ErrorCode::internal);
  }
  // The file has size 0 and may have contents when it is read.
  CHECK(compiled(test::scale_request("#include \"/proc/kmsg\"\n" + test::kScaleBody)).record.size > 0);
}

TEST_CASE("files of the working folder do not make two headers one") {
  // NVRTC queries the file identity of a name in memory for `#pragma once`.
  const test::TempDir working;
  std::ofstream(working / "a.h") << "\n";
  std::filesystem::create_hard_link(working / "a.h", working / "b.h");
  SourceProgram program;
  program.name = "two";
  program.text = "#include <a.h>\n#include <b.h>\nextern \"C\" __global__ void two(int* p) { *p = A + B; }\n";
  program.headers = {{"a.h", "#pragma once\n#define A 1\n"}, {"b.h", "#pragma once\n#define B 2\n"}};
  CompileRequest request = test::request_of(*program.as_template());
  const auto previous = std::filesystem::current_path();
  std::filesystem::current_path(working.path());
  const auto output = opened_compiler()->compile(request);
  std::filesystem::current_path(previous);
  CHECK_MESSAGE(output, output.error().detail);
}

TEST_CASE("a header that changes while it is compiled gives what its fingerprint says, whichever that is") {
  const test::TempDir folder;
  const auto put = [&](int value) {
    std::ofstream(folder / "new.h") << "#define VALUE " << value << "\n";
    std::filesystem::rename(folder / "new.h", folder / "value.h");
  };
  put(0);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int value = 0; !stop; value = (value + 1) % 3)
      put(value);
  });
  CompileRequest request = test::scale_request(
      "#include <value.h>\nextern \"C\" __global__ void scale(float* p) { *p = VALUE; }\n");
  request.options.include_directories = {folder.path()};
  std::map<std::string, Sha256Digest> images;
  const auto nvrtc = opened_compiler();
  for (int i = 0; i < 20; ++i) {
    const auto output = nvrtc->compile(request);
    CHECK(output.has_value());
    if (!output) continue;
    const auto known = images.emplace(output->record.fingerprint.to_string(), output->record.digest);
    CHECK(known.first->second == output->record.digest);
  }
  stop = true;
  writer.join();
  CHECK(images.size() <= 3);
}

TEST_CASE("of many folders that were searched the error names some") {
  const test::TempDir folder;
  CompileRequest request = test::scale_request("#include <none.h>\n" + test::kScaleBody);
  for (int i = 0; i < 10000; ++i)
    request.options.include_directories.push_back(folder / std::to_string(i));
  const Error error = refused(request);
  CHECK(error.message.size() < 2000);
  CHECK_MESSAGE(error.message.find(" others") != std::string::npos, error.message);
}

TEST_CASE("folders and headers of any name are found, and told") {
  const test::TempDir folder;
  const std::string odd = "a \"b\" 'c'\n\xc3\xa9<>";
  std::filesystem::create_directory(folder / odd);
  std::ofstream(folder / odd / "a b.h") << "#include \"\xc3\xa9.h\"\n";
  std::ofstream(folder / odd / "\xc3\xa9.h") << "#define VALUE 3\r\n#define OTHER \\\r\n 4\r\n";
  CompileRequest request = test::scale_request(
      "#include <a b.h>\nextern \"C\" __global__ void scale(float* p) { *p = VALUE + OTHER; }\n");
  request.options.include_directories = {folder / odd};
  compiled(request);
  request.options.include_directories = {folder / "none"};
  CHECK(refused(request).message.find("'a b.h'") != std::string::npos);
}

TEST_CASE("source lines do not bring the working folder into a build") {
  const auto previous = std::filesystem::current_path();
  CompileRequest request = test::scale_request();
  request.spec.options = {{"generate-line-info", ""}};
  std::vector<Sha256Digest> digests;
  for (int place = 0; place < 2; ++place) {
    const test::TempDir working;
    std::filesystem::current_path(working.path());
    const CompileOutput output = compiled(request);
    CHECK(std::filesystem::current_path() == working.path());
    std::filesystem::current_path(previous);
    digests.push_back(output.record.digest);
    CHECK(as_text(*output.image).find(working.path().string()) == std::string_view::npos);
  }
  CHECK(digests[0] == digests[1]);
}

namespace {

const std::string kHeadersOfC =
    "#include <float.h>\n#include <inttypes.h>\n#include <limits.h>\n#include <stdbool.h>\n#include "
    "<stddef.h>\n";
const std::string kHeadersOfCpp =
    "#include <cfloat>\n#include <climits>\n#include <cstddef>\n#include <cstdint>\n#include <concepts>\n"
    "#include <cuda/std/climits>\n#include <cuda/std/cstddef>\n"
    "using namespace std;\nstatic_assert(std::integral<int> && !std::integral<float>);\n";
const std::string kUsesHeadersOfC =
    "struct S { int a; char b; long c; int d[4]; };\n"
    "static_assert(offsetof(S, c) == 8 && offsetof(S, d[2]) == 24);\n"
    "template <size_t n> struct Size { enum { value = n }; };\n"
    "static_assert(Size<offsetof(S, b)>::value == 4 && sizeof(max_align_t) >= 8);\n"
    "static_assert(INT_MAX == 2147483647 && CHAR_BIT == 8 && FLT_MANT_DIG == 24 && DBL_DIG == 15);\n"
    "static_assert(INT64_MAX == 9223372036854775807LL && UINT32_C(3) == 3U && sizeof(uintptr_t) == 8);\n"
    "static_assert(sizeof(nullptr_t) == 8 && sizeof(ptrdiff_t) == 8 && sizeof(uint_fast16_t) >= 2);\n"
    "extern \"C\" __global__ void scale(float* p) { bool yes = true; *p = yes ? FLT_MAX : offsetof(S, c); "
    "}\n";

}  // namespace

TEST_CASE("headers of C have their types and macros in any order, and offsetof is a constant") {
  for (const std::string& headers : {kHeadersOfC, kHeadersOfC + kHeadersOfCpp, kHeadersOfCpp + kHeadersOfC}) {
    CAPTURE(headers);
    const CompileOutput output = compiled(test::scale_request(headers + kUsesHeadersOfC));
    CHECK(output.record.warnings == "");
  }
  const std::string of_cpp = "#include <stdint.h>\n" + kHeadersOfCpp;
  CHECK(compiled(test::scale_request(of_cpp + kUsesHeadersOfC)).record.warnings == "");
}

TEST_CASE("headers of C need no CCCL beside the compiler") {
  const auto search = test::later_compiler_search();
  if (!search) return;
  const auto opened = Compiler::open(*search);
  REQUIRE(opened);
  const auto output = (*opened)->compile(test::scale_request(kHeadersOfC + kUsesHeadersOfC));
  CHECK_MESSAGE(output, (output ? "" : output.error().detail));
}

TEST_CASE("headers of the host APIs of the toolkit compile, whose functions device code does not call") {
  const auto has = [](const char* header) {
    for (const char* folder : {"/include/", "/cuda_runtime/include/"}) {
      if (std::filesystem::exists(std::string(test::cuda_root()) + folder + header)) return true;
    }
    return false;
  };
  for (const char* header : {"cuda.h", "cublas_v2.h", "cufft.h", "cusparse.h", "cusolverDn.h"}) {
    if (!has(header)) continue;
    CAPTURE(header);
    compiled(test::scale_request("#include <" + std::string(header) + ">\n" + test::kScaleBody));
  }
  // An error in the source itself is reported nevertheless.
  const Error error = refused(test::scale_request("#include <cuda.h>\n__global__ void k() { nothing(); }\n"));
  CHECK(error.message.find("\"nothing\" is undefined") != std::string::npos);
  const Error own = refused(test::scale_request("int f() { return 1; }\n" + test::kScaleBody));
  CHECK(own.message.find("not allowed in JIT mode") != std::string::npos);
  CHECK(own.remedy.find("-default-device") != std::string::npos);
}

TEST_CASE("device code that includes standard headers finds them in CCCL") {
  compiled(test::scale_request(
      "#include <algorithm>\n#include <array>\n#include <cassert>\n#include <cmath>\n#include <cstdint>\n"
      "#include <climits>\n#include <limits>\n#include <stdint.h>\n#include <tuple>\n#include <type_traits>\n"
      "extern \"C\" __global__ void scale(float* p) {\n"
      "  std::array<std::uint32_t, 2> a{1u, 2u};\n"
      "  static_assert(std::is_same_v<std::uint32_t, uint32_t> && CHAR_BIT == 8);\n"
      "  *p = std::max(std::sqrt(*p), std::numeric_limits<float>::lowest()) + "
      "std::get<0>(std::make_tuple(a[1]));\n"
      "}\n"));
}

namespace {

SourceProgram axpy_program() {
  SourceProgram program;
  program.name = "axpy";
  program.text =
      "#include \"helper.h\"\n"
      "template <class T, int N> __global__ void axpy(T a, T* y) { y[threadIdx.x] = helper(a, N) + SHIFT; }\n"
      "extern \"C\" __global__ void fill(float* y) { y[threadIdx.x] = SHIFT; }\n";
  program.headers = {{"helper.h", "template <class T> __device__ T helper(T a, int n) { return a * n; }\n"}};
  program.flags = {"-DSHIFT=2"};
  return program;
}

CompileRequest program_request(const SourceProgram& program) {
  const auto made = program.as_template();
  REQUIRE_MESSAGE(made.has_value(), made.error().to_line());
  CompileRequest request = test::request_of(*made);
  request.spec = *(*made)->resolve({});
  request.resolved = true;
  return request;
}

}  // namespace

TEST_CASE("kernels of a source without a declaration have the symbols of the names that were asked for") {
  SourceProgram program = axpy_program();
  program.kernels = {"axpy<float, 4>", "axpy<float, 2+2>", "fill"};
  const CompileOutput output = compiled(program_request(program));
  const auto& entries = output.record.entry_points;
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].name == "axpy<float, 4>");
  CHECK(entries[0].symbol == entries[1].symbol);  // two names of one kernel
  CHECK(entries[2].symbol == "fill");
  CHECK(output.record.options.find("-DSHIFT=2") != std::string::npos);
}

TEST_CASE("a prelude goes before each source, whose lines keep their numbers") {
  SourceProgram program = axpy_program();
  program.preludes = {{"first.h", "#define FIRST 1\n", ""}, {"second.h", "#define SECOND (FIRST + 1)\n", ""}};
  program.text += "static_assert(SECOND == 2, \"\");\n";
  program.kernels = {"fill"};
  compiled(program_request(program));
  program.text += "int wrong = ;\n";
  CHECK(refused(program_request(program)).message.find("axpy.cu(5): error") != std::string::npos);
  program.text = "extern \"C\" __global__ void fill(float* y) { *y = SECOND; }\n";
  program.headers.clear();
  program.flags = {"-rdc=true"};
  SourceProgram more;
  more.name = "more";
  more.text = "extern \"C\" __global__ void more(float* y) { *y = SECOND; }\n";
  program.sources = {more};
  compiled(program_request(program));
}

// Otherwise another process would give names without external linkage other symbols, and the same
// kernel other bytes.
TEST_CASE("no number of this process is in a build whose kernels are templates") {
  SourceProgram program;
  program.name = "count";
  program.text =
      "namespace { __device__ int calls = 3; }\n"
      "template <class T> __global__ void count(T* to) { *to = calls++; }\n";
  program.kernels = {"count<int>"};
  CompileRequest request = program_request(program);
  for (const ImageKind kind : {ImageKind::cubin, ImageKind::ptx}) {
    request.kind = kind;
    const CompileOutput output = compiled(request);
    const std::string_view text = as_text(*output.image);
    CHECK(text.find("_INTERNAL_") != std::string_view::npos);
    CHECK(text.find("_" + std::to_string(getpid())) == std::string_view::npos);
  }
}

TEST_CASE("a source that names no kernel has all that it compiles to, and one that has none is refused") {
  const CompileOutput output = compiled(program_request(axpy_program()));
  REQUIRE(output.record.entry_points.size() == 1);
  CHECK(output.record.entry_points[0].name == "fill");
  SourceProgram none = axpy_program();
  none.text = "template <class T> __global__ void axpy(T* y) {}\n";
  CHECK(refused(program_request(none)).message.find("no kernel") != std::string::npos);
  SourceProgram other = axpy_program();
  other.kernels = {"nope<1>"};
  CHECK(refused(program_request(other)).code == ErrorCode::compile_failed);
}

TEST_CASE("a flag of a later release is told by the release in use, in its words") {
  const auto later = test::later_compiler_search();
  if (!later) return;
  SourceProgram program = axpy_program();
  program.flags.emplace_back("--ffinite-math-only");
  const auto opened = Compiler::open(*later);
  REQUIRE(opened);
  const auto output = (*opened)->compile(program_request(program));
  REQUIRE_MESSAGE(output, (output.error().message + output.error().detail));
  CHECK(output->record.options.find("--ffinite-math-only") != std::string::npos);
  if (!opened_compiler()->identity().starts_with("NVRTC 13.0,")) return;
  const Error error = refused(program_request(program));
  CHECK(error.code == ErrorCode::invalid_argument);
  CHECK_MESSAGE(error.message.find("NVRTC 13.0 does not take the flags of axpy") == 0, error.message);
  CHECK(error.message.find("unrecognized option --ffinite-math-only") != std::string::npos);
}

TEST_CASE("what the compiler does not take is told in its words, and macros name headers") {
  SourceProgram program = axpy_program();
  program.flags.emplace_back("--no-such-flag");
  const Error error = refused(program_request(program));
  CHECK(error.code == ErrorCode::invalid_argument);
  CHECK_MESSAGE(error.message.find("unrecognized option --no-such-flag") != std::string::npos, error.message);
  program = axpy_program();
  program.text = "#include HELPER\n" + program.text.substr(program.text.find('\n'));
  program.flags = {"-DSHIFT=2", "-DHELPER=<helper.h>"};
  compiled(program_request(program));
}

TEST_CASE("variables that are named are kept, used or not, and have the symbols of their names") {
  SourceProgram program = axpy_program();
  program.text += "namespace ns { template <class T> __device__ T table[8]; __constant__ int rate; }\n";
  program.globals = {"ns::rate", "ns::table<float>"};
  const CompileOutput output = compiled(program_request(program));
  CHECK(output.record.globals.at("ns::table<float>") == "_ZN2ns5tableIfEE");
  const auto report = report_cubin(*output.image);
  REQUIRE(report);
  REQUIRE(report->globals.size() == 2);
  for (const ImageGlobal& global : report->globals)
    CHECK(global.bytes == (global.name == output.record.globals.at("ns::rate") ? 4U : 32U));
  program.globals = {"ns::nothing"};
  const Error error = refused(program_request(program));
  CHECK(error.code == ErrorCode::compile_failed);
  CHECK_MESSAGE(error.message.find("nothing") != std::string::npos, error.message);
}
