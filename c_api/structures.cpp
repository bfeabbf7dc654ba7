// SPDX-License-Identifier: Apache-2.0
#include "structures.hpp"

#include <fmt/format.h>

namespace cubinet::c_api {

Result<void> check_structure(const void* structure, std::size_t first, std::size_t known,
                             std::string_view name) {
  CUBINET_TRY(check_pointer(structure, name));
  std::size_t size = 0;
  std::memcpy(&size, structure, sizeof size);
  if (size < first) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("`{}.struct_size` is {}, below the {} bytes of the first version", name, size, first),
        "initialise the structure with its CUBINET_..._INIT macro"};
  }
  // A caller's header that is newer by megabytes does not exist.
  constexpr std::size_t kNewest = std::size_t{1} << 16;
  if (size > kNewest)
    return Error{ErrorCode::invalid_argument, fmt::format("`{}.struct_size` is {}", name, size),
                 "initialise the structure with its CUBINET_..._INIT macro"};
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

Result<void> check_flags(std::uint32_t flags, std::uint32_t known, std::string_view name) {
  if ((flags & ~known) == 0) return {};
  return Error{ErrorCode::invalid_argument,
               fmt::format("`{}` has the unknown bits {:#x}", name, flags & ~known),
               "use the constants of cubinet.h"};
}

Result<void> check_list(const void* elements, std::size_t count, std::string_view name) {
  if (count > kMaximumListElements) {
    return Error{ErrorCode::invalid_argument, fmt::format("`{}` has {} elements", name, count),
                 fmt::format("pass at most {}", kMaximumListElements)};
  }
  return count == 0 ? Result<void>() : check_pointer(elements, name);
}

}  // namespace cubinet::c_api
