// SPDX-License-Identifier: Apache-2.0
#include "jit/many_constants.hpp"
#include "nvcc_sandbox.hpp"
#include "support/skip.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <thread>
#include <unistd.h>

namespace cubinet::nvcc {
namespace {

using test::NvccSandbox;
using test::ToolResult;

constexpr const char* kKernel = test::kSmallKernel;

const std::vector<std::string> kLine = {"kernel.cu", "-cubin", "-arch=sm_90a", "-o", "out.cubin"};

TEST_CASE("A line that makes a cubin is answered without nvcc, and then from the home") {
  const NvccSandbox sandbox;
  const ToolResult first = sandbox.run(kLine);
  CHECK(first.status == 0);
  CHECK(first.err.empty());
  const std::string cubin = sandbox->read("out.cubin");
  CHECK(cubin.substr(0, 4) ==
        "\x7f"
        "ELF");
  std::filesystem::remove(sandbox / "out.cubin");
  CHECK(sandbox.run(kLine, {{"CUBINET_COMPILE", "never"}}).status == 0);
  CHECK(sandbox->read("out.cubin") == cubin);
  CHECK(sandbox.called().empty());
}

TEST_CASE("A hit prints what the compilation printed") {
  const NvccSandbox sandbox;
  std::vector<std::string> line = kLine;
  line.emplace_back("--ptxas-options=--verbose");
  const ToolResult first = sandbox.run(line);
  CHECK(first.err.find("registers") != std::string::npos);
  CHECK(first.err.find("\n    0 bytes stack frame, ") != std::string::npos);
  CHECK(sandbox.run(line, {{"CUBINET_COMPILE", "never"}}).err == first.err);
}

TEST_CASE("Every other line goes unchanged to nvcc, with its status, and is counted") {
  const NvccSandbox sandbox;
  CHECK(sandbox.run({"-c", "kernel.cu", "-o", "kernel.o"}).status == 0);
  CHECK(sandbox.run({"-fatbin", "kernel.cu"}).status == 0);
  CHECK(sandbox.called() == "-c kernel.cu -o kernel.o\n-fatbin kernel.cu\n");
  CHECK(
      sandbox.run({"--cubinet-passed"}).out ==
      "1  the option '-c': it makes host code\n1  the option '-fatbin': it makes neither a cubin nor PTX\n");
  sandbox->write("nvcc", "#!/bin/sh\nexit 7\n");
  CHECK(sandbox.run({"-c", "kernel.cu"}).status == 7);
}

TEST_CASE("Flags of the environment decide, and nvcc reads them itself") {
  const NvccSandbox sandbox;
  CHECK(sandbox.run(kLine, {{"NVCC_APPEND_FLAGS", "-keep"}}).status == 0);
  CHECK(sandbox.called() == "kernel.cu -cubin -arch=sm_90a -o out.cubin\n");
  sandbox->write("kernel.cu", "#ifndef N\n#error no N\n#endif\n__global__ void k(int* out) { *out = N; }\n");
  CHECK(sandbox.run(kLine, {{"NVCC_PREPEND_FLAGS", "-DN=3"}}).status == 0);
  CHECK(sandbox.has("out.cubin"));
}

TEST_CASE("Headers of CPATH are found") {
  const NvccSandbox sandbox;
  std::filesystem::create_directories(sandbox / "more");
  sandbox->write("more/n.h", "#define N 3\n");
  sandbox->write("kernel.cu", "#include <n.h>\n__global__ void k(int* out) { *out = N; }\n");
  CHECK(sandbox.run(kLine, {{"CPATH", sandbox->path("more")}}).status == 0);
  CHECK(sandbox.has("out.cubin"));
  CHECK(sandbox.called().empty());
}

TEST_CASE("What NVRTC refuses goes to nvcc, and is not tried with NVRTC again") {
  const NvccSandbox sandbox;
  sandbox->write("kernel.cu", "#include <string>\n__global__ void k(std::string* s) {}\n");
  CHECK(sandbox.run(kLine).status == 0);
  CHECK(sandbox.run(kLine).status == 0);
  CHECK(sandbox.called() ==
        "kernel.cu -cubin -arch=sm_90a -o out.cubin\nkernel.cu -cubin -arch=sm_90a -o out.cubin\n");
  CHECK(std::distance(std::filesystem::directory_iterator(sandbox->home() / "nvcc/refused"), {}) == 1);
}

TEST_CASE("A source that nvcc refuses, too, is not noted") {
  const NvccSandbox sandbox;
  sandbox->write("nvcc", "#!/bin/sh\nexit 2\n");
  sandbox->write("kernel.cu", "wrong\n");
  CHECK(sandbox.run(kLine).status == 2);
  CHECK_FALSE(std::filesystem::exists(sandbox->home() / "nvcc/refused"));
}

TEST_CASE("A line for nvcc is refused with the reason if nvcc cannot be run") {
  const NvccSandbox sandbox;
  std::filesystem::remove(sandbox / "nvcc");
  const ToolResult passed = sandbox.run({"-c", "kernel.cu"});
  CHECK(passed.status == 1);
  CHECK(passed.err.find("the option '-c': it makes host code") != std::string::npos);
  CHECK(passed.err.find("no executable file") != std::string::npos);
  sandbox->write("kernel.cu", "\nwrong\n");
  const ToolResult failed = sandbox.run(kLine);
  CHECK(failed.status == 1);
  CHECK(failed.err.find("kernel.cu(2): error") != std::string::npos);
  CHECK_FALSE(sandbox.has("out.cubin"));
}

TEST_CASE("A missing source is an error") {
  const NvccSandbox sandbox;
  const ToolResult missing = sandbox.run({"none.cu", "-cubin", "-arch=sm_90a"});
  CHECK(missing.status == 1);
  CHECK(missing.err.find("none.cu") != std::string::npos);
}

TEST_CASE("cubinet nvcc as its own nvcc is an error and no loop") {
  const NvccSandbox sandbox;
  std::filesystem::remove(sandbox / "nvcc");
  std::filesystem::create_symlink(CUBINET_NVCC_TOOL, sandbox / "nvcc");
  const ToolResult direct = sandbox.run({"-c", "kernel.cu"});
  CHECK(direct.status == 1);
  CHECK(direct.err.find("itself") != std::string::npos);
  std::filesystem::remove(sandbox / "nvcc");
  sandbox->write("nvcc", std::string("#!/bin/sh\nexec ") + CUBINET_NVCC_TOOL + " \"$@\"\n");
  std::filesystem::permissions(sandbox / "nvcc", std::filesystem::perms::owner_all);
  const ToolResult script = sandbox.run({"-c", "kernel.cu"});
  CHECK(script.status == 1);
  CHECK(script.err.find("is cubinet-nvcc again") != std::string::npos);
}

TEST_CASE("A cubin without unused constants is printed about like any other") {
  const NvccSandbox sandbox;
  sandbox->write("kernel.cu", cubinet::test::many_constants() + "__constant__ int shown = 1;\n" + kKernel);
  std::vector<std::string> line = kLine;
  line.insert(line.end(), {"--resource-usage", "-w"});  // without 1200 warnings
  const ToolResult first = sandbox.run(line);
  CHECK(first.status == 0);
  CHECK(first.err.find("registers") != std::string::npos);
  const std::string cubin = sandbox->read("out.cubin");
  CHECK(cubin.find("shown") != std::string::npos);
  const ToolResult version = sandbox.run({"--version"});
  if (version.out.find("nvJitLink") == std::string::npos) return cubinet::test::skip("there is no nvJitLink");
  CHECK(cubin.find("constant_with_a_long_name") == std::string::npos);
  const ToolResult again = sandbox.run(line, {{"CUBINET_COMPILE", "never"}});
  CHECK(again.status == 0);
  CHECK(again.err == first.err);
}

TEST_CASE("The version has the form of nvcc and states NVRTC and the preamble") {
  const NvccSandbox sandbox;
  const ToolResult version = sandbox.run({"--version"});
  CHECK(version.status == 0);
  CHECK(std::regex_search(version.out,
                          std::regex(R"(Cuda compilation tools, release \d+\.\d+, V\d+\.\d+\.\d+\n)")));
  CHECK(std::regex_search(
      version.out,
      std::regex(
          R"(NVRTC \d+\.\d+, build [0-9a-f]+\+[0-9a-f]+(; nvJitLink \d+\.\d+, build [0-9a-f]+)?; preamble [0-9a-f]{16}\n)")));
  CHECK(std::regex_search(version.out, std::regex(R"(Build cuda_\d+\.\d+\.r\d+\.\d+/\S+\n$)")));
  // Some callers take what is behind the last V.
  CHECK(std::isdigit(static_cast<unsigned char>(version.out.at(version.out.rfind('V') + 1))) != 0);
  CHECK(version.out.find("NVIDIA (R)") == std::string::npos);
}

TEST_CASE("A file of PTX has no zero at its end") {
  const NvccSandbox sandbox;
  const std::vector<std::string> line = {"kernel.cu", "-ptx", "-arch=sm_90a", "-o", "out.ptx"};
  for (const char* compile : {"on_miss", "never"}) {
    CAPTURE(compile);
    CHECK(sandbox.run(line, {{"CUBINET_COMPILE", compile}}).status == 0);
    const std::string ptx = sandbox->read("out.ptx");
    REQUIRE_FALSE(ptx.empty());
    CHECK(ptx.back() == '\n');
    std::filesystem::remove(sandbox / "out.ptx");
  }
}

TEST_CASE("A home that cannot be used is one warning, and the output is written") {
  const NvccSandbox sandbox;
  sandbox->write("home", "a file");
  const ToolResult result = sandbox.run(kLine);
  CHECK(result.status == 0);
  CHECK(sandbox.has("out.cubin"));
  const std::size_t first = result.err.find("cubinet-nvcc: warning: ");
  REQUIRE(first != std::string::npos);
  CHECK(result.err.find("cubinet-nvcc: ", first + 1) == std::string::npos);
}

TEST_CASE("A home that may not be read is one warning, and the output is written") {
  const NvccSandbox sandbox;
  REQUIRE(sandbox.run(kLine).status == 0);  // makes the home, which only its owner may read
  std::filesystem::remove(sandbox / "out.cubin");
  const auto result = sandbox.run_as_nobody(kLine);
  if (!result) {
    test::skip("another user cannot run the executable here");
    return;
  }
  CHECK(result->status == 0);
  CHECK(sandbox.has("out.cubin"));
  const std::size_t first = result->err.find("cubinet-nvcc: warning: ");
  REQUIRE(first != std::string::npos);
  CHECK(result->err.find("cubinet-nvcc: ", first + 1) == std::string::npos);
}

TEST_CASE("An output that is no regular file is for nvcc") {
  const NvccSandbox sandbox;
  CHECK(sandbox.run({"kernel.cu", "-cubin", "-arch=sm_90a", "-o", "/dev/null"}).status == 0);
  CHECK(sandbox.called() == "kernel.cu -cubin -arch=sm_90a -o /dev/null\n");
}

TEST_CASE("Several processes compile a kernel once") {
  const NvccSandbox sandbox;
  // The compiler's log has the time that the compilation took.
  std::vector<std::string> line = kLine;
  line.emplace_back("--ptxas-options=--verbose");
  std::vector<ToolResult> results(4);
  std::vector<std::thread> processes;
  for (ToolResult& result : results)
    processes.emplace_back([&sandbox, &line, &result] { result = sandbox.run(line); });
  for (std::thread& process : processes)
    process.join();
  for (const ToolResult& result : results) {
    CHECK(result.status == 0);
    CHECK(result.err.find("registers") != std::string::npos);
    CHECK(result.err == results.front().err);
  }
}

TEST_CASE("A bundle answers a line where nothing may be compiled") {
  const NvccSandbox sandbox;
  REQUIRE(sandbox.run(kLine).status == 0);
  REQUIRE(
      sandbox->run({"bundle", "create", "-o", sandbox->path("all.bundle"), "--template", "kernel"}).status ==
      0);
  std::filesystem::rename(sandbox->home(), sandbox->path("elsewhere"));
  CHECK(sandbox.run(kLine, {{"CUBINET_COMPILE", "never"}}).status == 1);
  CHECK(sandbox
            .run(kLine, {{"CUBINET_COMPILE", "never"}, {"CUBINET_NVCC_BUNDLES", sandbox->path("all.bundle")}})
            .status == 0);
}

TEST_CASE("Kernel names and argument sizes are those of nvcc") {
  const std::string nvcc = "/usr/local/cuda/bin/nvcc";
  if (::access(nvcc.c_str(), X_OK) != 0) {
    test::skip("there is no " + nvcc);
    return;
  }
  const NvccSandbox sandbox;
  sandbox->write("kernel.cu",
                 "template <class T> __global__ void pair(T* out, const int n, T value) { out[n] = value; }\n"
                 "template __global__ void pair<double>(double*, int, double);\n"
                 "namespace { struct Three { char c[3]; }; }\n"
                 "__global__ void plain(float* out, short a, char b) { *out = a + b; }\n"
                 "static void instantiate() { auto p = reinterpret_cast<void*>(&pair<float>); }\n");
  REQUIRE(sandbox.run(kLine).status == 0);
  std::vector<std::string> line = kLine;
  line.back() = "nvcc.cubin";
  REQUIRE(sandbox.run(line, {{"CUBINET_NVCC", nvcc}, {"NVCC_APPEND_FLAGS", "-keep"}}).status == 0);
  CHECK(sandbox.kernels("out.cubin").size() == 3);
  CHECK(sandbox.kernels("out.cubin") == sandbox.kernels("nvcc.cubin"));
}

}  // namespace
}  // namespace cubinet::nvcc
