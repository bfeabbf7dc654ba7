// SPDX-License-Identifier: Apache-2.0
#include "nvrtc_copies.hpp"

#include "nvrtc_program.hpp"
#include "support/compiler_search.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/jit/compiler.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <deque>
#include <filesystem>
#include <set>
#include <thread>

using namespace cubinet;

namespace {

CompilerCandidate location() {
  const auto compiler = Compiler::open(test::compiler_search());
  REQUIRE(compiler);
  return (*compiler)->location();
}

std::shared_ptr<const NvrtcApi> original(const std::filesystem::path& library) {
  const auto opened = NvrtcApi::open(library, location().builtins);
  REQUIRE(opened);
  return *opened;
}

Result<Bytes> compile(const NvrtcApi& api,
                      const std::string& source = "__global__ void k(int* p) { *p = 1; }\n") {
  CUBINET_TRY_ASSIGN(auto program, NvrtcProgram::create(api, source, "p.cu", {}));
  if (const nvrtcResult result = program.compile({"--gpu-architecture=sm_90a"}); result != NVRTC_SUCCESS)
    return nvrtc_error(api, result, "compiling a test");
  return program.cubin();
}

// An action of SIGINT whose flags signal() would drop. The previous one returns at the end.
class OurInterrupt {
 public:
  OurInterrupt() {
    ours_.sa_sigaction = [](int, siginfo_t*, void*) {};
    ours_.sa_flags = SA_SIGINFO;
    ::sigaction(SIGINT, &ours_, &before_);
  }
  ~OurInterrupt() { ::sigaction(SIGINT, &before_, nullptr); }
  OurInterrupt(const OurInterrupt&) = delete;
  OurInterrupt& operator=(const OurInterrupt&) = delete;

  bool has_handler() const { return now().sa_sigaction == ours_.sa_sigaction; }
  bool has_flags() const { return (now().sa_flags & SA_RESTART) == 0 && (now().sa_flags & SA_SIGINFO) != 0; }

 private:
  static struct sigaction now() {
    struct sigaction action = {};
    ::sigaction(SIGINT, nullptr, &action);
    return action;
  }

  struct sigaction ours_ = {};
  struct sigaction before_ = {};
};

// Returns a source that compiles for much longer than NVRTC has its own signal actions.
std::string long_source() {
  std::string source;
  for (int i = 0; i < 600; ++i)
    source += "__global__ void k" + std::to_string(i) + "(float* p) { p[threadIdx.x] = sinf(p[0] + " +
              std::to_string(i) + "); }\n";
  return source;
}

}  // namespace

TEST_CASE("four compilations share the library, and the next gets a copy that makes the same bytes") {
  NvrtcCopies copies(original(location().library));
  std::deque<NvrtcCopies::Lease> leases;
  for (unsigned i = 0; i < NvrtcCopies::kUsers; ++i)
    leases.emplace_back(copies);
  CHECK(copies.count() == 1);
  leases.emplace_back(copies);
  CHECK(copies.count() == 2);
  CHECK(&leases.front().api() != &leases.back().api());
  CHECK_FALSE(leases.front().api().library().is_same_as(leases.back().api().library()));
  CHECK(leases.front().api().version() == leases.back().api().version());
  const auto first = compile(leases.front().api());
  const auto copied = compile(leases.back().api());
  REQUIRE(first);
  REQUIRE(copied);
  CHECK(*first == *copied);
  leases.clear();
  leases.emplace_back(copies);
  CHECK(copies.count() == 2);
}

TEST_CASE("a library whose file is gone is shared by all compilations") {
  const test::TempDir folder;
  const std::filesystem::path library = folder.path() / "libnvrtc.so.13";
  std::filesystem::copy_file(location().library, library);
  NvrtcCopies copies(original(library));
  std::filesystem::remove(library);
  std::deque<NvrtcCopies::Lease> leases;
  for (unsigned i = 0; i < 2 * NvrtcCopies::kUsers + 1; ++i) {
    leases.emplace_back(copies);
    CHECK(&leases.back().api() == &leases.front().api());
  }
  CHECK(compile(leases.back().api()));
}

TEST_CASE("many threads that compile at once use a bounded number of copies and leave the signal actions") {
  const OurInterrupt interrupt;
  NvrtcCopies copies(original(location().library));
  constexpr unsigned kThreads = 12;
  std::vector<Result<Bytes>> images(kThreads, Error{ErrorCode::internal, "not compiled"});
  std::atomic<unsigned> waiting{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const NvrtcCopies::Lease lease(copies);
      ++waiting;
      while (waiting < kThreads)
        std::this_thread::yield();
      images[i] = compile(lease.api());
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(copies.count() == kThreads / NvrtcCopies::kUsers);
  std::set<Bytes> different;
  for (const Result<Bytes>& image : images) {
    REQUIRE(image);
    different.insert(*image);
  }
  CHECK(different.size() == 1);
  CHECK(interrupt.has_handler());
  CHECK(interrupt.has_flags());
}

TEST_CASE("a compilation that begins when another has dropped the flags of a signal action keeps them") {
  const OurInterrupt interrupt;
  // Copies, because only the first compilation of a library changes the actions.
  const auto library = original(location().library);
  const auto first = library->copy();
  const auto second = library->copy();
  REQUIRE(first);
  REQUIRE(second);
  Result<Bytes> image(Error{ErrorCode::internal, "not compiled"});
  std::atomic<bool> ended{false};
  std::thread beside([&] {
    image = compile(**first, long_source());
    ended = true;
  });
  // NVRTC sets its own handler, then ours with signal(), and compiles on.
  while (!ended && !(interrupt.has_handler() && !interrupt.has_flags()))
    std::this_thread::yield();
  const bool was_dropped = !interrupt.has_flags();
  const auto other = compile(**second);
  beside.join();
  CHECK(image);
  CHECK(other);
  CHECK(was_dropped);
  CHECK(interrupt.has_handler());
  CHECK(interrupt.has_flags());
}
