// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/c_api/call.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace cubinet::c_api {

// The size limit of a string argument. Sources and images are below it.
inline constexpr std::size_t kMaximumTextBytes = std::size_t{256} << 20;
// The limit of a list argument. It detects a wrong count before the list is read.
inline constexpr std::size_t kMaximumListElements = 65536;

// The size of each structure in the version of the header that introduced it. A structure that a
// caller passes is never smaller. DO NOT CHANGE: members are only appended.
template <class Structure>
inline constexpr std::size_t kFirstSize = 0;
template <>
inline constexpr std::size_t kFirstSize<cubinet_error_info> = 88;
template <>
inline constexpr std::size_t kFirstSize<cubinet_log_callback> = 32;
template <>
inline constexpr std::size_t kFirstSize<cubinet_range_callback> = 40;
template <>
inline constexpr std::size_t kFirstSize<cubinet_counters> = 88;
template <>
inline constexpr std::size_t kFirstSize<cubinet_memory> = 56;
template <>
inline constexpr std::size_t kFirstSize<cubinet_value> = 72;
template <>
inline constexpr std::size_t kFirstSize<cubinet_source> = 120;
template <>
inline constexpr std::size_t kFirstSize<cubinet_function_info> = 120;
template <>
inline constexpr std::size_t kFirstSize<cubinet_launch_config> = 64;
template <>
inline constexpr std::size_t kFirstSize<cubinet_attention_problem> = 136;
template <>
inline constexpr std::size_t kFirstSize<cubinet_plan_options> = 40;
template <>
inline constexpr std::size_t kFirstSize<cubinet_attention_tensors> = 1064;
template <>
inline constexpr std::size_t kFirstSize<cubinet_attention_info> = 72;
template <>
inline constexpr std::size_t kFirstSize<cubinet_merge_problem> = 32;
template <>
inline constexpr std::size_t kFirstSize<cubinet_merge_tensors> = 296;
template <>
inline constexpr std::size_t kFirstSize<cubinet_prebuild_options> = 160;
template <>
inline constexpr std::size_t kFirstSize<cubinet_prepare_options> = 64;
template <>
inline constexpr std::size_t kFirstSize<cubinet_freeze_options> = 32;

// Returns invalid_argument for no structure and for a size below the first version's.
Result<void> check_size(const void* structure, std::size_t first, std::string_view name);
// Returns unsupported if a byte from `known` on, which this library does not know, is not 0.
// REQUIRES: check_size() succeeded.
Result<void> check_unknown(const void* structure, std::size_t known, std::string_view name);

// Returns the caller's structure. Members that the caller's version lacks have the values of
// `defaults`.
template <class Structure>
Result<Structure> read_structure(const Structure* given, const Structure& defaults, std::string_view name) {
  static_assert(std::is_trivially_copyable_v<Structure> && offsetof(Structure, struct_size) == 0);
  static_assert(kFirstSize<Structure> != 0 && sizeof(Structure) >= kFirstSize<Structure>);
  CUBINET_TRY(check_size(given, kFirstSize<Structure>, name));
  CUBINET_TRY(check_unknown(given, sizeof(Structure), name));
  Structure structure = defaults;
  std::memcpy(&structure, given, std::min(given->struct_size, sizeof(Structure)));
  structure.struct_size = sizeof(Structure);
  return structure;
}

// Writes the members that the caller's version has, and 0 into those that this library does not
// know. Leaves the caller's struct_size as it is.
template <class Structure>
Result<void> write_structure(Structure facts, Structure* target, std::string_view name) {
  static_assert(std::is_trivially_copyable_v<Structure> && offsetof(Structure, struct_size) == 0);
  static_assert(kFirstSize<Structure> != 0 && sizeof(Structure) >= kFirstSize<Structure>);
  CUBINET_TRY(check_size(target, kFirstSize<Structure>, name));
  const std::size_t size = target->struct_size;
  facts.struct_size = size;
  std::memset(target, 0, size);
  std::memcpy(target, &facts, std::min(size, sizeof(Structure)));
  return {};
}

// Returns invalid_argument for a reserved member that is not 0.
Result<void> check_reserved(std::int64_t value, std::string_view name);
// Returns invalid_argument for bits that the header does not define.
Result<void> check_flags(std::uint32_t flags, std::uint32_t known, std::string_view name);

// Returns invalid_argument for a list that is too long, or NULL and not empty.
Result<void> check_list(const void* elements, std::size_t count, std::string_view name,
                        std::size_t limit = kMaximumListElements);

}  // namespace cubinet::c_api
