// SPDX-License-Identifier: Apache-2.0
#include "nvrtc_program.hpp"

#include "support/compiler_search.hpp"

#include <cubinet/jit/compiler.hpp>
#include <cubinet/spec/cubin_elf.hpp>

#include <doctest/doctest.h>

#include <array>
#include <csignal>

using namespace cubinet;

namespace {

std::shared_ptr<const NvrtcApi> api() {
  const auto compiler = Compiler::open(test::compiler_search());
  REQUIRE(compiler);
  const auto opened = NvrtcApi::open((*compiler)->location().library, (*compiler)->location().builtins);
  REQUIRE(opened);
  return *opened;
}

}  // namespace

TEST_CASE("a program is compiled to a cubin, to PTX and to the symbols of its names") {
  const auto nvrtc = api();
  auto program = NvrtcProgram::create(
      *nvrtc, "#include <h>\ntemplate <int n> __global__ void k(int* p) { *p = n + H; }\n", "p.cu",
      {{"h", "constexpr int H = 1;\n"}});
  REQUIRE(program);
  REQUIRE(program->add_name_expression("k<3>"));
  REQUIRE(program->compile({"--gpu-architecture=sm_90a"}) == NVRTC_SUCCESS);
  CHECK(program->log().empty());
  const auto symbol = program->lowered_name("k<3>");
  REQUIRE(symbol);
  const auto cubin = program->cubin();
  REQUIRE(cubin);
  CHECK(check_cubin(*cubin, *SmTarget::parse("sm_90a"), {*symbol}));
  const auto ptx = program->ptx();
  REQUIRE(ptx);
  CHECK(as_text(*ptx).find(".target sm_90a") != std::string_view::npos);
  CHECK(ptx->back() == std::byte{0});
  CHECK_FALSE(program->lowered_name("never<1>"));
}

TEST_CASE("the first compilation of a process leaves its signal actions as they were") {
  // Handlers, flags and a mask that signal() would drop, through a compilation that fails and one
  // that does not.
  constexpr std::array kSignals = {SIGINT, SIGTERM, SIGXFSZ};
  std::array<struct sigaction, 3> before = {};
  struct sigaction ours = {};
  ours.sa_sigaction = [](int, siginfo_t*, void*) {};
  ours.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND);
  sigaddset(&ours.sa_mask, SIGUSR1);
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    ::sigaction(kSignals[i], &ours, &before[i]);
  const auto nvrtc = api();
  for (const std::string source : {"oops;", "__global__ void k() {}"}) {
    CAPTURE(source);
    auto program = NvrtcProgram::create(*nvrtc, source, "p.cu", {});
    REQUIRE(program);
    program->compile({"--gpu-architecture=sm_90a"});
    for (const int signal : kSignals) {
      CAPTURE(signal);
      struct sigaction now = {};
      ::sigaction(signal, nullptr, &now);
      const bool same_handler = now.sa_sigaction == ours.sa_sigaction;
      CHECK(same_handler);
      CHECK((now.sa_flags & SA_SIGINFO) != 0);
      CHECK((now.sa_flags & static_cast<int>(SA_RESETHAND)) != 0);
      CHECK((now.sa_flags & SA_RESTART) == 0);
      CHECK(sigismember(&now.sa_mask, SIGUSR1) == 1);
    }
  }
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    ::sigaction(kSignals[i], &before[i], nullptr);
}

TEST_CASE("what does not compile leaves a log and no image") {
  const auto nvrtc = api();
  auto program = NvrtcProgram::create(*nvrtc, "__global__ void k() { oops; }\n", "p.cu", {});
  REQUIRE(program);
  CHECK(program->compile({"--gpu-architecture=sm_90a"}) == NVRTC_ERROR_COMPILATION);
  CHECK(program->log().find("oops") != std::string::npos);
  CHECK(program->log().back() != '\n');
  CHECK_FALSE(program->cubin());
}

TEST_CASE("an unexpected answer carries its name and number") {
  const auto nvrtc = api();
  const Error memory = nvrtc_error(*nvrtc, NVRTC_ERROR_OUT_OF_MEMORY, "compiling x");
  CHECK(memory.code == ErrorCode::unavailable);
  CHECK(memory.message == "NVRTC failed while compiling x: NVRTC_ERROR_OUT_OF_MEMORY");
  CHECK(memory.native == NVRTC_ERROR_OUT_OF_MEMORY);
  CHECK(nvrtc_error(*nvrtc, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, "x").remedy.find("builtins") !=
        std::string::npos);
  CHECK(nvrtc_error(*nvrtc, NVRTC_ERROR_INVALID_OPTION, "x").code == ErrorCode::internal);
}
