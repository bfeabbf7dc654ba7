// SPDX-License-Identifier: Apache-2.0
// Lines as programs wrote them, and what they got. The folders of the programs are left out.
#include "nvcc_sandbox.hpp"
#include "support/skip.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <unistd.h>

namespace cubinet::nvcc {
namespace {

using test::NvccSandbox;

struct LoggedLine {
  const char* words;
  const char* source;  // the file that the program had written
  const char* product;
  const char* passed;  // the reason; null: answered without nvcc
};

// sgl-deep-gemm 0.2.5, which runs its lines in the folder of the source.
constexpr LoggedLine kDeepJit = {
    "FOLDER/kernel.cu --cubin --output-file FOLDER/kernel.cubin --gpu-architecture=sm_90a -O3 "
    "--compiler-options=-O3 --ptxas-options=--register-usage-level=10 -std=c++20 --compiler-options=-fPIC "
    "--compiler-options=-fconcepts --expt-relaxed-constexpr --expt-extended-lambda "
    "--diag-suppress=39,161,174,177,186,940 --compiler-options=-Wno-deprecated-declarations,-Wno-abi "
    "--include-path FOLDER/include",
    "kernel.cu", "kernel.cubin", nullptr};

// CuPy 14.2.0: compile_using_nvcc() to a cubin and to PTX, _preprocess(), and the two lines of a
// separate compilation.
constexpr LoggedLine kCuPy[] = {
    {"-gencode=arch=compute_90,code=sm_90 --cubin -std=c++17 -Dabc=1 FOLDER/k.cu", "k.cu", "k.cubin",
     nullptr},
    {"-gencode=arch=compute_90,code=sm_90 --ptx -std=c++17 -Dabc=1 FOLDER/k.cu", "k.cu", "k.ptx", nullptr},
    {"-gencode=arch=compute_90,code=sm_90 --ptx -o preprocess.ptx FOLDER/preprocess.cu", "preprocess.cu",
     "preprocess.ptx", nullptr},
    {"-gencode=arch=compute_90,code=sm_90 -std=c++17 -dc -o FOLDER/k.o FOLDER/k.cu", "k.cu", "k.o",
     "the option '-dc': the code is to be linked"},
    {"-gencode=arch=compute_90,code=sm_90 --cubin -std=c++17 --device-link FOLDER/k.o -o FOLDER/k.cubin",
     "k.o", "k.cubin", "the option '--device-link': the code is to be linked"},
};

// torch.utils.cpp_extension.load() of PyTorch 2.15.
constexpr LoggedLine kPyTorch = {
    "-MD -MF m.cuda.o.d -DTORCH_EXTENSION_NAME=x -DTORCH_API_INCLUDE_EXTENSION_H -isystem "
    "FOLDER/torch/include "
    "-isystem FOLDER/torch/include/torch/csrc/api/include -isystem FOLDER/include "
    "-D__CUDA_NO_HALF_OPERATORS__ -D__CUDA_NO_HALF_CONVERSIONS__ -D__CUDA_NO_BFLOAT16_CONVERSIONS__ "
    "-D__CUDA_NO_HALF2_OPERATORS__ --expt-relaxed-constexpr -gencode=arch=compute_90,code=sm_90 "
    "--compiler-options -fPIC -O3 -std=c++20 -c FOLDER/m.cu -o m.cuda.o",
    "m.cu", "m.cuda.o", "the option '-MD': it writes further files"};

std::vector<LoggedLine> all_lines() {
  std::vector<LoggedLine> lines = {kDeepJit};
  lines.insert(lines.end(), std::begin(kCuPy), std::end(kCuPy));
  lines.push_back(kPyTorch);
  return lines;
}

std::string in_folder(const LoggedLine& line, const NvccSandbox& sandbox) {
  std::string words = line.words;
  for (std::size_t at = words.find("FOLDER"); at != std::string::npos; at = words.find("FOLDER", at))
    words.replace(at, 6, sandbox->path("."));
  return words;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

constexpr const char* kLoggedSource =
    "extern \"C\" __global__ void k(float* x, short n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }\n";

// Writes the source of the line. CuPy's preprocess.cu is empty.
void prepare(const NvccSandbox& sandbox, const LoggedLine& line) {
  sandbox->write(line.source, std::string_view(line.source) == "preprocess.cu" ? "" : kLoggedSource);
}

TEST_CASE("Lines of three build logs are answered, or go to nvcc with the reason") {
  for (const LoggedLine& line : all_lines()) {
    CAPTURE(line.words);
    const NvccSandbox sandbox;
    prepare(sandbox, line);
    const std::string words = in_folder(line, sandbox);
    CHECK(sandbox.run(words_of(words)).status == 0);
    CHECK(sandbox.called() == (line.passed == nullptr ? "" : words + "\n"));
    CHECK(sandbox.has(line.product) == (line.passed == nullptr));
    CHECK(sandbox.run({"--cubinet-passed"}).out ==
          (line.passed == nullptr ? "" : "1  " + std::string(line.passed) + "\n"));
  }
}

TEST_CASE("The answers to lines of build logs have the kernels of nvcc") {
  const std::string nvcc = "/usr/local/cuda/bin/nvcc";
  if (::access(nvcc.c_str(), X_OK) != 0) {
    test::skip("there is no " + nvcc);
    return;
  }
  for (const LoggedLine& line : {kDeepJit, kCuPy[0], kCuPy[1]}) {
    CAPTURE(line.words);
    const NvccSandbox sandbox;
    prepare(sandbox, line);
    const std::vector<std::string> words = words_of(in_folder(line, sandbox));
    REQUIRE(sandbox.run(words).status == 0);
    const auto answered = sandbox.kernels(line.product);
    CHECK(answered.size() == 1);
    REQUIRE(sandbox.run(words, {{"CUBINET_NVCC", nvcc}, {"NVCC_APPEND_FLAGS", "-keep"}}).status == 0);
    CHECK(sandbox.kernels(line.product) == answered);
  }
}

TEST_CASE("Passed lines of build logs give what nvcc gives") {
  const std::string nvcc = "/usr/local/cuda/bin/nvcc";
  if (::access(nvcc.c_str(), X_OK) != 0) {
    test::skip("there is no " + nvcc);
    return;
  }
  const NvccSandbox sandbox;
  for (const LoggedLine& line : {kPyTorch, kCuPy[3], kCuPy[4]}) {
    CAPTURE(line.words);
    if (!sandbox.has(line.source)) prepare(sandbox, line);
    CHECK(sandbox.run(words_of(in_folder(line, sandbox)), {{"CUBINET_NVCC", nvcc}}).status == 0);
    CHECK(sandbox.has(line.product));
  }
  CHECK(sandbox->read("m.cuda.o.d").find("m.cu") != std::string::npos);
  CHECK(sandbox.kernels("k.cubin").size() == 1);
}

}  // namespace
}  // namespace cubinet::nvcc
