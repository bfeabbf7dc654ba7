// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/session/output_file.hpp>

#include <cerrno>
#include <system_error>
#include <unistd.h>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

// The length of the suffix that temporary_path_beside() adds to a name: dots, three 32-bit numbers
// and "tmp".
constexpr std::size_t kTemporaryNameBytes = 38;

Error refused_output(const std::string& name, const std::string& reason, std::string remedy = {}) {
  return Error{ErrorCode::invalid_argument, "cannot write '" + name + "': " + reason, std::move(remedy)};
}

// Returns the path with the links of its folders resolved.
Result<fs::path> real_path(const std::string& name) {
  std::error_code failure;
  const fs::path path = fs::absolute(name, failure);
  const fs::path folder = failure ? fs::path() : fs::weakly_canonical(path.parent_path(), failure);
  if (failure.value() == ENAMETOOLONG)
    return refused_output(name, "the name is too long", "choose a shorter one");
  if (failure.value() == ELOOP)
    return refused_output(name, "its symbolic links have no end", "name another file");
  if (failure) return io_error("cannot write '" + name + "'", failure.value());
  return (folder / path.filename()).lexically_normal();
}

bool same_file(const FileStatus& a, const FileStatus& b) {
  return a.device == b.device && a.inode == b.inode;
}

Result<void> check_kept(FileSystem& files, const std::string& name, const fs::path& path,
                        const std::optional<FileStatus>& status, const ProtectedFiles& keep) {
  for (const std::string& input : keep.inputs) {
    std::error_code unknown;
    const fs::path real = fs::canonical(input, unknown);
    if (unknown || !status) continue;
    CUBINET_TRY_ASSIGN(const auto input_status, files.status(real));
    if (input_status && same_file(*input_status, *status))
      return refused_output(name, "it is '" + input + "', which is read", "name another file");
  }
  for (const fs::path& home : keep.homes) {
    CUBINET_TRY_ASSIGN(const bool in_home, lies_in(files, path, home));
    if (in_home)
      return refused_output(name, "it is in the home '" + home.string() + "'", "name a file outside it");
  }
  return {};
}

}  // namespace

Result<bool> lies_in(FileSystem& files, const fs::path& path, const fs::path& folder) {
  std::error_code unknown;
  const fs::path real = fs::canonical(folder, unknown);
  if (unknown) return false;  // the folder does not exist
  CUBINET_TRY_ASSIGN(const auto wanted, files.status(real));
  for (fs::path parent = path.parent_path(); wanted; parent = parent.parent_path()) {
    CUBINET_TRY_ASSIGN(const auto status, files.status(parent));
    if (status && same_file(*status, *wanted)) return true;
    if (parent == parent.parent_path()) break;
  }
  return false;
}

Result<fs::path> check_output_file(FileSystem& files, const std::string& name, const ProtectedFiles& keep) {
  if (name.empty()) return Error{ErrorCode::invalid_argument, "the name of the output file is empty"};
  CUBINET_TRY_ASSIGN(const fs::path path, real_path(name));
  if (!path.has_filename()) return refused_output(name, "it is a folder", "name a file in it");
  const fs::path folder = path.parent_path();
  CUBINET_TRY_ASSIGN(const auto folder_status, files.status(folder));
  if (!folder_status || folder_status->type != FileStatus::Type::directory)
    return refused_output(name, "there is no folder '" + folder.string() + "'", "create the folder first");
  const long longest = ::pathconf(folder.c_str(), _PC_NAME_MAX);
  if (longest > 0 &&
      path.filename().native().size() + kTemporaryNameBytes > static_cast<std::size_t>(longest))
    return refused_output(name, "the name is too long", "choose a shorter one");
  CUBINET_TRY_ASSIGN(const auto status, files.status(path));
  if (status && status->type == FileStatus::Type::directory)
    return refused_output(name, "it is a folder", "name a file in it");
  if (status && status->type == FileStatus::Type::symlink)
    return refused_output(name, "it is a symbolic link", "name the file that it leads to, or remove it");
  // Renaming over /dev/null would replace the device for everybody.
  if (status && status->type != FileStatus::Type::regular)
    return refused_output(name, "it is not a regular file");
  CUBINET_TRY(check_kept(files, name, path, status, keep));
  if (auto writable = files.check_writable(folder); !writable) {
    Error error = std::move(writable).error();
    error.remedy = "name a file in another folder";
    return error;
  }
  return path;
}

}  // namespace cubinet
