// SPDX-License-Identifier: Apache-2.0
#include "output_file.hpp"

#include <cerrno>
#include <system_error>

namespace cubinet::cli {

Result<std::filesystem::path> check_output_file(FileSystem& files, const std::string& name) {
  namespace fs = std::filesystem;
  if (name.empty()) return Error{ErrorCode::invalid_argument, "the name of the output file is empty"};
  std::error_code failure;
  fs::path path = fs::weakly_canonical(name, failure);
  if (failure) return io_error("cannot write '" + name + "'", failure.value());
  if (path.is_relative()) path = fs::absolute(path, failure);
  if (!path.has_filename())
    return Error{ErrorCode::invalid_argument, "'" + name + "' names a folder, not a file"};
  CUBINET_TRY_ASSIGN(const auto status, files.status(path));
  if (status && status->type == FileStatus::Type::directory) {
    return Error{ErrorCode::invalid_argument, "'" + name + "' is a folder", "name a file in it"};
  }
  if (status && status->type != FileStatus::Type::regular) {
    // Renaming over /dev/null would replace the device for everybody.
    return Error{ErrorCode::invalid_argument, "'" + name + "' is not a regular file"};
  }
  const fs::path folder = path.parent_path();
  CUBINET_TRY_ASSIGN(const auto folder_status, files.status(folder));
  if (!folder_status || folder_status->type != FileStatus::Type::directory) {
    return Error{ErrorCode::invalid_argument,
                 "cannot write '" + name + "': there is no folder '" + folder.string() + "'",
                 "create the folder first"};
  }
  if (!files.writable(folder))
    return io_error("cannot write '" + name + "'", EACCES, "name a file in another folder");
  return path;
}

}  // namespace cubinet::cli
