// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_table/kernel_enums.hpp>

#include <array>
#include <cstddef>

namespace cubinet {
namespace {

template <std::size_t count>
std::string_view name_of(const std::array<std::string_view, count>& names, std::uint8_t value) {
  return value < count ? names[value] : "unknown";
}

template <class Enum>
std::uint8_t number(Enum value) {
  return static_cast<std::uint8_t>(value);
}

constexpr std::array<std::string_view, 4> kLayouts = {"separate_qkv", "packed_qkv", "paged_kv",
                                                      "contiguous_kv"};
constexpr std::array<std::string_view, 4> kMasks = {"dense", "causal", "sliding_or_chunked_causal", "custom"};
constexpr std::array<std::string_view, 5> kTypes = {"context", "generation", "swaps", "keeps",
                                                    "spec_decoding"};
constexpr std::array<std::string_view, 2> kSchedulers = {"static", "persistent"};
constexpr std::array<std::string_view, 4> kModes = {"disabled", "gmem", "gmem_separate", "cga"};
constexpr std::array<std::string_view, 3> kSparse = {"none", "static_token", "dynamic_token"};
constexpr std::array<std::string_view, 3> kTransforms = {"full", "k_only", "separate_kv"};

}  // namespace

std::string_view to_string(QkvLayout value) {
  return name_of(kLayouts, number(value));
}
std::string_view to_string(AttentionMask value) {
  return name_of(kMasks, number(value));
}
std::string_view to_string(KernelType value) {
  return name_of(kTypes, number(value));
}
std::string_view to_string(TileScheduler value) {
  return name_of(kSchedulers, number(value));
}
std::string_view to_string(MultiCtasKvMode value) {
  return name_of(kModes, number(value));
}
std::string_view to_string(SparseAttention value) {
  return name_of(kSparse, number(value));
}
std::string_view to_string(KvTransform value) {
  return name_of(kTransforms, number(value));
}

}  // namespace cubinet
