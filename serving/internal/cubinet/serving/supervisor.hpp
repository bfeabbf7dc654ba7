// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/base/log.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace cubinet {

// The end of a supervisor's helper in its connection to the supervisor. Not thread-safe.
class HelperLink {
 public:
  explicit HelperLink(int descriptor) : descriptor_(descriptor) {}
  // Lets the command start. Further calls do nothing.
  void ready();
  // Waits until the command has ended or the supervisor has been killed, at most this long. Returns
  // whether that happened.
  bool ended_within(std::chrono::milliseconds time);

 private:
  int descriptor_;
  bool is_ready_ = false;
};

struct Supervision {
  // The program, which is searched in the PATH of `environment`, and its arguments.
  std::vector<std::string> command;
  std::vector<std::string> environment;  // of the command: NAME=value
  // Runs in a child process, so that nothing that it does harms the command. The command starts
  // when it calls ready(), when it has ended, or after `start_limit`, which kills it. It is killed
  // `end_limit` after the command's end.
  Callback<void(HelperLink&)> helper;
  std::chrono::milliseconds start_limit{};
  std::chrono::milliseconds end_limit{};
  // If true, stdin and stdout of this process are the null device from the start of the command, so
  // that they end with it.
  bool releases_streams = false;
  LogSink log = {};  // failures of the supervisor and the helper; not called by the helper
};

// Runs the command and returns its exit status: 128 plus the signal that ended it, 127 if there is
// no such program, 126 if it cannot be run.
//
// The command stays in the process group, session and terminal of the caller. It gets the caller's
// descriptors, signal mask and ignored signals; SIGXFSZ is not ignored in it. A signal that another
// process sends to this one is passed on to it, with its value. Of the command's own signals these
// are SIGTERM, SIGINT, SIGHUP and SIGQUIT. A signal of the terminal reaches it directly. SIGHUP is
// also passed on if this process leads the session, and so is SIGALRM of a timer that was set
// before this program started. The signals that stop a job (SIGTSTP, SIGTTIN, SIGTTOU) stop this
// process, too, unless it is process 1. If the calling thread ends, for example by SIGKILL, the
// command is killed; the kernel drops this rule if the command changes its user. SIGTERM, SIGINT,
// SIGHUP and SIGQUIT before the start prevent it (the status is 128 plus the signal), and after the
// command's end they end the helper.
//
// As process 1, it also reaps every process whose parent has ended. Otherwise it waits for its own
// two children only. Blocks signals in the calling thread; other threads should block them, too.
int supervise(const Supervision& supervision);

}  // namespace cubinet
