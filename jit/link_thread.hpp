// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <functional>

namespace cubinet {

// Does the work in the one thread of this process that links machine code, at "/" (root_folder.hpp), one
// piece after the other. nvJitLink (13.0, 13.5) keeps a lock of the whole process when it refuses machine
// code of another architecture: whoever links in another thread after that waits for ever, and the thread
// that has it does not. Returns when the work is done; throws what it throws. unavailable in a child that was
// forked after the lock was left: it lacks the thread. REQUIRES: the caller is where no fork can leave its
// locks held (ForkHazard).
Result<void> run_in_link_thread(const std::function<void()>& work);

// To be said within the work, when a lock may have been left.
void leave_link_lock();

}  // namespace cubinet
