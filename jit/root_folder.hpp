// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace cubinet {

// Runs the work in a thread with the private working folder "/", so that compilers write no path
// into debug information. Returns when the work is done, and rethrows its exception. If no thread
// can be created, or a sandbox forbids a private folder, the process's folder is used.
void run_at_root(const std::function<void()>& work);

// Changes the calling thread's folder to "/" from now on, unless a sandbox forbids it.
void enter_root_folder();

}  // namespace cubinet
