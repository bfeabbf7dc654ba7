// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::test {

struct FakeKernel {
  std::string symbol = "kernel";
  std::uint32_t parameter_bytes =
      0;  // one by-value structure, as .nv.info.<symbol> states it; 0: no parameter
};

struct FakeGlobal {
  std::string symbol = "table";
  std::string section = ".nv.global.init";  // or .nv.constant3
  std::uint32_t bytes = 16;
  bool managed = false;
};

// What make_fake_cubin writes: an ELF as CUDA 13's ptxas lays it out, as far as cubinet and a driver's
// bookkeeping look at it (header, toolkit note, .nv.compat, symbols, parameter sizes). The code is filler: it
// can be parsed, stored, verified and "loaded" by a stub, never run.
struct FakeCubin {
  SmTarget target = {9, 0, TargetKind::specific};
  std::vector<FakeKernel> kernels = {FakeKernel{}};
  std::size_t code_bytes = 128;  // per kernel
  std::uint8_t filler = 0x5a;    // images of different filler have different digests
  std::vector<FakeGlobal> globals = {};
  bool relocatable = false;  // as -dc makes it
};

Bytes make_fake_cubin(const FakeCubin& description);

// A fingerprint made of a word, so that tests can tell builds apart by name.
BuildFingerprint fake_fingerprint(std::string_view word);

// A complete cubin whose record is true of its image: `spec` on description.target, one entry point per
// kernel (named as its symbol, 128 threads), interface version 1.
Cubin make_cubin(const KernelSpec& spec, const FakeCubin& description = {}, std::string_view build = "build");

}  // namespace cubinet::test
