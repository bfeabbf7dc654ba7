// SPDX-License-Identifier: Apache-2.0
#include "preamble.hpp"

#include <cubinet/base/sha256.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace cubinet::nvcc {
namespace {

// The functions are templates, so that a header of the toolkit may define them, too: a call prefers
// the function that is no template. Headers of CCCL define INFINITY and NAN again, which would be
// warning 47.
constexpr std::string_view kPreamble = R"(#pragma once
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
#define offsetof(type, member) ((size_t)__INTADDR__(&(((type*)0)->member)))
#pragma nv_diag_suppress 47
#define INFINITY (__builtin_bit_cast(float, 0x7f800000))
#define NAN (__builtin_bit_cast(float, 0x7fffffff))
template <class = void>
static __device__ __forceinline__ void cudaTriggerProgrammaticLaunchCompletion() {
  asm volatile("griddepcontrol.launch_dependents;" :::);
}
template <class = void>
static __device__ __forceinline__ void cudaGridDependencySynchronize() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
)";

// Macros of the numerics that NVRTC defines, the first even without its flag, and nvcc does not. A
// source that tests them would get other code.
constexpr std::array<std::string_view, 4> kNvrtcMacros = {"__USE_FAST_MATH__", "__CUDA_FTZ",
                                                          "__CUDA_PREC_DIV", "__CUDA_PREC_SQRT"};

bool defines(const std::vector<std::string>& flags, std::string_view macro) {
  return std::any_of(flags.begin(), flags.end(), [&](std::string_view flag) {
    return flag.starts_with("-D") && flag.substr(2, flag.find('=') - 2) == macro;
  });
}

// CuTe's descriptors of TMA are CUtensorMap under nvcc and a structure of its own under NVRTC. They
// are kernel parameters, so names and offsets would differ. The only alignas in this header begin
// these structures: `using TmaDescriptor = struct alignas(64) { char bytes[128]; };`. The headers
// that it includes are read before, with their own alignas.
constexpr const char* kTmaHeader = "cute/arch/copy_sm90_desc.hpp";
constexpr std::string_view kTmaText = R"(#pragma once
#include <cutlass/numeric_types.h>
#include <cute/config.hpp>
#include <cute/arch/util.hpp>
#if __has_include(<cute/arch/config.hpp>)
#include <cute/arch/config.hpp>
#endif
#include <cute/arch/copy.hpp>
#include <cute/arch/copy_sm90.hpp>
#include <cute/container/alignment.hpp>
#include <cute/container/bit_field.hpp>
#include <cute/container/array.hpp>
#include <cute/numeric/numeric_types.hpp>
#if __has_include(<cuda.h>)
#include <cuda.h>
#define CUBINET_JOIN_WORDS(a, b) a##b
#define CUBINET_JOIN(a, b) CUBINET_JOIN_WORDS(a, b)
#define alignas(bytes) ::CUtensorMap_st; struct CUBINET_JOIN(CubinetUnused, __LINE__)
#endif
#include <cute/arch/../arch/copy_sm90_desc.hpp>
#undef alignas
)";

}  // namespace

std::string preamble(const std::vector<std::string>& flags) {
  std::string text(kPreamble);
  for (const std::string_view macro : kNvrtcMacros) {
    if (!defines(flags, macro)) text += "#undef " + std::string(macro) + "\n";
  }
  return text;
}

std::map<std::string, std::string> adapted_headers(const std::vector<std::string>& folders) {
  std::error_code unknown;
  const bool has_cute = std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    return std::filesystem::is_regular_file(std::filesystem::path(folder) / kTmaHeader, unknown);
  });
  if (!has_cute) return {};
  return {{kTmaHeader, std::string(kTmaText)}};
}

std::string preamble_digest() {
  return sha256(as_bytes(preamble({}) + std::string(kTmaText))).to_hex();
}

}  // namespace cubinet::nvcc
