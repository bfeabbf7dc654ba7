// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "home_fixture.hpp"

#include <cubinet/cubin_registry/imports.hpp>

#include <filesystem>
#include <string>

namespace cubinet::test {

// Makes the sandbox's home know a folder of two published kernels: an attention row, and a GEMM
// found by name.
inline void import_two_kernels(const Sandbox& sandbox, const std::string& name, char pin,
                               const std::string& version) {
  ArtifactImport import;
  import.folder = sandbox / name;
  import.pin = std::string(64, pin);
  import.version = version;
  FakeCubin gemm;
  gemm.kernels = {{"gemm_e4m3", 0}};
  const Bytes image = make_fake_cubin(gemm);
  KernelRow row;
  row.implementation = kPublishedImplementation;
  row.target = gemm.target;
  row.function_name = "fmha_decode";
  row.threads = 512;
  row.digest = sha256(image);
  row.pin = import.pin;
  import.rows = {row};
  import.plain = {{ "gemm_e4m3", 1024, 256, gemm.target, row.digest }};
  import.files = {{ "both.cubin", row.digest, image.size() }};
  std::filesystem::create_directories(import.folder);
  sandbox.write(name + "/both.cubin", std::string(as_text(image)));
  HomeOptions options;
  options.path = sandbox.home();
  const auto home = Home::open(options);
  REQUIRE(home);
  REQUIRE((*home)->imports().publish(import));
}

}  // namespace cubinet::test
