// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <utility>

namespace cubinet::test {

// Decides at every call that durability depends on, of FileSystem and of SQLite's VFS alike,
// whether it goes through.
class FaultPlan {
 public:
  // death: of a write half the bytes are there then. death_unwritten: none are. error_at_random: of
  // set_random().
  enum class Kind { none, error_once, error_from_then_on, error_at_random, death, death_unwritten };
  // The faults that a plan counts up to. A process that dies in a call that changes nothing has
  // died before the next one that does.
  enum class Counts { all, of_sqlite };
  struct Call {
    bool of_sqlite = false;
    bool changes = false;
    bool syncs = false;
  };

  // The `at`-th call (from 1) fails with `error_number`, or ends the process before it is carried
  // out.
  void set(Kind kind, unsigned at, int error_number = ENOSPC, Counts counts = Counts::all);
  // One of so many calls fails, by chance.
  void set_random(unsigned seed, unsigned one_of, int error_number = EIO);
  // Calls that failed by any of the plans so far.
  std::size_t failed() const { return failed_; }
  // Called at every call, whether it goes through or not.
  void watch(std::function<void(Call)> watcher) { watcher_ = std::move(watcher); }
  // 0 when the call goes through, otherwise the errno it fails with. May not return.
  int before_call(Call call);
  bool reached() const { return reached_; }
  // The write that follows is the call that ends the process: half of its bytes are to be written
  // before.
  bool dies_writing();

 private:
  bool counts(Call call) const;

  Kind kind_ = Kind::none;
  unsigned at_ = 0;
  int error_number_ = 0;
  Counts counts_ = Counts::all;
  unsigned calls_ = 0;
  bool reached_ = false;
  bool dies_writing_ = false;
  std::minstd_rand random_;
  std::size_t failed_ = 0;
  std::function<void(Call)> watcher_;
};

// The statuses with which a process ends that a FaultPlan has ended: in a write, or in another
// call.
inline constexpr int kDied = 86;
inline constexpr int kDiedWriting = 87;

// The operating system's files, every call of which asks the plan first. Durability is not what is
// tested here, and a real fsync takes milliseconds: those that succeed do nothing.
std::shared_ptr<FileSystem> faulty_file_system(std::shared_ptr<FaultPlan> plan);

// Makes SQLite's default VFS ask the plan before each open, read, write, truncate, sync, delete and
// lock. Restored by destruction. One at a time.
class FaultyVfs {
 public:
  explicit FaultyVfs(std::shared_ptr<FaultPlan> plan);
  ~FaultyVfs();
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;
};

// Runs `body` in a forked child and gives its exit status, 128 + signal for one that was killed. A
// test that fails in the child has to return another status than 0.
int in_child(const std::function<int()>& body);

// fork and ThreadSanitizer do not go together.
bool can_fork();

}  // namespace cubinet::test
