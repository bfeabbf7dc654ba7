// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cubinet {

// The signals of the program as its parent's caller had them.
struct InheritedSignals {
  sigset_t mask = {};
  bool child_ignored = false;  // SIGCHLD, which a parent that waits for children must not ignore
};

// Starts a program in a child process, and returns when it runs or could not be run. The child is
// killed if the calling thread ends. It keeps ignored signals, except SIGXFSZ, and SIGCHLD is as
// `signals` has it; handled signals get their default action. `environment` also has the PATH in
// which the program is searched. Returns the child. Returns -1 and sets errno if it could not be
// run.
pid_t start_process(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                    const InheritedSignals& signals);

// Sets the handled signals of a forked child to their default action.
void reset_handlers();

}  // namespace cubinet
