// SPDX-License-Identifier: Apache-2.0
#include "structures.hpp"

#include <fmt/format.h>

namespace cubinet::c_api {

Result<void> check_size(const void* structure, std::size_t first, std::string_view name) {
  // No structure is ever as large. The limit detects a structure that was not initialised.
  constexpr std::size_t kLargest = 4096;
  CUBINET_TRY(check_pointer(structure, name));
  std::size_t size = 0;
  std::memcpy(&size, structure, sizeof size);
  if (size >= first && size <= kLargest) return {};
  return Error{ErrorCode::invalid_argument,
               fmt::format("`{}.struct_size` is {}, and the first version has {} bytes", name, size, first),
               "initialise the structure with its CUBINET_..._INIT macro"};
}

Result<void> check_unknown(const void* structure, std::size_t known, std::string_view name) {
  std::size_t size = 0;
  std::memcpy(&size, structure, sizeof size);
  const auto* bytes = static_cast<const unsigned char*>(structure);
  for (std::size_t i = known; i < size; ++i) {
    if (bytes[i] == 0) continue;
    return Error{
        ErrorCode::unsupported,
        fmt::format("`{}` sets a member at byte {} that this version of the library does not have", name, i),
        "use a newer libcubinet, or leave the member 0"};
  }
  return {};
}

Result<void> check_reserved(std::int64_t value, std::string_view name) {
  if (value == 0) return {};
  return Error{ErrorCode::invalid_argument, fmt::format("`{}` is {}, and is reserved", name, value),
               "initialise the structure with its CUBINET_..._INIT macro"};
}

Result<void> check_flags(std::uint32_t flags, std::uint32_t known, std::string_view name) {
  if ((flags & ~known) == 0) return {};
  return Error{ErrorCode::invalid_argument,
               fmt::format("`{}` has the unknown bits {:#x}", name, flags & ~known),
               "use the constants of cubinet.h"};
}

Result<void> check_list(const void* elements, std::size_t count, std::string_view name, std::size_t limit) {
  if (count > limit) {
    return Error{ErrorCode::invalid_argument, fmt::format("`{}` has {} elements", name, count),
                 fmt::format("pass at most {}", limit)};
  }
  return count == 0 ? Result<void>() : check_pointer(elements, name);
}

}  // namespace cubinet::c_api
