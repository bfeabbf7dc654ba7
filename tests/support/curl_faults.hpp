// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

namespace cubinet::test {

// A libcurl that forwards every call to the system's libcurl, except for the calls that must fail.
// It is opened at run time like the system's (HttpSettings::library). All clients of a process that
// name it share its state.
class CurlFaults {
 public:
  enum class Kind { none, once, from_then_on };
  // The state shared by the library and the tests. A transfer counts as two calls: it fails before
  // anything is sent, or after the last byte of the response.
  struct State {
    std::atomic<Kind> kind{Kind::none};
    std::atomic<unsigned> at{0};
    std::atomic<unsigned> calls{0};
    std::atomic<unsigned> failed{0};
    std::atomic<long> alive{0};  // handles and lists
  };

  CurlFaults();

  const std::string& library() const { return library_; }
  // Makes the `at`-th call (from 1) that can fail do so.
  void set(Kind kind, unsigned at = 0);
  // Returns the number of calls since the faults were set.
  unsigned calls() const { return state_->calls; }
  // Returns the number of failures of all faults so far.
  unsigned failed() const { return state_->failed; }
  // Returns the number of handles and lists that were not released.
  long alive() const { return state_->alive; }

 private:
  std::string library_;
  State* state_ = nullptr;
};

}  // namespace cubinet::test
