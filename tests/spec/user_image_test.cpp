// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"
#include "support/fake_fatbin.hpp"
#include "support/sampled.hpp"
#include "support/text.hpp"

#include <cubinet/spec/image_check.hpp>
#include <cubinet/spec/user_image.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <elf.h>

namespace cubinet {
namespace {

using test::contains;
using test::FakeCubin;

constexpr SmTarget kUserSm80{8, 0, TargetKind::baseline};
constexpr SmTarget kUserSm90a{9, 0, TargetKind::specific};

Bytes file_of(std::string_view text) {
  const ByteView bytes = as_bytes(text);
  return Bytes(bytes.begin(), bytes.end());
}

const std::string kUserPtx = R"(.version 8.4
.target sm_80, debug
.address_size 64
.visible .entry second(.param .u64 a, .param .u32 b) { ret; }
.visible .entry first(.param .align 8 .b8 a[24]) { ret; }
)";

Result<std::vector<Cubin>> builds_of(ByteView file) {
  const auto spec = spec_of_user_image("mine", file);
  REQUIRE(spec);
  return builds_of_user_image(*spec, file);
}

Error refused_image(ByteView file) {
  const auto builds = builds_of(file);
  REQUIRE_FALSE(builds);
  CHECK(contains(builds.error().message, "'mine'"));
  CHECK_FALSE(builds.error().remedy.empty());
  return builds.error();
}

TEST_CASE("a cubin is one build whose record is true of it") {
  const Bytes image = test::make_fake_cubin({kUserSm90a, {{"second", 0}, {"first", 24}}});
  const auto builds = builds_of(image);
  REQUIRE_MESSAGE(builds.has_value(), builds.error().to_line());
  REQUIRE(builds->size() == 1);
  const CubinRecord& record = *builds->front().record;
  CHECK(*builds->front().image == image);
  CHECK(record.target == kUserSm90a);
  CHECK(record.kind == ImageKind::cubin);
  CHECK(record.digest == sha256(image));
  CHECK(record.size == image.size());
  REQUIRE(record.entry_points.size() == 2);
  CHECK(record.entry_points[0].name == "first");
  CHECK(record.entry_points[0].symbol == "first");
  CHECK(record.entry_points[0].parameter_bytes == 24);
  CHECK(record.entry_points[0].threads == 0);  // each launch sets the block
  const auto decoded = decode_kernel(record.identity.kernel_encoding());
  REQUIRE(decoded);
  CHECK(decoded->maker == KernelMaker::function);
  CHECK(decoded->name == "mine");
  CHECK(decoded->parameters.at("pin") == ParameterValue(sha256(image).to_hex()));
}

TEST_CASE("PTX is taken with and without the NUL that the driver wants") {
  const auto builds = builds_of(file_of(kUserPtx));
  REQUIRE_MESSAGE(builds.has_value(), builds.error().to_line());
  const CubinRecord& record = *builds->front().record;
  CHECK(record.kind == ImageKind::ptx);
  CHECK(record.target == kUserSm80);
  CHECK(builds->front().image->size() == kUserPtx.size() + 1);
  REQUIRE(record.entry_points.size() == 2);
  CHECK(record.entry_points[0].name == "first");
  CHECK(record.entry_points[0].parameter_bytes == 24);
  CHECK(record.entry_points[1].parameter_bytes == 0);  // two arguments
  const auto ended = builds_of(file_of(kUserPtx + std::string(1, '\0')));
  REQUIRE(ended);
  CHECK(ended->front().record->digest == record.digest);
}

TEST_CASE("each image of a fatbinary is a build of one kernel") {
  const Bytes sm80 = test::make_fake_cubin({kUserSm80, {{"k", 8}}});
  const Bytes sm90a = test::make_fake_cubin({kUserSm90a, {{"k", 8}}});
  for (const auto packing :
       {test::FatbinPacking::none, test::FatbinPacking::lz4, test::FatbinPacking::zstd}) {
    const auto builds = builds_of(
        test::make_fake_fatbin({{2, sm80, packing}, {2, sm90a, packing}, {1, file_of(kUserPtx), packing}}));
    REQUIRE_MESSAGE(builds.has_value(), builds.error().to_line());
    REQUIRE(builds->size() == 3);
    const KernelId kernel = (*builds)[0].record->identity.kernel();
    for (const Cubin& build : *builds) {
      CHECK(build.record->identity.is_of(kernel));
      CHECK(check_image(*build.record, *build.image));
      CHECK(build.record->digest == sha256(*build.image));
    }
    CHECK((*builds)[1].record->target == kUserSm90a);
    CHECK(*(*builds)[1].image == sm90a);
    CHECK((*builds)[2].record->kind == ImageKind::ptx);
  }
}

TEST_CASE("other bytes under the same name are another kernel") {
  FakeCubin other;
  other.filler = 1;
  const auto one = builds_of(test::make_fake_cubin({}));
  const auto two = builds_of(test::make_fake_cubin(other));
  REQUIRE(one);
  REQUIRE(two);
  CHECK_FALSE(one->front().record->identity == two->front().record->identity);
}

TEST_CASE("what the driver could not load is refused with the remedy") {
  FakeCubin relocatable;
  relocatable.relocatable = true;
  const Error unlinked = refused_image(test::make_fake_cubin(relocatable));
  CHECK(unlinked.code == ErrorCode::invalid_argument);
  CHECK(contains(unlinked.message, "relocatable"));
  CHECK(contains(unlinked.remedy, "nvlink"));
  const Error inside = refused_image(test::make_fake_fatbin({{2, test::make_fake_cubin(relocatable)}}));
  CHECK(contains(inside.message, "relocatable"));

  FakeCubin empty;
  empty.kernels.clear();
  CHECK(contains(refused_image(test::make_fake_cubin(empty)).message, "no kernel"));
  CHECK(contains(refused_image(file_of(".version 9.0\n.target sm_90\n.func f() { ret; }")).message,
                 "no kernel"));

  CHECK(contains(refused_image({}).message, "neither a cubin, nor PTX, nor a fatbinary"));
  CHECK(refused_image(file_of("__global__ void k() {}")).code == ErrorCode::invalid_argument);
  CHECK(refused_image(file_of(".version 9.0\n.target sm_101\n.entry k() { ret; }")).code ==
        ErrorCode::corruption);
}

TEST_CASE("a program of the host is refused, and where device code is in it that is said") {
  Bytes host = test::make_fake_cubin({});
  const std::uint16_t machine = EM_X86_64;
  std::memcpy(host.data() + offsetof(Elf64_Ehdr, e_machine), &machine, sizeof(machine));
  const Error error = refused_image(host);
  CHECK(error.code == ErrorCode::invalid_argument);
  CHECK(contains(error.message, "host"));
  CHECK(contains(error.remedy, "nvcc --cubin"));
  FakeCubin holding;
  holding.globals = {{"data", ".nv_fatbin", 64}};
  Bytes object = test::make_fake_cubin(holding);
  std::memcpy(object.data() + offsetof(Elf64_Ehdr, e_machine), &machine, sizeof(machine));
  CHECK(contains(refused_image(object).message, "with device code in it"));
  CHECK(contains(refused_image(object).remedy, "cuobjdump -xelf all"));
  host[EI_CLASS] = std::byte{ELFCLASS32};
  CHECK(refused_image(host).code == ErrorCode::corruption);
}

TEST_CASE("a name that would be taken for something else is refused") {
  const Bytes image = test::make_fake_cubin({});
  for (const std::string& name :
       {std::string(), std::string("a@b"), std::string("a/b"), std::string("0123456789abcdef"),
        std::string("a\nb"), std::string(201, 'a')}) {
    CAPTURE(name);
    CHECK(spec_of_user_image(name, image).error().code == ErrorCode::invalid_argument);
  }
  for (const char* bare : {"bad name!", " gemm", "gemm ", "a  b", "a{b}", "a;b", "`a`", "a\"b"})
    CHECK_MESSAGE(!spec_of_user_image(bare, image), bare);
  CHECK(spec_of_user_image("axpy<float, 4>", image));
  CHECK(spec_of_user_image("gemm v2 (fast)", image));
}

TEST_CASE("every truncation and every flipped bit of an image gives builds or an error" *
          doctest::test_suite("loop")) {
  const Bytes cubin = test::make_fake_cubin({kUserSm90a, {{"k", 8}}, 16});
  for (const Bytes& file :
       {cubin, file_of(kUserPtx), test::make_fake_fatbin({{2, cubin}, {1, file_of(kUserPtx)}})}) {
    for (const std::size_t length : test::sampled(file.size(), 8))
      static_cast<void>(builds_of(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length))));
    for (const std::size_t i : test::sampled(file.size(), 8)) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        Bytes mutant = file;
        mutant[i] ^= static_cast<std::byte>(1U << bit);
        static_cast<void>(builds_of(mutant));
      }
    }
  }
}

}  // namespace
}  // namespace cubinet
