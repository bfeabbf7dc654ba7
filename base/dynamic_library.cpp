// SPDX-License-Identifier: Apache-2.0
#include "library_imports.hpp"

#include <cubinet/base/dynamic_library.hpp>
#include <cubinet/base/elf.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/fork_guard.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <fstream>
#include <link.h>
#include <map>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace cubinet {

namespace {

const link_map* map_of(void* handle) {
  link_map* map = nullptr;
  return ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : nullptr;
}

// Returns the path of the file that the loader chose.
std::filesystem::path path_of(void* handle, const std::string& name) {
  const link_map* map = map_of(handle);
  return map != nullptr && map->l_name != nullptr && *map->l_name != '\0' ? map->l_name : name;
}

struct BuildIdSearch {
  ElfW(Addr) base;
  std::optional<Bytes> found;
};

// Reads the build-id of the library whose base address is searched for. It is called for each
// library of the process and ends the walk at that library.
int read_build_id(dl_phdr_info* library, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<BuildIdSearch*>(data);
  if (library->dlpi_addr != search.base) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    // The loader states the segment's address. NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto* begin = reinterpret_cast<const std::byte*>(library->dlpi_addr + segment.p_vaddr);
    const auto walked = for_each_elf_note(ByteView(begin, segment.p_memsz),
                                          [&](std::string_view owner, std::uint32_t type, ByteView payload) {
                                            if (owner == "GNU" && type == NT_GNU_BUILD_ID)
                                              search.found = Bytes(payload.begin(), payload.end());
                                            return !search.found;
                                          });
    if (walked && search.found) break;  // other segments of notes may have another alignment
  }
  return 1;
}

struct FileComparison {
  ElfW(Addr) base;
  int descriptor;
  std::uint64_t size;
  bool is_same;
};

// Compares a file with the library whose base address is searched for: it must have all segments,
// and the same notes, which include the build-id. It is called for each library of the process and
// ends the walk at that library.
int compare_with_file(dl_phdr_info* library, std::size_t /*size*/, void* data) {
  auto& comparison = *static_cast<FileComparison*>(data);
  if (library->dlpi_addr != comparison.base) return 0;
  comparison.is_same = true;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    const bool is_whole = segment.p_offset + segment.p_filesz <= comparison.size;
    if (!is_whole) comparison.is_same = false;
    if (segment.p_type != PT_NOTE || !is_whole) continue;
    Bytes content(segment.p_filesz);
    // The loader states the segment's address. NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto* loaded = reinterpret_cast<const std::byte*>(library->dlpi_addr + segment.p_vaddr);
    const ssize_t read =
        ::pread(comparison.descriptor, content.data(), content.size(), static_cast<off_t>(segment.p_offset));
    if (read != static_cast<ssize_t>(content.size()) || !std::equal(content.begin(), content.end(), loaded))
      comparison.is_same = false;
  }
  return 1;
}

ForkHazard the_loader;

// Makes the page of a slot writable. Some libraries protect theirs (RELRO); it stays writable.
bool make_writable(const void* slot) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(slot) / page * page;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return ::mprotect(reinterpret_cast<void*>(begin), page, PROT_READ | PROT_WRITE) == 0;
}

// A file of this process without a name. Its pages are reclaimable, unlike those of a memfd.
constexpr const char* kCopyTemplate = "/var/tmp/cubinet-library-XXXXXX";

