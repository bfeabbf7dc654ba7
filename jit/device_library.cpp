// SPDX-License-Identifier: Apache-2.0
#include "device_library.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/sha256_hasher.hpp>
#include <cubinet/spec/cubin_elf.hpp>
#include <cubinet/spec/fatbin.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaximumKept = 256;
constexpr std::uint64_t kMaximumLibraryBytes = std::uint64_t{1} << 30;

struct Ending {
  std::string_view text;
  LinkInputKind kind;
};
constexpr std::array<Ending, 7> kEndings = {{{".a", LinkInputKind::archive},
                                             {".fatbin", LinkInputKind::fatbin},
                                             {".ltoir", LinkInputKind::lto_ir},
                                             {".cubin", LinkInputKind::cubin},
                                             {".ptx", LinkInputKind::ptx},
                                             {".o", LinkInputKind::object},
                                             {".obj", LinkInputKind::object}}};

struct LibraryFile {
  std::string name;
  LinkInputKind kind;
};

LibraryFile file_of(const std::string& library) {
  for (const Ending& ending : kEndings) {
    if (library.size() > ending.text.size() && library.ends_with(ending.text)) return {library, ending.kind};
  }
  return {"lib" + library + ".a", LinkInputKind::archive};
}

Error not_whole(const std::string& reason) {
  return Error{ErrorCode::corruption, reason, "copy or build the library again"};
}

// Parses a number in an archive member's header, which is padded with blanks.
std::optional<std::uint64_t> padded_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || rest.find_first_not_of(' ') != std::string_view::npos) return std::nullopt;
  return number;
}

Result<void> check_archive(std::string_view text) {
  constexpr std::string_view kMagic = "!<arch>\n";
  constexpr std::size_t kHeader = 60;
  if (!text.starts_with(kMagic)) return not_whole("it is no archive");
  text.remove_prefix(kMagic.size());
  while (!text.empty()) {
    if (text.size() < kHeader || text.substr(58, 2) != "`\n") return not_whole("a member has no header");
    const auto size = padded_number(text.substr(48, 10));
    text.remove_prefix(kHeader);
    if (!size || *size > text.size()) return not_whole("it ends within a member");
    const std::string_view member = text.substr(0, static_cast<std::size_t>(*size));
    if (member.starts_with("\177ELF")) {
      if (const auto elf = ElfImage::parse(as_bytes(member)); !elf) return not_whole(elf.error().message);
    }
    // Members begin at even offsets. The last member needs no padding.
    text.remove_prefix(std::min(text.size(), member.size() + member.size() % 2));
  }
  return {};
}

// Checks a fatbinary's structure, because nvJitLink reads beyond the end of damaged ones or ends
// the process. One that contains only LTO IR cannot be checked here.
Result<void> check_fatbin(ByteView content) {
  const auto elements = read_fatbin(content);
  if (!elements && elements.error().code == ErrorCode::invalid_argument) return {};
  if (!elements) return elements.error();
  for (const FatbinElement& element : *elements) {
    if (element.kind != ImageKind::cubin) continue;
    if (const auto cubin = inspect_cubin(element.image); !cubin) return not_whole(cubin.error().message);
  }
  return {};
}

class LibraryReader {
 public:
  LibraryReader(const std::vector<std::string>& folders, const FileProbe& probe)
      : folders_(folders), probe_(probe) {}

  Result<DeviceLibraries> run(const std::vector<std::string>& names) {
    for (const std::string& name : names)
      CUBINET_TRY(add(name));
    Sha256Hasher hasher;
    for (const DeviceLibrary& library : found_.libraries) {
      hasher.field("library", library.name);
      hasher.field("content", as_text(library.content));
    }
    found_.digest = hasher.finish();
    return std::move(found_);
  }

 private:
  Result<void> add(const std::string& name) {
    const LibraryFile wanted = file_of(name);
    std::string places;
    for (const fs::path folder : folders_) {
      const fs::path path = folder / wanted.name;
      const std::int64_t now = probe_.now_ns();
      const FileStamp& stamp = found_.stamps.emplace_back(probe_.stamp(path));
      found_.settled = found_.settled && stamp.settled(now);
      if (stamp.exists) return read(name, wanted.kind, path);
      places += (places.empty() ? "'" : ", '") + folder.string() + "'";
    }
    return Error{
        ErrorCode::unavailable,
        "the device library '" + name + "'" + (wanted.name == name ? "" : " (" + wanted.name + ")") +
            " is in none of " + (places.empty() ? "no folders" : places),
        name == "cudadevrt"
            ? "install the CUDA toolkit, or the wheel nvidia-cuda-runtime beside nvidia-cuda-nvrtc, or "
              "name its folder with `CompileOptions::library_directories`"
            : "name its folder with `CompileOptions::library_directories`"};
  }

  Result<void> read(const std::string& name, LinkInputKind kind, const fs::path& path) {
    auto content = files_->read(path, kMaximumLibraryBytes - bytes_);
    if (!content && content.error().code == ErrorCode::invalid_argument)
      return Error{ErrorCode::unsupported, "device libraries of more than 1 GiB: " + content.error().message};
    if (!content) return content.error();
    bytes_ += content->size();
    if (auto whole = check_link_input(kind, *content); !whole) {
      Error error = std::move(whole).error();
      error.message = "the device library '" + path.string() + "' is damaged: " + error.message;
      return error;
    }
    if (kind == LinkInputKind::ptx) content->push_back(std::byte{0});  // the linker needs a terminated text
    found_.libraries.push_back({name, kind, *std::move(content)});
    return {};
  }

  const std::vector<std::string>& folders_;
  const FileProbe& probe_;
  std::shared_ptr<FileSystem> files_ = posix_file_system();
  DeviceLibraries found_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

bool DeviceLibraries::still_valid(const FileProbe& probe) const {
  return std::all_of(stamps.begin(), stamps.end(),
                     [&](const FileStamp& stamp) { return probe.stamp(stamp.path) == stamp; });
}

Result<DeviceLibraries> find_device_libraries(const std::vector<std::string>& names,
                                              const std::vector<std::string>& folders,
                                              const FileProbe& probe) {
  return LibraryReader(folders, probe).run(names);
}

Result<Sha256Digest> DeviceLibraryCache::digest(const std::vector<std::string>& names,
                                                const std::vector<std::string>& folders) {
  const Key key{names, folders};
  std::shared_ptr<const DeviceLibraries> known;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(key); found != known_.end()) known = found->second;
  }
  if (known != nullptr && known->still_valid()) return known->digest;
  CUBINET_TRY_ASSIGN(DeviceLibraries found, find_device_libraries(names, folders));
  found.libraries = {};
  const auto made = std::make_shared<const DeviceLibraries>(std::move(found));
  if (!made->settled) return made->digest;
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMaximumKept) known_.clear();
  known_.insert_or_assign(key, made);
  return made->digest;
}

Result<void> check_link_input(LinkInputKind kind, ByteView content) {
  if (content.empty()) return not_whole("it is empty");
  if (kind == LinkInputKind::archive) return check_archive(as_text(content));
  if (kind == LinkInputKind::fatbin) return check_fatbin(content);
  if (kind == LinkInputKind::cubin || kind == LinkInputKind::object) {
    if (const auto elf = ElfImage::parse(content); !elf) return not_whole(elf.error().message);
  }
  return {};
}

}  // namespace cubinet
