// SPDX-License-Identifier: Apache-2.0
#include "artifact_reader.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/spec/cubin.hpp>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cubinet {
namespace {

// File times have the resolution of the kernel's tick (1 to 10 ms). A file that was changed within
// this time may change again without a new time.
constexpr std::int64_t kClockTickNs = 50'000'000;

Error failed(const char* verb, const std::filesystem::path& path) {
  const int number = errno;
  Error error = io_error(std::string("cannot ") + verb + " '" + path.string() + "'", number);
  if (number == ENOENT || number == ENOTDIR) error.code = ErrorCode::not_found;
  return error;
}

Result<FileFacts> facts_of(const struct stat& info, const std::filesystem::path& path) {
  if (!S_ISREG(info.st_mode)) {
    return Error{ErrorCode::invalid_argument, "'" + path.string() + "' is no regular file"};
  }
  return FileFacts{static_cast<std::uint64_t>(info.st_size), nanoseconds(info.st_mtim),
                   nanoseconds(info.st_ctim), static_cast<std::uint64_t>(info.st_ino)};
}

Result<FileFacts> facts_of(int descriptor, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return failed("inspect", path);
  return facts_of(info, path);
}

bool is_long_ago(const FileFacts& facts) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::max(facts.modified_ns, facts.changed_ns) + kClockTickNs < nanoseconds(now);
}

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

Result<FileFacts> file_facts(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return failed("inspect", path);
  return facts_of(info, path);
}

Result<ArtifactReader::Content> ArtifactReader::read(const std::filesystem::path& path) {
  // O_NONBLOCK keeps a FIFO with a cubin's name from blocking.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) return failed("open", path);
  CUBINET_TRY_ASSIGN(const FileFacts before, facts_of(file.get(), path));
  if (before.size > kMaximumImageBytes) {
    return Error{ErrorCode::io, "'" + path.string() + "' holds " + std::to_string(before.size) +
                                    " bytes, too many to be read"};
  }
  const auto size = static_cast<std::size_t>(before.size);
  if (buffer_.size() < size) buffer_.resize(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(file.get(), buffer_.data() + done, size - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read", path);
    if (got == 0) break;  // The file shrank while it was read. Its digest will differ.
    done += static_cast<std::size_t>(got);
  }
  const bool long_ago = is_long_ago(before);
  CUBINET_TRY_ASSIGN(const FileFacts after, facts_of(file.get(), path));
  return Content{ByteView(buffer_).first(done), before, done == size && long_ago && before == after};
}

}  // namespace cubinet
