// SPDX-License-Identifier: Apache-2.0
#include "root_folder.hpp"

#include <exception>
#include <sched.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace cubinet {

void run_at_root(const std::function<void()>& work) {
  std::exception_ptr thrown;
  std::thread worker;
  try {
    worker = std::thread([&] {
      if (::unshare(CLONE_FS) == 0) static_cast<void>(::chdir("/") == 0);
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();  // what leaves a thread ends the program
      }
    });
  } catch (const std::system_error&) {
    work();
    return;
  }
  worker.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace cubinet
