// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace cubinet::nvcc {
namespace {

using test::ok;

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

Result<CompileLine> parse(const std::string& line, std::vector<std::string> environment = {}) {
  return parse_command_line(words(line), EnvironmentVariables(std::move(environment)));
}

// Returns why a line is for nvcc.
std::string reason(const std::string& line, std::vector<std::string> environment = {}) {
  const auto parsed = parse(line, std::move(environment));
  REQUIRE_MESSAGE(!parsed.has_value(), line);
  CHECK(parsed.error().code == ErrorCode::unsupported);
  return parsed.error().message;
}

bool has(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

TEST_CASE("The line of DeepJIT makes a cubin") {
  const CompileLine line = ok(parse(
      "/t/d/kernel.cu --cubin --output-file /t/d/kernel.cubin --gpu-architecture=sm_90a -O3 "
      "--compiler-options=-O3 --ptxas-options=--register-usage-level=10 -std=c++20 --compiler-options=-fPIC "
      "--compiler-options=-fconcepts --expt-relaxed-constexpr --expt-extended-lambda "
      "--diag-suppress=39,161,174,177,186,940 --include-path /a --include-path /b"));
  CHECK(line.source == "/t/d/kernel.cu");
  CHECK(line.output == "/t/d/kernel.cubin");
  CHECK(line.target == ok(SmTarget::parse("sm_90a")));
  CHECK(line.kind == ImageKind::cubin);
  CHECK(line.include_directories == std::vector<std::string>{"/a", "/b"});
  CHECK(line.flags == std::vector<std::string>{"--ptxas-options=--register-usage-level=10", "--std=c++20",
                                               "-D__CUDACC_RELAXED_CONSTEXPR__",
                                               "-D__CUDACC_EXTENDED_LAMBDA__",
                                               "--diag-suppress=39,161,174,177,186,940",
                                               "--device-as-default-execution-space", "--device-int128"});
}

TEST_CASE("Two options that define the same macro define it once") {
  const CompileLine line = ok(parse("-cubin -arch=sm_90 x.cu --extended-lambda --expt-extended-lambda"));
  CHECK(std::count(line.flags.begin(), line.flags.end(), "-D__CUDACC_EXTENDED_LAMBDA__") == 1);
}

TEST_CASE("The line of the nvcc back end of CuPy has an output by default") {
  const CompileLine line =
      ok(parse("-gencode=arch=compute_90,code=sm_90 --cubin -I/cupy/include -DM=1 /t/x.cu"));
  CHECK(line.output == "x.cubin");
  CHECK(line.target == ok(SmTarget::parse("sm_90")));
  CHECK(has(line.flags, "-DM=1"));
  CHECK(ok(parse("-ptx -arch=compute_90a /t/x.cu")).output == "x.ptx");
  CHECK(ok(parse("-ptx -arch=compute_90a /t/x.cu")).kind == ImageKind::ptx);
}

TEST_CASE("A folder that is also a system folder is searched with these alone") {
  const test::TempDir folder;
  std::filesystem::create_directories(folder / "a");
  std::filesystem::create_directories(folder / "b");
  const std::string a = (folder / "a").string();
  const std::string b = (folder / "b").string();
  const CompileLine line = ok(
      parse("-cubin -arch=sm_90 x.cu -I" + a + "/. -I" + b + " -I /none -isystem " + a + " -isystem /none"));
  CHECK(line.include_directories == std::vector<std::string>{b, "/none", a, "/none"});
}

TEST_CASE("The line of a PyTorch extension is for nvcc") {
  const std::string line =
      "-DTORCH_EXTENSION_NAME=x -I/torch/include -isystem /usr/include/python3.11 "
      "-D__CUDA_NO_HALF_OPERATORS__ "
      "--expt-relaxed-constexpr -gencode=arch=compute_90,code=compute_90 "
      "-gencode=arch=compute_90,code=sm_90 --compiler-options -fPIC -std=c++17 -c /t/x.cu -o x.cuda.o";
  CHECK(reason(line).find("'-gencode' states several architectures") != std::string::npos);
  CHECK(
      reason("--generate-dependencies-with-compile --dependency-output x.d -c x.cu").find("further files") !=
      std::string::npos);
  CHECK(reason("-arch=sm_90 -c x.cu -o x.o") == "the option '-c': it makes host code");
}

TEST_CASE("Lines of build logs are read as they are") {
  // DeepGEMM 0.1.5
  const CompileLine gemm =
      ok(parse("/c/tmp/1-a/kernel.cu -cubin -o /c/tmp/1-a/kernel.cubin -std=c++20 "
               "--diag-suppress=39,161,174,177,186,940 --ptxas-options=--register-usage-level=10 "
               "--ptxas-options=--verbose,--warn-on-local-memory-usage -I/site/deep_gemm/include "
               "--gpu-architecture=sm_90a "
               "--compiler-options=-fPIC,-O3,-fconcepts,-Wno-deprecated-declarations,-Wno-abi -O3 "
               "--expt-relaxed-constexpr --expt-extended-lambda"));
  CHECK(gemm.target == ok(SmTarget::parse("sm_90a")));
  CHECK(has(gemm.flags, "--ptxas-options=--verbose,--warn-on-local-memory-usage"));
  // CuPy 14.2, which compiles an empty source to learn the version
  const CompileLine version =
      ok(parse("-gencode=arch=compute_90,code=sm_90 --ptx -o preprocess.ptx /tmp/t/preprocess.cu"));
  CHECK(version.kind == ImageKind::ptx);
  CHECK(version.output == "preprocess.ptx");
  // PyTorch 2.11
  CHECK(reason("-MD -MF m.cuda.o.d -DTORCH_EXTENSION_NAME=x -DTORCH_API_INCLUDE_EXTENSION_H "
               "-isystem /site/torch/include -isystem /usr/local/cuda/include -D__CUDA_NO_HALF_OPERATORS__ "
               "--expt-relaxed-constexpr -gencode=arch=compute_90,code=sm_90 --compiler-options -fPIC -O3 "
               "-std=c++17 -c /t/m.cu -o m.cuda.o") == "the option '-MD': it writes further files");
  // CMake 3.25 with CUDA_PTX_COMPILATION
  CHECK(reason("-forward-unknown-to-host-compiler --generate-code=arch=compute_90,code=[compute_90,sm_90] "
               "-MD -MT k.ptx -MF k.ptx.d -x cu -ptx /t/k.cu -o k.ptx") ==
        "'--generate-code' states several architectures");
}

TEST_CASE("A line that makes something else is for nvcc") {
  for (const char* option : {"-fatbin", "-E", "-M", "-dc", "-dlto", "-ewp", "-shared", "-x=cu", "-optf=f",
                             "--options-file=f", "-G", "-keep", "--dryrun", "-rdc=true", "-include=a.h"}) {
    CAPTURE(option);
    CHECK(reason("-cubin -arch=sm_90 x.cu " + std::string(option)).find("the option '") == 0);
  }
  CHECK(reason("-arch=sm_90 x.cu") == "it makes neither a cubin nor PTX");
  CHECK(reason("-cubin -ptx -arch=sm_90 x.cu") == "it makes a cubin and PTX");
}

TEST_CASE("An option that nobody knows is for nvcc") {
  CHECK(reason("-cubin -arch=sm_90 x.cu --brand-new=1") == "the option '--brand-new' is not known");
  CHECK(reason("-cubin -arch=sm_90 x.cu --\x1b[2J").find('\x1b') == std::string::npos);
}

TEST_CASE("A line without exactly one source is for nvcc") {
  CHECK(reason("-cubin -arch=sm_90") == "it has no input");
  CHECK(reason("-cubin -arch=sm_90 a.cu b.cu") == "it has several inputs");
  CHECK(reason("-cubin -arch=sm_90 a.ptx").find("'.cu'") != std::string::npos);
  for (const char* input : {"-", "@line"})
    CHECK(reason("-cubin -arch=sm_90 " + std::string(input)).find("neither an option nor a file") !=
          std::string::npos);
  CHECK(reason("").find("neither a cubin nor PTX") != std::string::npos);
}

TEST_CASE("A line without exactly one architecture is for nvcc") {
  CHECK(reason("-cubin x.cu") == "it states no architecture");
  for (const char* name : {"native", "all", "all-major", "sm_90,sm_100", "compute_1", "lto_90"}) {
    CAPTURE(name);
    CHECK(reason("-cubin x.cu -arch=" + std::string(name)).find("is not one architecture") !=
          std::string::npos);
  }
  CHECK(reason("-cubin x.cu -arch=compute_90") == "a cubin needs a real architecture");
  CHECK(reason("-cubin x.cu -arch=compute_80 -code=sm_90").find("by way of another") != std::string::npos);
  CHECK(reason("-cubin x.cu -arch=sm_90 -arch=sm_80").find("two values") != std::string::npos);
  CHECK(reason("-cubin x.cu -arch=sm_90 -gencode arch=compute_90,code=sm_90").find("two ways") !=
        std::string::npos);
  CHECK(reason("-cubin x.cu -gencode=arch=compute_90,code=[sm_90,compute_90]").find("several") !=
        std::string::npos);
  CHECK(ok(parse("-cubin x.cu -arch=compute_90a -code=sm_90a")).target == ok(SmTarget::parse("sm_90a")));
}

TEST_CASE("A pair of architectures that nvcc refuses is for nvcc") {
  CHECK(reason("-cubin x.cu -arch=sm_90 -code=sm_90") == "it generates code from a real architecture");
  CHECK(reason("-ptx x.cu -gencode arch=sm_90,code=sm_90") == "it generates code from a real architecture");
  CHECK(reason("-ptx x.cu -gencode=arch=compute_90") == "it generates code without stating which");
}

TEST_CASE("Two outputs, a missing value and an empty value are for nvcc") {
  CHECK(reason("-cubin -arch=sm_90 x.cu -o a -o b").find("two values") != std::string::npos);
  CHECK(reason("-cubin -arch=sm_90 x.cu -o").find("is missing") != std::string::npos);
  CHECK(reason("-cubin -arch=sm_90 x.cu -o=").find("is empty") != std::string::npos);
  CHECK(reason("-cubin=1 -arch=sm_90 x.cu").find("has a value") != std::string::npos);
}

TEST_CASE("A value that nvcc would split or unquote is for nvcc") {
  CHECK(reason("-cubin -arch=sm_90 x.cu -DA,B").find("comma") != std::string::npos);
  CHECK(reason("-cubin -arch=sm_90 x.cu -DA=\"b\"").find("quote") != std::string::npos);
  CHECK(reason("-cubin -arch=sm_90 x.cu -Ia,b").find("comma") != std::string::npos);
}

TEST_CASE("An option of the host compiler that its preprocessor reads is for nvcc") {
  for (const char* option : {"-DN=4", "-include,a.h", "-fopenmp", "-Wp,-DN", "-std=c++17", "-fPIC,-I/x"}) {
    CAPTURE(option);
    CHECK(reason("-cubin -arch=sm_90 x.cu -Xcompiler " + std::string(option)).find("preprocessor") !=
          std::string::npos);
  }
  CHECK(parse("-cubin -arch=sm_90 x.cu -Xcompiler -fPIC,-O3,-Wall").has_value());
}

TEST_CASE("A flag that NVRTC may not have is for nvcc") {
  CHECK(reason("-cubin -arch=sm_90 x.cu -Xptxas=@/etc/flags").find("ptxas would read") != std::string::npos);
  CHECK(reason("-cubin -arch=sm_90 x.cu -std=c++17 -std=c++20").find("another value") != std::string::npos);
}

TEST_CASE("Flags of the environment stand before and behind the arguments") {
  const EnvironmentVariables environment(
      std::vector<std::string>{"NVCC_PREPEND_FLAGS=-std=c++20  -DA", "NVCC_APPEND_FLAGS=-DB"});
  CHECK(ok(with_environment_flags({"x.cu"}, environment)) ==
        std::vector<std::string>{"-std=c++20", "-DA", "x.cu", "-DB"});
  const EnvironmentVariables quoted(std::vector<std::string>{"NVCC_APPEND_FLAGS=-DA='b c'"});
  const auto refused = with_environment_flags({}, quoted);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("NVCC_APPEND_FLAGS") != std::string::npos);
  const EnvironmentVariables lines(std::vector<std::string>{"NVCC_PREPEND_FLAGS=-DA\n-DB"});
  CHECK_FALSE(with_environment_flags({}, lines).has_value());
}

TEST_CASE("A variable that nvcc adds to its commands is a reason for nvcc") {
  for (const char* variable : {"INCLUDES", "SYSTEM_INCLUDES", "CUDAFE_FLAGS", "NVVM_FLAGS", "PTXAS_FLAGS"}) {
    const std::string name = variable;
    CHECK(reason("-cubin -arch=sm_90 x.cu", {name + "=-O0"}) ==
          "the environment sets " + name + ", which nvcc adds to its commands");
    CHECK(parse("-cubin -arch=sm_90 x.cu", {name + "="}).has_value());
  }
}

TEST_CASE("The folders of CPATH follow those of the line and precede its system folders") {
  const CompileLine line = ok(parse("-cubin -arch=sm_90 x.cu -isystem /s -I/i",
                                    {"CPATH=/c:", "CPLUS_INCLUDE_PATH=/p", "C_INCLUDE_PATH=/never"}));
  CHECK(line.include_directories == std::vector<std::string>{"/i", "/c", ".", "/s", "/p"});
  CHECK(line.system_directories == 2);
  CHECK(reason("-cubin -arch=sm_90 x.cu", {"DEPENDENCIES_OUTPUT=/t/x.d"}).find("DEPENDENCIES_OUTPUT") !=
        std::string::npos);
}

TEST_CASE("The version is requested alone") {
  CHECK(requests_version({"--version"}));
  CHECK(requests_version({"-V"}));
  CHECK_FALSE(requests_version({"--version", "x.cu"}));
  CHECK_FALSE(requests_version({}));
}

}  // namespace
}  // namespace cubinet::nvcc
