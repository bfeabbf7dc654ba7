// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <functional>

namespace cubinet {

// Runs the work in the one thread of this process that links machine code, in the folder "/"
// (root_folder.hpp), one chunk of work at a time. nvJitLink (13.0, 13.5) keeps a process-wide lock
// when it refuses machine code of another architecture. Afterwards any other thread that links
// waits for ever, but the thread that holds the lock does not. Returns when the work is done, and
// rethrows its exception. Returns unavailable in a child that was forked after the lock was kept,
// because it lacks the thread. REQUIRES: no fork can happen while the caller holds its locks
// (ForkHazard).
Result<void> run_in_link_thread(const std::function<void()>& work);

// Called within the work if the linker may have kept its lock.
void leave_link_lock();

}  // namespace cubinet
