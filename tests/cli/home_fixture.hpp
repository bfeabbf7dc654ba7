// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/fake_cubin.hpp"
#include "tool.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/home.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

namespace cubinet::test {

inline KernelSpec named_spec(const std::string& name, int number = 1) {
  KernelSpec spec;
  spec.name = name;
  spec.set("number", number);
  return spec;
}

// Puts cubins into the sandbox's home through the library.
inline void publish(const Sandbox& sandbox, const std::vector<Cubin>& cubins) {
  HomeOptions options;
  options.path = sandbox.home();
  const auto registry = Home::open(options);
  REQUIRE(registry);
  for (const Cubin& cubin : cubins)
    REQUIRE((*registry)->publish(cubin));
}

// Three kernels of two templates on two targets.
inline std::vector<Cubin> three_cubins() {
  FakeCubin ampere;
  ampere.target = {8, 0, TargetKind::baseline};
  ampere.filler = 1;
  FakeCubin other;
  other.filler = 2;
  return {make_cubin(named_spec("one")), make_cubin(named_spec("one"), ampere),
          make_cubin(named_spec("two"), other)};
}

// Changes one bit of a file.
inline void flip_bit(const std::filesystem::path& file, std::uint64_t offset) {
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(offset));
  const char byte = static_cast<char>(stream.get() ^ 1);
  stream.seekp(static_cast<std::streamoff>(offset));
  stream.put(byte);
  REQUIRE(stream.flush());
}

inline std::filesystem::path first_file(const std::filesystem::path& folder, const std::string& extension) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == extension) return entry.path();
  }
  FAIL("no file ending in ", extension);
  return {};
}

}  // namespace cubinet::test
