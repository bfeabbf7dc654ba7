// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cubinet {

// Starts a program in a child process with this signal mask, and returns when it runs or could not
// be run. The child is killed if the calling thread ends. It keeps ignored signals, except SIGXFSZ;
// handled signals get their default action. `environment` also has the PATH in which the program is
// searched. Returns the child. Returns -1 and sets errno if it could not be run.
pid_t start_process(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                    const sigset_t& mask);

// Sets the handled signals of a forked child to their default action.
void reset_handlers();

}  // namespace cubinet
