// SPDX-License-Identifier: Apache-2.0
#include "preamble.hpp"

#include <cubinet/base/sha256.hpp>

#include <algorithm>
#include <filesystem>

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

std::string_view preamble() {
  return kPreamble;
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
  return sha256(as_bytes(std::string(kPreamble) + std::string(kTmaText))).to_hex();
}

}  // namespace cubinet::nvcc