class NamelessFile {
 public:
  NamelessFile() {
    std::string name = kCopyTemplate;
    descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ >= 0) ::unlink(name.c_str());
  }
  ~NamelessFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;

  // Returns whether the file has the other one's content now. A file that exceeds RLIMIT_FSIZE is
  // not copied, because the write would raise SIGXFSZ.
  bool copy(const std::filesystem::path& file) const {
    const int source = descriptor_ < 0 ? -1 : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (source < 0) return false;
    struct stat status = {};
    struct rlimit limit = {};
    bool done = ::fstat(source, &status) == 0 && ::getrlimit(RLIMIT_FSIZE, &limit) == 0;
    if (done && static_cast<rlim_t>(status.st_size) > limit.rlim_cur) {
      errno = EFBIG;
      done = false;
    }
    constexpr std::size_t kBlock = std::size_t{64} << 20;
    ssize_t copied = done ? 1 : -1;
    while (copied > 0)
      copied = ::sendfile(descriptor_, source, nullptr, kBlock);
    const int error = errno;
    ::close(source);
    errno = error;
    return copied == 0;
  }
  // Returns whether the file has the notes and all segments of a loaded library.
  bool is_file_of(const link_map& library) const {
    struct stat status = {};
    if (::fstat(descriptor_, &status) != 0) return false;
    FileComparison comparison{library.l_addr, descriptor_, static_cast<std::uint64_t>(status.st_size), false};
    ::dl_iterate_phdr(compare_with_file, &comparison);
    return comparison.is_same;
  }
  // Replaces what the dynamic loader would store in a slot by the function. The file must be a copy
  // of the library.
  bool set_import(const link_map& library, const ElfW(Rela) & import, void* function) const {
    const auto entry = reinterpret_cast<std::uintptr_t>(&import.r_info) - library.l_addr;
    const auto entry_offset = file_offset(library, entry);
    const auto slot_offset = file_offset(library, import.r_offset);
    const auto nothing = decltype(import.r_info){};  // R_X86_64_NONE, R_AARCH64_NONE
    return entry_offset && slot_offset && write(*entry_offset, &nothing, sizeof nothing) &&
           write(*slot_offset, &function, sizeof function);
  }
  // Returns a name of the file that no other call returns. The dynamic loader takes a library that
  // it has loaded by the same name for the same file, also after the descriptor was closed.
  std::string path() const {
    static std::atomic<unsigned> count{0};
    std::string path = "/proc/self/fd/";
    for (unsigned i = count++; i != 0; --i)
      path += "./";
    return path + "./" + std::to_string(descriptor_);
  }

 private:
  bool write(std::uint64_t offset, const void* data, std::size_t bytes) const {
    return ::pwrite(descriptor_, data, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }

  int descriptor_ = -1;
};

}  // namespace

Result<DynamicLibrary> DynamicLibrary::open(const std::string& name) {
  const auto stay = the_loader.enter();
  if (!stay) {
    return Error{ErrorCode::unavailable,
                 "cannot open the shared library '" + name +
                     "': another thread was opening one when this process was forked, and the dynamic "
                     "loader's lock stays held",
                 "start workers by exec (spawn)"};
  }
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return Error{ErrorCode::unavailable,
                 "cannot open the shared library '" + name + "'",
                 {},
                 reason == nullptr ? "" : reason};
  }
  return DynamicLibrary(handle, path_of(handle, name));
}

Result<DynamicLibrary> DynamicLibrary::open_copy(const DynamicLibrary& loaded,
                                                 const LibraryImport& replaced) {
  const NamelessFile file;
  if (!file.copy(loaded.path())) {
    return Error{ErrorCode::unavailable, "cannot copy the shared library '" + loaded.path().string() +
                                             "' to /var/tmp: " + std::generic_category().message(errno)};
  }
  const link_map* map = map_of(loaded.handle_);
  // Before it is changed and loaded: imports have other positions in another file, and a part of a
  // file raises SIGBUS.
  if (map == nullptr || !loaded.build_id() || !file.is_file_of(*map)) {
    return Error{ErrorCode::unavailable,
                 "'" + loaded.path().string() + "' is not the file that was loaded any more"};
  }
  if (replaced.function != nullptr) {
    for (const ElfW(Rela) * import : imports_of(*map, replaced.symbol)) {
      if (file.set_import(*map, *import, replaced.function)) continue;
      return Error{ErrorCode::unavailable, "cannot replace the import '" + std::string(replaced.symbol) +
                                               "' in a copy of the shared library '" +
                                               loaded.path().string() + "'"};
    }
  }
  return open(file.path());
}

