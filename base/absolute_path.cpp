// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/absolute_path.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/text.hpp>

namespace cubinet {

Result<std::filesystem::path> absolute_path(const std::filesystem::path& path) {
  if (path.native().find('\0') != std::string::npos)
    return Error{ErrorCode::invalid_argument,
                 "the path '" + printable(path.native(), kQuotedBytes) + "' holds a zero byte"};
  std::error_code failure;
  const std::filesystem::path whole = std::filesystem::absolute(path, failure);
  if (failure) return io_error("cannot read the working directory", failure.value());
  std::filesystem::path absolute;
  for (const std::filesystem::path& part : whole) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      absolute /= part;
      continue;
    }
    const std::filesystem::path real = std::filesystem::weakly_canonical(absolute, failure);
    if (failure) return io_error("cannot follow the links of '" + absolute.string() + "'", failure.value());
    absolute = real.parent_path();
  }
  return absolute;
}

}  // namespace cubinet
