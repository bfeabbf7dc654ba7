// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace cubinet {

// Does the work in a thread whose working folder is "/", and no other thread's: so that no path is part of
// what compilers write that describe it. Returns when it is done; throws what it throws. Where no thread is
// to be had, or a sandbox forbids it a folder of its own, the work is done and the folder is the process's.
void run_at_root(const std::function<void()>& work);

// The same for a thread that stays: from now on its folder is "/", where nothing forbids that.
void enter_root_folder();

}  // namespace cubinet
