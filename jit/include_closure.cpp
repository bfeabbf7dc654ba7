// SPDX-License-Identifier: Apache-2.0
#include "include_closure.hpp"

#include "include_scanner.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/sha256_hasher.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <sys/stat.h>
#include <tuple>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaximumHeaders = 10000;
constexpr std::uint64_t kMaximumBytes = std::uint64_t{256} << 20;

constexpr std::int64_t kSecond = 1'000'000'000;
// The tick of the kernel's clock is 1 to 10 ms.
constexpr std::int64_t kSafeDistance = 50'000'000;
// File systems that keep whole seconds, or every other one (FAT).
constexpr std::int64_t kSafeDistanceOfSeconds = 2 * kSecond + kSafeDistance;

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

class ClosureBuilder {
 public:
  ClosureBuilder(const std::vector<std::string>& directories, const FileProbe& probe)
      : directories_(directories), probe_(probe) {}

  Result<IncludeClosure> run(const KernelTemplate& kernel_template) {
    const IncludeScan scan = scan_includes(kernel_template.source());
    if (!scan.computed.empty()) {
      return Error{ErrorCode::invalid_argument,
                   "the template '" + kernel_template.name() + "' has '" + scan.computed.front() +
                       "', whose header cannot be told before it is compiled",
                   "write the header's name there"};
    }
    hasher_.field("source", kernel_template.source());
    CUBINET_TRY(follow(scan, {}));
    while (!pending_.empty()) {
      const Pending next = std::move(pending_.front());
      pending_.pop_front();
      const IncludeScan inner = scan_includes(next.text);
      for (const std::string& asked : inner.computed)
        hasher_.field("computed", asked);
      CUBINET_TRY(follow(inner, next.folder));
    }
    closure_.digest = hasher_.finish();
    return std::move(closure_);
  }

 private:
  struct Pending {
    std::string text;
    fs::path folder;  // where the file lies; empty for an embedded one
  };

  Result<void> follow(const IncludeScan& scan, const fs::path& folder) {
    for (const IncludeDirective& directive : scan.directives) {
      // The meaning of a quoted name depends on the folder of the file that includes it.
      const fs::path context = directive.quoted ? folder : fs::path();
      if (!seen_.emplace(directive.name, directive.quoted, context).second) continue;
      hasher_.field("include", directive.name);
      CUBINET_TRY(resolve(directive.name, context));
      // The generated header includes the element types if there is a dtype parameter.
      if (directive.name == kParametersHeaderName) CUBINET_TRY(resolve("cubinet/types.cuh", {}));
    }
    return {};
  }

  // Takes in every file that the name may mean, whichever the compiler prefers.
  Result<void> resolve(const std::string& name, const fs::path& folder) {
    const auto& headers = embedded_headers();
    if (const auto found = headers.find(name); found != headers.end()) {
      hasher_.field("embedded", found->second);
      if (embedded_seen_.insert(name).second) {
        closure_.embedded.push_back(name);
        CUBINET_TRY(enqueue(found->second, {}));
      }
    }
    if (fs::path(name).is_absolute()) return file(name);
    if (!folder.empty()) CUBINET_TRY(file(folder / name));
    for (const fs::path directory : directories_)
      CUBINET_TRY(file(directory / name));
    return {};
  }

  Result<void> file(const fs::path& path) {
    auto known = contents_.find(path.string());
    if (known == contents_.end()) {
      const std::int64_t now = probe_.now_ns();
      closure_.stamps.push_back(probe_.stamp(path));
      closure_.settled = closure_.settled && closure_.stamps.back().settled(now);
      std::string digest;
      if (closure_.stamps.back().exists) {
        CUBINET_TRY_ASSIGN(const Bytes content, files_->read(path, kMaximumBytes));
        digest = sha256(content).to_hex();
        CUBINET_TRY(enqueue(std::string(as_text(content)), path.parent_path()));
      }
      known = contents_.emplace(path.string(), std::move(digest)).first;
    }
    hasher_.field(known->second.empty() ? "absent" : "file", known->second);
    return {};
  }

  Result<void> enqueue(std::string text, fs::path folder) {
    bytes_ += text.size();
    if (++headers_ > kMaximumHeaders || bytes_ > kMaximumBytes) {
      return Error{ErrorCode::unsupported,
                   "a template reaches more than 10000 headers, or more than 256 MiB of them"};
    }
    pending_.push_back({std::move(text), std::move(folder)});
    return {};
  }

  const std::vector<std::string>& directories_;
  const FileProbe& probe_;
  std::shared_ptr<FileSystem> files_ = posix_file_system();
  Sha256Hasher hasher_;
  IncludeClosure closure_;
  std::deque<Pending> pending_;
  std::set<std::tuple<std::string, bool, fs::path>> seen_;
  std::set<std::string, std::less<>> embedded_seen_;
  std::map<std::string, std::string> contents_;  // path to digest; empty: there is no such file
  std::size_t headers_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

FileStamp FileStamp::take(fs::path path) {
  FileStamp stamp;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    stamp.exists = true;
    stamp.device = info.st_dev;
    stamp.inode = info.st_ino;
    stamp.size = static_cast<std::uint64_t>(info.st_size);
    stamp.modified_ns = nanoseconds(info.st_mtim);
    stamp.changed_ns = nanoseconds(info.st_ctim);
  }
  stamp.path = std::move(path);
  return stamp;
}

bool FileStamp::settled(std::int64_t now_ns) const {
  if (!exists) return true;
  const std::int64_t newest = std::max(modified_ns, changed_ns);
  return now_ns - newest > (newest % kSecond == 0 ? kSafeDistanceOfSeconds : kSafeDistance);
}

std::int64_t FileProbe::wall_clock_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

bool IncludeClosure::still_valid(const FileProbe& probe) const {
  return std::all_of(stamps.begin(), stamps.end(),
                     [&](const FileStamp& stamp) { return probe.stamp(stamp.path) == stamp; });
}

Result<IncludeClosure> close_over_includes(const KernelTemplate& kernel_template,
                                           const std::vector<std::string>& include_directories,
                                           const FileProbe& probe) {
  return ClosureBuilder(include_directories, probe).run(kernel_template);
}

}  // namespace cubinet
