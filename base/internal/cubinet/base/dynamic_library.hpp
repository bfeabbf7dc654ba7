// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// A shared library opened at run time; the only place that calls dlopen. Owns the handle; movable. Libraries
// that register exit handlers (the CUDA driver, NVRTC) must not be closed: they are opened with
// RTLD_NODELETE.
class DynamicLibrary {
 public:
  // `name` is a path, or a soname that the dynamic loader searches. unavailable, with the loader's own words
  // in detail, when it cannot be opened.
  static Result<DynamicLibrary> open(const std::string& name);
  // The library that the process has under this soname, which is the one that everybody who opens the soname
  // gets; nullopt when it has none. Loads nothing.
  static std::optional<DynamicLibrary> find_loaded(const std::string& soname);

  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  ~DynamicLibrary();

  // nullptr when the library has no such symbol.
  void* find(const char* symbol) const;
  // Where the file lies that the loader chose; the name as given when that cannot be told.
  const std::filesystem::path& path() const { return path_; }
  // The GNU build-id of what is in memory, whatever has become of the file; nullopt when it has none.
  std::optional<Bytes> build_id() const;
  // Whether both are one library, loaded once.
  bool is_same_as(const DynamicLibrary& other) const { return handle_ == other.handle_; }

 private:
  DynamicLibrary(void* handle, std::filesystem::path path) : handle_(handle), path_(std::move(path)) {}

  void* handle_ = nullptr;
  std::filesystem::path path_;
};

// The folders in which the dynamic loader looks for a soname, in its order: those it was started with, the
// ones that /etc/ld.so.conf adds, the system's. For telling where a library would be found without loading
// it.
std::vector<std::filesystem::path> dynamic_loader_search_path();

}  // namespace cubinet
