// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/password.hpp>

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumPassword = 4096;

// Reads stdin without stdio, because a stdio buffer would keep a copy of the password.
Result<SecretBytes> read_stdin() {
  SecretBytes room{Bytes(kMaximumPassword + 1)};
  std::size_t done = 0;
  while (done < room.view().size()) {
    const ssize_t count = ::read(STDIN_FILENO, room.span().data() + done, room.view().size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io_error("cannot read the password from stdin", errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return SecretBytes(Bytes(room.view().begin(), room.view().begin() + static_cast<std::ptrdiff_t>(done)));
}

}  // namespace

Result<std::optional<SecretBytes>> read_password(FileSystem& files, const std::string& file) {
  if (file.empty()) return std::optional<SecretBytes>();
  SecretBytes content;
  if (file == "-") {
    CUBINET_TRY_ASSIGN(content, read_stdin());
  } else {
    CUBINET_TRY_ASSIGN(Bytes bytes, files.read(file, kMaximumPassword + 1));
    content = SecretBytes(std::move(bytes));
  }
  const std::string_view text = content.text();
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty() || line.size() > kMaximumPassword) {
    return Error{ErrorCode::invalid_argument,
                 file == "-" ? "stdin holds no password" : "'" + file + "' holds no password",
                 "a password is a line of 1 to 4096 bytes"};
  }
  const ByteView bytes = as_bytes(line);
  return std::optional<SecretBytes>(SecretBytes(Bytes(bytes.begin(), bytes.end())));
}

Result<SecretKey> read_secret_key(FileSystem& files, const std::string& file,
                                  const std::string& password_file) {
  CUBINET_TRY_ASSIGN(const auto password, read_password(files, password_file));
  return read_secret_key(files, file, password ? &*password : nullptr);
}

}  // namespace cubinet
