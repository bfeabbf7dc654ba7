// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

namespace cubinet::test {

// A libcurl that passes everything on to the system's, but for the calls that are to fail. It is opened at
// run time as that is (HttpSettings::library). All clients of a process that name it share what is set.
class CurlFaults {
 public:
  enum class Kind { none, once, from_then_on };
  // What the library and the tests have in common. A transfer counts as two calls: it fails before anything
  // is sent, or behind the last byte of the answer.
  struct State {
    std::atomic<Kind> kind{Kind::none};
    std::atomic<unsigned> at{0};
    std::atomic<unsigned> calls{0};
    std::atomic<unsigned> failed{0};
    std::atomic<long> alive{0};  // handles and lists
  };

  CurlFaults();

  const std::string& library() const { return library_; }
  // The `at`-th call (from 1) that can fail does.
  void set(Kind kind, unsigned at = 0);
  // Since they were set.
  unsigned calls() const { return state_->calls; }
  // By all that was set so far.
  unsigned failed() const { return state_->failed; }
  // Handles and lists that nobody has given back.
  long alive() const { return state_->alive; }

 private:
  std::string library_;
  State* state_ = nullptr;
};

}  // namespace cubinet::test
