// SPDX-License-Identifier: Apache-2.0
// What a user of the installed package writes first: it touches every module that has a library behind it and
// needs neither a driver nor a compiler.
#include <cstdio>

#include <cubinet/spec/kernel_key.hpp>
#include <cubinet/spec/kernel_spec.hpp>

int main() {
  cubinet::KernelSpec spec{"rms_norm", {}};
  spec.set("hidden_size", 4096);
  const auto target = cubinet::SmTarget::parse("sm_90a");
  if (!target) return 1;
  std::puts(cubinet::identify(spec, *target).key().to_string().c_str());
  return 0;
}
