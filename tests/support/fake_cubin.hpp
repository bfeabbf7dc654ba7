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
  // The size of the one by-value structure, as .nv.info.<symbol> states it; 0: no parameter.
  std::uint32_t parameter_bytes = 0;
};

struct FakeGlobal {
  std::string symbol = "table";
  std::string section = ".nv.global.init";  // or .nv.constant3
  std::uint32_t bytes = 16;
  bool managed = false;
};

// The description of the output of make_fake_cubin. It is an ELF with the layout of CUDA 13's
// ptxas, as far as cubinet and a driver's bookkeeping read it (header, toolkit note, .nv.compat,
// symbols, parameter sizes). The code is filler: it can be parsed, stored, verified and "loaded" by
// a stub, but never run.
struct FakeCubin {
  SmTarget target = {9, 0, TargetKind::specific};
  std::vector<FakeKernel> kernels = {FakeKernel{}};
  std::size_t code_bytes = 128;  // per kernel
  std::uint8_t filler = 0x5a;    // images with different filler have different digests
  std::vector<FakeGlobal> globals = {};
  bool relocatable = false;  // as -dc makes it
};

Bytes make_fake_cubin(const FakeCubin& description);

// Returns a fingerprint made of a word, so that tests can distinguish builds by name.
BuildFingerprint fake_fingerprint(std::string_view word);

// Returns a complete cubin whose record matches its image: `spec` on description.target, one entry
// point per kernel (named like its symbol, 128 threads), interface version 1.
Cubin make_cubin(const KernelSpec& spec, const FakeCubin& description = {}, std::string_view build = "build");

}  // namespace cubinet::test
