// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/mapped_file.hpp>

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cubinet {
namespace {

Error map_error(const char* verb, const std::filesystem::path& path) {
  const int number = errno;
  Error error = io_error(std::string("cannot ") + verb + " '" + path.string() + "'", number);
  if (number == ENOENT) error.code = ErrorCode::not_found;
  return error;
}

Result<ByteView> map(int fd, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return map_error("inspect", path);
  if (!S_ISREG(info.st_mode)) return Error{ErrorCode::io, "'" + path.string() + "' is no regular file"};
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return ByteView();  // mmap rejects a length of 0
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) return map_error("map", path);
  return ByteView(static_cast<const std::byte*>(address), size);
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return map_error("open", path);
  auto content = map(fd, path);
  ::close(fd);  // the mapping keeps the file open
  if (!content) return std::move(content).error();
  return MappedFile(*content);
}

MappedFile::MappedFile(MappedFile&& other) noexcept : content_(std::exchange(other.content_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(content_, other.content_);
  return *this;
}

MappedFile::~MappedFile() {
  // munmap takes the non-const address that mmap returned.
  if (!content_.empty()) ::munmap(const_cast<std::byte*>(content_.data()), content_.size());
}

}  // namespace cubinet
