// SPDX-License-Identifier: Apache-2.0
#include "support/temp_dir.hpp"

#include <cstdlib>
#include <string>
#include <system_error>

namespace cubinet::test {

namespace fs = std::filesystem;

TempDir::TempDir() {
  std::string pattern = (fs::temp_directory_path() / "cubinet-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "mkdtemp " + pattern);
  }
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::permissions(path_, fs::perms::owner_all, ignored);
  for (fs::recursive_directory_iterator entry(path_, fs::directory_options::skip_permission_denied, ignored),
       end;
       entry != end; entry.increment(ignored)) {
    if (entry->symlink_status(ignored).type() == fs::file_type::directory) {
      fs::permissions(entry->path(), fs::perms::owner_all, ignored);
    }
  }
  fs::remove_all(path_, ignored);
}

}  // namespace cubinet::test
