// SPDX-License-Identifier: Apache-2.0
#include "compile_step.hpp"

#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <sys/stat.h>

namespace cubinet::nvcc {
namespace {

using test::ok;
using test::TempDir;
using test::write_file;

constexpr const char* kSource = "#include <value.cuh>\n__global__ void k(int* out) { *out = VALUE; }\n";

// A folder with a source, a folder of headers and a home.
class Setting {
 public:
  Setting() {
    write_file(folder_ / "a/kernel.cu", kSource);
    write_file(folder_ / "include/value.cuh", "#define VALUE 1\n");
  }
  std::filesystem::path operator/(std::string_view name) const { return folder_ / name; }

  CompileLine line(std::string_view source = "a/kernel.cu") const {
    CompileLine line;
    line.source = (folder_ / source).string();
    line.target = ok(SmTarget::parse("sm_90a"));
    line.include_directories = {(folder_ / "include").string()};
    return line;
  }
  SessionOptions options() const {
    SessionOptions options;
    options.home = (folder_ / "home").string();
    options.home_required = false;
    options.compiler = test::compiler_search();
    return options;
  }
  Result<CompileStep> run(const CompileLine& line) const {
    HomeNotes notes({});
    return find_or_compile(line, options(), notes);
  }

 private:
  TempDir folder_;
};

TEST_CASE("The same source in another folder is found in the home") {
  const Setting setting;
  const CompileStep first = ok(setting.run(setting.line()));
  REQUIRE(first.image != nullptr);
  CHECK(first.source == "compiled");
  write_file(setting / "b/kernel.cu", kSource);
  const CompileStep second = ok(setting.run(setting.line("b/kernel.cu")));
  CHECK(second.source == "registry");
  CHECK(*second.image == *first.image);
}

TEST_CASE("A damaged build of the home is made again") {
  const Setting setting;
  const CompileStep first = ok(setting.run(setting.line()));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(setting / "home/cubins")) {
    if (entry.is_regular_file()) write_file(entry.path(), "damaged");
  }
  const CompileStep second = ok(setting.run(setting.line()));
  CHECK(second.source == "compiled");
  CHECK(*second.image == *first.image);
  CHECK(ok(setting.run(setting.line())).source == "registry");
}

TEST_CASE("Another header, flag, target or product is another build") {
  const Setting setting;
  ok(setting.run(setting.line()));
  CompileLine other = setting.line();
  other.flags = {"-DX=1"};
  CHECK(ok(setting.run(other)).source == "compiled");
  other = setting.line();
  other.target = ok(SmTarget::parse("sm_80"));
  CHECK(ok(setting.run(other)).source == "compiled");
  other = setting.line();
  other.kind = ImageKind::ptx;
  const CompileStep ptx = ok(setting.run(other));
  CHECK(ptx.source == "compiled");
  CHECK(as_text(*ptx.image).find(".target sm_90a") != std::string_view::npos);
  write_file(setting / "include/value.cuh", "#define VALUE 2\n");
  CHECK(ok(setting.run(setting.line())).source == "compiled");
}

TEST_CASE("A hit has the log of the compilation") {
  const Setting setting;
  CompileLine line = setting.line();
  line.flags = {"--ptxas-options=--verbose"};
  const CompileStep first = ok(setting.run(line));
  CHECK(first.log.find("registers") != std::string::npos);
  const CompileStep second = ok(setting.run(line));
  CHECK(second.source == "registry");
  CHECK(second.log == first.log);
}

TEST_CASE("A build that NVRTC refuses is for nvcc, with its fingerprint") {
  const Setting setting;
  write_file(setting / "a/kernel.cu", "#include <string>\n__global__ void k(std::string* s) {}\n");
  const CompileStep step = ok(setting.run(setting.line()));
  CHECK(step.image == nullptr);
  REQUIRE(step.refused.has_value());
  REQUIRE(step.fingerprint.has_value());
  // Once it is kept, NVRTC is not tried again until a file changes.
  ok(HomeNotes((setting / "home").string()).add_refusal(*step.fingerprint, "kept"));
  const CompileStep again = ok(setting.run(setting.line()));
  REQUIRE(again.refused.has_value());
  CHECK(again.refused->message == "kept");
  CHECK_FALSE(again.fingerprint.has_value());
  write_file(setting / "a/kernel.cu", kSource);
  CHECK(ok(setting.run(setting.line())).image != nullptr);
}

TEST_CASE("Without NVRTC the line is for nvcc") {
  const Setting setting;
  SessionOptions options = setting.options();
  options.compiler.library = "/nowhere/libnvrtc.so";
  HomeNotes notes({});
  const CompileStep step = ok(find_or_compile(setting.line(), options, notes));
  REQUIRE(step.refused.has_value());
  CHECK_FALSE(step.fingerprint.has_value());
}

TEST_CASE("A miss is an error if nothing may be compiled") {
  const Setting setting;
  SessionOptions options = setting.options();
  options.compile = CompilePolicy::never;
  HomeNotes notes({});
  const auto step = find_or_compile(setting.line(), options, notes);
  REQUIRE_FALSE(step.has_value());
  CHECK(step.error().message.find("forbids compiling") != std::string::npos);
  ok(setting.run(setting.line()));
  CHECK(ok(find_or_compile(setting.line(), options, notes)).source == "registry");
}

TEST_CASE("A source that does not exist is an error") {
  const Setting setting;
  const auto step = setting.run(setting.line("none.cu"));
  REQUIRE_FALSE(step.has_value());
  CHECK(step.error().message.find("none.cu") != std::string::npos);
}

TEST_CASE("A source that is no regular file, or larger than the limit, is for nvcc") {
  const Setting setting;
  REQUIRE(::mkfifo((setting / "pipe.cu").c_str(), 0600) == 0);
  CHECK(ok(setting.run(setting.line("pipe.cu"))).refused.has_value());
  write_file(setting / "large.cu", "//");
  std::filesystem::resize_file(setting / "large.cu", std::uintmax_t{17} << 20);
  const CompileStep step = ok(setting.run(setting.line("large.cu")));
  REQUIRE(step.refused.has_value());
  CHECK(step.refused->message.find("large.cu") != std::string::npos);
  CHECK_FALSE(step.fingerprint.has_value());
}

TEST_CASE("A source without a kernel is compiled each time") {
  const Setting setting;
  for (const char* text : {"", "__device__ int unused() { return 1; }\n"}) {
    CAPTURE(text);
    write_file(setting / "a/kernel.cu", text);
    for (const ImageKind kind : {ImageKind::cubin, ImageKind::ptx, ImageKind::ptx}) {
      CompileLine line = setting.line();
      line.kind = kind;
      const CompileStep step = ok(setting.run(line));
      REQUIRE(step.image != nullptr);
      CHECK(step.source == "compiled");
      if (kind == ImageKind::ptx)
        CHECK(as_text(*step.image).find("Cuda compilation tools") != std::string::npos);
    }
  }
  write_file(setting / "a/kernel.cu", "wrong\n");
  CHECK(ok(setting.run(setting.line())).refused.has_value());
}

TEST_CASE("Bundles and caches come from the environment, separated by blanks") {
  const EnvironmentVariables environment(
      std::vector<std::string>{"CUBINET_NVCC_BUNDLES=/b/one.bundle oci://host/two",
                               "CUBINET_NVCC_CACHES= s3://bucket/cache ", "CUBINET_NVCC_CACHE_KEY=/k"});
  const SessionOptions options = ok(options_from(environment, {}));
  REQUIRE(options.bundles.size() == 2);
  CHECK(options.bundles[1].place == "oci://host/two");
  REQUIRE(options.caches.size() == 1);
  CHECK(options.caches[0].reference == "s3://bucket/cache");
  CHECK(options.caches[0].secret_key_file == "/k");
  CHECK_FALSE(options_from(EnvironmentVariables(std::vector<std::string>{"CUBINET_COMPILE=perhaps"}), {})
                  .has_value());
}

}  // namespace
}  // namespace cubinet::nvcc