bool DynamicLibrary::redirect(const char* symbol, void* function) const {
  const link_map* map = map_of(handle_);
  if (map == nullptr) return false;
  bool found = false;
  for (const ElfW(Rela) * import : imports_of(*map, symbol)) {
    // The loader states the address. NOLINTNEXTLINE(performance-no-int-to-ptr)
    auto* const slot = reinterpret_cast<std::atomic<void*>*>(map->l_addr + import->r_offset);
    if (!make_writable(slot)) continue;
    slot->store(function);
    found = true;
  }
  return found;
}

std::optional<DynamicLibrary> DynamicLibrary::find_loaded(const std::string& soname) {
  const auto stay = the_loader.enter();
  if (!stay) return std::nullopt;
  void* handle = ::dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == nullptr) return std::nullopt;
  return DynamicLibrary(handle, path_of(handle, soname));
}

std::optional<Bytes> DynamicLibrary::build_id() const {
  const link_map* map = map_of(handle_);
  if (map == nullptr) return std::nullopt;
  BuildIdSearch search{map->l_addr, std::nullopt};
  ::dl_iterate_phdr(read_build_id, &search);
  return search.found;
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(path_, other.path_);
  return *this;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

void* DynamicLibrary::find(const char* symbol) const {
  return ::dlsym(handle_, symbol);
}

namespace {

namespace fs = std::filesystem;

constexpr int kMaximumIncludeDepth = 8;

// Returns the loader's own search path: LD_LIBRARY_PATH as the process was started with it, then
// the system's folders.
std::vector<fs::path> folders_of_the_loader() {
  std::vector<fs::path> folders;
  void* program = ::dlopen(nullptr, RTLD_NOW);
  if (program == nullptr) return folders;
  Dl_serinfo size{};
  if (::dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0) {
    std::vector<std::max_align_t> buffer(size.dls_size / sizeof(std::max_align_t) + 1);
    auto* information = static_cast<Dl_serinfo*>(static_cast<void*>(buffer.data()));
    *information = size;
    if (::dlinfo(program, RTLD_DI_SERINFO, information) == 0) {
      const Dl_serpath* paths = information->dls_serpath;
      for (unsigned i = 0; i < information->dls_cnt; ++i)
        folders.emplace_back(paths[i].dls_name);
    }
  }
  ::dlclose(program);
  return folders;
}

// Reads a configuration file of the loader. A line is a folder or `include PATTERN`; '#' begins a
// comment. glob() is not used because the one of glibc 2.36 ends the process if memory runs out.
// Patterns may occur in file names only.
void read_loader_configuration(const fs::path& file, int depth, std::vector<fs::path>& folders) {
  constexpr std::string_view kInclude = "include";
  std::ifstream stream(file);
  for (std::string line; depth < kMaximumIncludeDepth && std::getline(stream, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    line = line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    if (line.starts_with(kInclude) && line.find_first_of(" \t") == kInclude.size()) {
      const fs::path pattern =
          file.parent_path() / line.substr(line.find_first_not_of(" \t", kInclude.size()));
      const auto listing = posix_file_system()->list(pattern.parent_path());
      for (const std::string& name : listing ? listing->names : std::vector<std::string>()) {
        if (::fnmatch(pattern.filename().c_str(), name.c_str(), FNM_PERIOD) == 0)
          read_loader_configuration(pattern.parent_path() / name, depth + 1, folders);
      }
    } else if (line.front() == '/') {
      folders.emplace_back(line);
    }
  }
}

}  // namespace

std::vector<fs::path> dynamic_loader_search_path() {
  std::vector<fs::path> folders = folders_of_the_loader();
  std::vector<fs::path> configured;
  read_loader_configuration("/etc/ld.so.conf", 0, configured);
  // The loader consults its cache, which holds the configured folders, before the system's folders.
  const auto system = std::find_if(folders.begin(), folders.end(), [](const fs::path& folder) {
    return folder.string().starts_with("/lib") || folder.string().starts_with("/usr/lib");
  });
  folders.insert(system, configured.begin(), configured.end());
  std::vector<fs::path> unique;
  for (fs::path& folder : folders) {
    if (std::find(unique.begin(), unique.end(), folder) == unique.end()) unique.push_back(std::move(folder));
  }
  return unique;
}

}  // namespace cubinet
