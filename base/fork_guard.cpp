// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/fork_guard.hpp>

#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace cubinet {

ForkGuard::ForkGuard() : page_bytes_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
  void* page = ::mmap(nullptr, page_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (::madvise(page, page_bytes_, MADV_WIPEONFORK) != 0) {
    ::munmap(page, page_bytes_);
    return;
  }
  mark_ = new (page) std::atomic<int>(1);
}

ForkGuard::~ForkGuard() {
  if (mark_ != nullptr) ::munmap(mark_, page_bytes_);
}

}  // namespace cubinet
