// SPDX-License-Identifier: Apache-2.0
#include "link_thread.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <signal.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace cubinet;

namespace {

std::thread::id thread_that_links() {
  std::thread::id id;
  REQUIRE(run_in_link_thread([&] { id = std::this_thread::get_id(); }));
  return id;
}

// Returns the result of `work` in a child process.
int in_child(int (*work)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(work());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("all links are of one thread, which works at the root") {
  const std::thread::id first = thread_that_links();
  CHECK(first != std::this_thread::get_id());
  std::vector<std::thread::id> ids(4);
  std::vector<std::thread> threads;
  for (std::thread::id& id : ids)
    threads.emplace_back([&id] { id = thread_that_links(); });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(ids == std::vector<std::thread::id>(4, first));
  std::filesystem::path folder;
  REQUIRE(run_in_link_thread([&] { folder = std::filesystem::current_path(); }));
  CHECK(folder == "/");
  CHECK(std::filesystem::current_path() != "/");
}

TEST_CASE("no signal of the program is handled by the thread that links") {
  sigset_t blocked;
  REQUIRE(run_in_link_thread([&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked); }));
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1})
    CHECK(::sigismember(&blocked, signal) == 1);
}

TEST_CASE("what a link throws arrives, and the next link works") {
  CHECK_THROWS_AS(static_cast<void>(run_in_link_thread([] { throw std::runtime_error("no"); })),
                  std::runtime_error);
  thread_that_links();
}

TEST_CASE("a child has a thread of its own, unless a lock was left before it was forked") {
  thread_that_links();
  const auto links = [] { return run_in_link_thread([] {}) ? 0 : 7; };
  CHECK(in_child(links) == 0);
  REQUIRE(run_in_link_thread(leave_link_lock));
  thread_that_links();
  CHECK(in_child(links) == 7);
}
