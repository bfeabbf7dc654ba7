// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// A function that libraries import. `function` must have the same type and live as long as the
// process.
struct LibraryImport {
  const char* symbol = "";
  void* function = nullptr;
};

// A shared library that is opened at run time. Only this class calls dlopen. Owns the handle;
// movable. Libraries that register exit handlers (the CUDA driver, NVRTC) must not be closed, so
// they are opened with RTLD_NODELETE.
class DynamicLibrary {
 public:
  // Opens a library. `name` is a path, or a soname that the dynamic loader searches for. Returns
  // unavailable if it cannot be opened, with the loader's message in `detail`.
  static Result<DynamicLibrary> open(const std::string& name);
  // Loads the file of a loaded library once more, with its own state, from a private copy in
  // /var/tmp that no name refers to. The copy takes the file's size on that disk as long as the
  // process lives. Returns unavailable if the file cannot be copied or executed there, if it
  // exceeds the process's limit of file sizes, or if it is no longer the loaded one.
  // If `replaced` has a function, the copy calls it in place of the imported one, also while the
  // copy is being loaded.
  static Result<DynamicLibrary> open_copy(const DynamicLibrary& loaded, const LibraryImport& replaced = {});
  // Returns the library that the process has loaded under this soname, which every later open of
  // the soname also gets. Returns nullopt if there is none. Loads nothing.
  static std::optional<DynamicLibrary> find_loaded(const std::string& soname);

  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  ~DynamicLibrary();

  // Returns nullptr if the library has no such symbol.
  void* find(const char* symbol) const;
  // Returns the path of the file that the loader chose, or the given name if that is unknown.
  const std::filesystem::path& path() const { return path_; }
  // Returns the GNU build-id of the library in memory, even if the file has changed since. Returns
  // nullopt if it has none.
  std::optional<Bytes> build_id() const;
  // Makes the library's own calls of an imported function go to `function`, which must have the
  // same type and live as long as the process. Returns false if the library does not import it.
  // Calls that other threads make meanwhile reach either function.
  bool redirect(const char* symbol, void* function) const;
  // Returns whether both are the same loaded library.
  bool is_same_as(const DynamicLibrary& other) const { return handle_ == other.handle_; }

 private:
  DynamicLibrary(void* handle, std::filesystem::path path) : handle_(handle), path_(std::move(path)) {}

  void* handle_ = nullptr;
  std::filesystem::path path_;
};

// Returns the folders that the dynamic loader searches for a soname, in its order: the folders it
// was started with, those of /etc/ld.so.conf, the system's. Used to report where a library would be
// found without loading it.
std::vector<std::filesystem::path> dynamic_loader_search_path();

}  // namespace cubinet
