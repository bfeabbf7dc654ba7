// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace cubinet::c_api {

// The size limit of a string argument. Sources and images are below it.
inline constexpr std::size_t kMaximumTextBytes = std::size_t{256} << 20;
// The limit of a list argument. It detects a wrong count before the list is read.
inline constexpr std::size_t kMaximumListElements = 65536;

// The size of each structure in the first version of the header. A structure that a caller passes
// is never smaller. Because members are only appended, the current size equals it until one is.
template <class Structure>
inline constexpr std::size_t kFirstSize = sizeof(Structure);

// Returns invalid_argument for a size below the first version's, and unsupported if a byte that
// this library does not know is not 0.
Result<void> check_structure(const void* structure, std::size_t first, std::size_t known,
                             std::string_view name);

// Returns the caller's structure. Members that the caller's version lacks have the values of
// `defaults`.
template <class Structure>
Result<Structure> read_structure(const Structure* given, const Structure& defaults, std::string_view name) {
  static_assert(std::is_trivially_copyable_v<Structure> && offsetof(Structure, struct_size) == 0);
  CUBINET_TRY(check_structure(given, kFirstSize<Structure>, sizeof(Structure), name));
  Structure structure = defaults;
  std::memcpy(&structure, given, std::min(given->struct_size, sizeof(Structure)));
  structure.struct_size = sizeof(Structure);
  return structure;
}

// Writes the members that the caller's version has. Leaves the caller's struct_size as it is.
template <class Structure>
Result<void> write_structure(Structure facts, Structure* target, std::string_view name) {
  static_assert(std::is_trivially_copyable_v<Structure> && offsetof(Structure, struct_size) == 0);
  CUBINET_TRY(check_structure(target, kFirstSize<Structure>, sizeof(Structure), name));
  facts.struct_size = target->struct_size;
  std::memcpy(target, &facts, std::min(target->struct_size, sizeof(Structure)));
  return {};
}

// Returns invalid_argument for bits that the header does not define.
Result<void> check_flags(std::uint32_t flags, std::uint32_t known, std::string_view name);

// Returns invalid_argument for a list that is too long, or NULL and not empty.
Result<void> check_list(const void* elements, std::size_t count, std::string_view name);

}  // namespace cubinet::c_api
