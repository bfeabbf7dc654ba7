// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"

#include <cubinet/spec/cache_entry.hpp>
#include <cubinet/spec/image_check.hpp>

#include <doctest/doctest.h>

#include <string>

namespace cubinet {
namespace {

Bytes ptx_for(std::string_view target) {
  const std::string text =
      ".version 9.0\n.target " + std::string(target) + "\n.visible .entry kernel()\n{ ret; }\n";
  Bytes image;
  for (const char c : text)
    image.push_back(static_cast<std::byte>(c));
  image.push_back(std::byte{0});
  return image;
}

TEST_CASE("the release of the tools is read out of what they write") {
  CHECK(toolkit_release("// Cuda compilation tools, release 13.5, V13.5.37\n") == "13.5");
  CHECK(toolkit_release("Cuda compilation tools, release ").empty());
  CHECK(toolkit_release("Cuda compilation tools, release 12345678901").size() == 8);
  CHECK(toolkit_release("another tool, release 13.5").empty());
}

TEST_CASE("a cubin is held to its record") {
  const Cubin cubin = test::make_cubin(KernelSpec{"t", {}});
  CHECK(check_image(*cubin.record, *cubin.image));
  CubinRecord other = *cubin.record;
  other.target.kind = TargetKind::baseline;
  CHECK_FALSE(check_image(other, *cubin.image));
  other = *cubin.record;
  other.entry_points.front().symbol = "another";
  CHECK_FALSE(check_image(other, *cubin.image));
}

TEST_CASE("PTX is held to its record, and neither passes for the other") {
  const Cubin cubin = test::make_cubin(KernelSpec{"t", {}});
  CubinRecord record = *cubin.record;
  CHECK_FALSE(check_image(record, ptx_for("sm_90a")));
  record.kind = ImageKind::ptx;
  CHECK(check_image(record, ptx_for("sm_90a")));
  CHECK_FALSE(check_image(record, ptx_for("sm_90")));
  CHECK_FALSE(check_image(record, *cubin.image));
  record.entry_points.front().symbol = "another";
  CHECK_FALSE(check_image(record, ptx_for("sm_90a")));
}

TEST_CASE("an entry of a cache is held to its form, and a cubin is none") {
  const Cubin cubin = test::make_cubin(KernelSpec{"t", {}});
  CubinRecord record = *cubin.record;
  record.kind = ImageKind::cache_entry;
  CHECK_FALSE(check_image(record, *cubin.image));
  const std::vector<CacheFile> files = {{"scale.cubin", *cubin.image}};
  CHECK(check_image(record, encode_cache_entry(files)));
  record.kind = ImageKind::cubin;
  CHECK_FALSE(check_image(record, encode_cache_entry(files)));
}

TEST_CASE("the first symbol that an image lacks is named") {
  const std::vector<std::string_view> kernels = {"c", "a", "a"};
  CHECK(missing_symbol(kernels, {"a", "c"}) == nullptr);
  CHECK(missing_symbol(kernels, {}) == nullptr);
  const std::vector<std::string_view> symbols = {"a", "d", "b"};
  REQUIRE(missing_symbol(kernels, symbols) != nullptr);
  CHECK(*missing_symbol(kernels, symbols) == "d");
  CHECK(missing_symbol({}, symbols) == &symbols.front());
}

}  // namespace
}  // namespace cubinet
