// SPDX-License-Identifier: Apache-2.0
#include "jit/file_calls.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cubinet::test {
namespace {

std::mutex calls_mutex;
bool recording = false;        // guarded by calls_mutex
std::set<std::string>* calls;  // guarded by calls_mutex

bool is_nvrtcs(void* caller) {
  Dl_info info = {};
  return ::dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "libnvrtc") != nullptr;
}

void record(const char* function, const char* path, void* caller) {
  const std::lock_guard lock(calls_mutex);
  if (!recording || path == nullptr || !is_nvrtcs(caller)) return;
  calls->insert(std::string(function) + " " + path);
}

// The function that this one stands before.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

FileCalls::FileCalls() {
  const std::lock_guard lock(calls_mutex);
  calls = new std::set<std::string>();
  recording = true;
}

FileCalls::~FileCalls() {
  const std::lock_guard lock(calls_mutex);
  recording = false;
  delete calls;
  calls = nullptr;
}

std::set<std::string> FileCalls::take() {
  const std::lock_guard lock(calls_mutex);
  std::set<std::string> taken;
  taken.swap(*calls);
  return taken;
}

}  // namespace cubinet::test

// All that libnvrtc of CUDA 13 imports that takes a path (nm -D --undefined-only), and syscall(),
// by which it could do without. Not libc's own declarations: these have attributes that a
// definition cannot repeat.
#define CUBINET_RECORD(function, path) \
  cubinet::test::record(function, path, __builtin_extract_return_addr(__builtin_return_address(0)))

extern "C" {

int cubinet_test_open(const char* path, int flags, ...) __asm__("open");
int cubinet_test_open(const char* path, int flags, ...) {
  CUBINET_RECORD("open", path);
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  return static_cast<int>(
      cubinet::test::next<long (*)(long, ...)>("syscall")(SYS_openat, AT_FDCWD, path, flags, mode));
}

std::FILE* cubinet_test_fopen(const char* path, const char* mode) __asm__("fopen");
std::FILE* cubinet_test_fopen(const char* path, const char* mode) {
  CUBINET_RECORD("fopen", path);
  return cubinet::test::next<std::FILE* (*)(const char*, const char*)>("fopen")(path, mode);
}

std::FILE* cubinet_test_fopen64(const char* path, const char* mode) __asm__("fopen64");
std::FILE* cubinet_test_fopen64(const char* path, const char* mode) {
  CUBINET_RECORD("fopen", path);
  return cubinet::test::next<std::FILE* (*)(const char*, const char*)>("fopen64")(path, mode);
}

int cubinet_test_xstat(int version, const char* path, struct stat* status) __asm__("__xstat");
int cubinet_test_xstat(int, const char* path, struct stat* status) {
  CUBINET_RECORD("stat", path);
  return ::stat(path, status);
}

int cubinet_test_lxstat(int version, const char* path, struct stat* status) __asm__("__lxstat");
int cubinet_test_lxstat(int, const char* path, struct stat* status) {
  CUBINET_RECORD("lstat", path);
  return ::lstat(path, status);
}

int cubinet_test_access(const char* path, int mode) __asm__("access");
int cubinet_test_access(const char* path, int mode) {
  CUBINET_RECORD("access", path);
  return cubinet::test::next<int (*)(const char*, int)>("access")(path, mode);
}

DIR* cubinet_test_opendir(const char* path) __asm__("opendir");
DIR* cubinet_test_opendir(const char* path) {
  CUBINET_RECORD("opendir", path);
  return cubinet::test::next<DIR* (*)(const char*)>("opendir")(path);
}

ssize_t cubinet_test_readlink(const char* path, char* buffer, std::size_t size) __asm__("readlink");
ssize_t cubinet_test_readlink(const char* path, char* buffer, std::size_t size) {
  CUBINET_RECORD("readlink", path);
  return cubinet::test::next<ssize_t (*)(const char*, char*, std::size_t)>("readlink")(path, buffer, size);
}

char* cubinet_test_realpath(const char* path, char* resolved) __asm__("realpath");
char* cubinet_test_realpath(const char* path, char* resolved) {
  CUBINET_RECORD("realpath", path);
  return cubinet::test::next<char* (*)(const char*, char*)>("realpath")(path, resolved);
}

int cubinet_test_statfs(const char* path, struct statfs* status) __asm__("statfs");
int cubinet_test_statfs(const char* path, struct statfs* status) {
  CUBINET_RECORD("statfs", path);
  return cubinet::test::next<int (*)(const char*, struct statfs*)>("statfs")(path, status);
}

int cubinet_test_mkdir(const char* path, mode_t mode) __asm__("mkdir");
int cubinet_test_mkdir(const char* path, mode_t mode) {
  CUBINET_RECORD("mkdir", path);
  return cubinet::test::next<int (*)(const char*, mode_t)>("mkdir")(path, mode);
}

int cubinet_test_chdir(const char* path) __asm__("chdir");
int cubinet_test_chdir(const char* path) {
  CUBINET_RECORD("chdir", path);
  return cubinet::test::next<int (*)(const char*)>("chdir")(path);
}

long cubinet_test_syscall(long number, ...) __asm__("syscall");
long cubinet_test_syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments)
    argument = va_arg(list, long);
  va_end(list);
#ifdef SYS_open
  const bool first = number == SYS_open || number == SYS_stat || number == SYS_lstat || number == SYS_access;
#else
  const bool first = false;
#endif
  const bool second = number == SYS_openat || number == SYS_newfstatat || number == SYS_faccessat;
  if (first) CUBINET_RECORD("syscall", reinterpret_cast<const char*>(arguments[0]));
  if (second) CUBINET_RECORD("syscall", reinterpret_cast<const char*>(arguments[1]));
  return cubinet::test::next<long (*)(long, ...)>("syscall")(number, arguments[0], arguments[1], arguments[2],
                                                             arguments[3], arguments[4], arguments[5]);
}

}  // extern "C"
