// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/dynamic_library.hpp>

#include <dlfcn.h>
#include <link.h>

#include <utility>

namespace cubinet {

Result<DynamicLibrary> DynamicLibrary::open(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return Error{ErrorCode::unavailable, "cannot open the shared library '" + name + "'", {},
                 reason == nullptr ? "" : reason};
  }
  std::filesystem::path path = name;
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name != nullptr &&
      *map->l_name != '\0') {
    path = map->l_name;
  }
  return DynamicLibrary(handle, std::move(path));
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

void* DynamicLibrary::find(const char* symbol) const { return ::dlsym(handle_, symbol); }

}  // namespace cubinet
