// SPDX-License-Identifier: Apache-2.0
// Children of a process whose other threads are at work: what those held stays held there.
#include "runtime_fixture.hpp"

#include <cubinet/runtime.hpp>

#include <atomic>
#include <chrono>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace cubinet {
namespace {

using namespace test;

constexpr SmTarget kBuilt{9, 0, TargetKind::specific};
constexpr int kKept = 999;         // a kernel that the home of the children holds
constexpr unsigned kSeconds = 60;  // a child that takes longer hangs

// 0 where everything that a child may ask for is an answer.
int use_in_child(Runtime& of_parent, const std::filesystem::path& home, int factor) {
  ::alarm(kSeconds);
  if (of_parent.cubin(scale_spec(factor), kBuilt)) return 1;
  auto opened = Home::open({.path = home.string()});
  if (!opened) return 2;
  RuntimeOptions options;
  options.stores = {*opened};
  options.templates = of_parent.templates();
  options.compiler = compiler_search();
  auto runtime = Runtime::create(std::move(options));
  if (!runtime) return 3;
  const auto kept = (*runtime)->cubin(scale_spec(kKept), kBuilt);
  if (!kept || !*kept || (*kept)->source != KernelSource::registry) return 4;
  const auto records = (*opened)->list();
  if (!records || records->empty()) return 5;
  const auto built = (*runtime)->cubin(scale_spec(factor), kBuilt);
  if (built) return *built ? 0 : 6;
  return built.error().code == ErrorCode::unavailable ? 0 : 7;
}

// Runs `work` in some threads, again and again, until it is destroyed.
class Threads {
 public:
  template <class Work>
  Threads(int count, const Work& work) {
    for (int number = 0; number < count; ++number) {
      threads_.emplace_back([this, number, work] {
        for (int round = 0; !done_; ++round)
          work(number, round);
      });
    }
  }
  ~Threads() {
    done_ = true;
    for (std::thread& thread : threads_)
      thread.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::vector<std::thread> threads_;
};

TEST_CASE("children forked while other threads compile and list get answers, and none hangs") {
  const TempDir folder;
  const auto home = folder / "h";
  REQUIRE(make_runtime(runtime_options(home))->cubin(scale_spec(kKept), kBuilt));
  const auto busy = make_runtime(runtime_options(folder / "busy"));
  const Threads compiling(2, [&](int thread, int round) {
    static_cast<void>(busy->cubin(scale_spec(1 + (2 * round + thread) % 900), kBuilt));
  });
  const Threads listing(1, [&](int, int) {
    // Opened anew each time: SQLite is at work then.
    const auto store = Home::open({.path = home.string()});
    if (store) static_cast<void>((*store)->list());
  });
  std::vector<pid_t> children;
  for (int number = 0; number < 20; ++number) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10 + 7 * number));
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(use_in_child(*busy, home, 1 + number));
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK_MESSAGE(WIFEXITED(status), "a child hung");
    CHECK(WEXITSTATUS(status) == 0);
  }
}

TEST_CASE("a child forked while nothing is compiled compiles for itself") {
  const TempDir folder;
  const auto runtime = make_runtime(runtime_options(folder / "h"));
  REQUIRE(runtime->cubin(scale_spec(1), kBuilt));
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(kSeconds);
    const auto own = Runtime::create([&] {
      RuntimeOptions options;
      options.templates = runtime->templates();
      options.compiler = compiler_search();
      return options;
    }());
    ::_exit(own && (*own)->cubin(scale_spec(2), kBuilt) ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace
}  // namespace cubinet
