// SPDX-License-Identifier: Apache-2.0
#include "image_bytes.hpp"

#include "loader/test_kernels.hpp"

#include <cubinet/base/elf.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("The bytes of a cubin are those of its loaded sections") {
  const Cubin cubin = test::test_cubin({9, 0, TargetKind::specific});
  const std::uint64_t bytes = device_bytes(*cubin.record, *cubin.image);
  const auto elf = ElfImage::parse(*cubin.image);
  REQUIRE(elf);
  std::uint64_t code = 0;
  for (const ElfSection& section : elf->sections()) {
    if (section.name.starts_with(".text.")) code += section.size;
  }
  CHECK(code > 0);
  CHECK(bytes >= code);
  CHECK(bytes < cubin.image->size());
}

TEST_CASE("Variables count and shared memory does not") {
  const Cubin plain = test::cluster_cubin({9, 0, TargetKind::specific});
  const Cubin globals = test::globals_cubin({9, 0, TargetKind::specific});
  const auto elf = ElfImage::parse(*globals.image);
  REQUIRE(elf);
  std::uint64_t variables = 0;
  for (const ElfSection& section : elf->sections()) {
    if (section.name.starts_with(".nv.global") || section.name == ".nv.constant3") variables += section.size;
  }
  CHECK(variables >= 16 + 32 + 4);
  CubinRecord record = *globals.record;
  CHECK(device_bytes(record, *globals.image) >= variables);
  CHECK(device_bytes(*plain.record, *plain.image) > 0);
  record.kind = ImageKind::ptx;
  CHECK(device_bytes(record, *globals.image) == globals.image->size());
  record.kind = ImageKind::cubin;
  const Bytes damaged(100);
  CHECK(device_bytes(record, damaged) == 100);
}
