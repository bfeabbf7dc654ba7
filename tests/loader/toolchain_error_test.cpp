// SPDX-License-Identifier: Apache-2.0
// Tests the errors of a driver that rejects images of a later CUDA. Controls the stub.
#include "toolchain_error.hpp"

#include "loader/driver_under_test.hpp"
#include "support/text.hpp"

#include <cubinet/loader/module.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using cubinet::test::contains;
using cubinet::test::DriverUnderTest;
using cubinet::test::needs_stub;

namespace {

constexpr int kUnsupportedPtx = 222;

Cubin ptx_of(const DriverUnderTest& test, const std::string& head) {
  const std::string text = head + ".version 9.3\n.target " + test.target().to_string() +
                           "\n.visible .entry vector_add()\n{ ret; }\n";
  auto image = std::make_shared<Bytes>(as_bytes(text).begin(), as_bytes(text).end());
  image->push_back(std::byte{0});
  Cubin cubin = cubinet::test::with_record(test.cubin(), [&](CubinRecord& record) {
    record.kind = ImageKind::ptx;
    record.size = image->size();
    record.entry_points.resize(1);
  });
  cubin.image = std::move(image);
  return cubin;
}

Error refused(const DriverUnderTest& test, const Cubin& cubin, const char* function, int result) {
  test.stub->fail(function, 1, result);
  const auto module = Module::load(test.device, cubin);
  REQUIRE(!module);
  CHECK(module.error().native == result);
  CHECK(test.stub->live("image") == 0);
  return module.error();
}

}  // namespace

TEST_CASE("PTX that is later than the driver is refused with both releases and what helps") {
  const DriverUnderTest test;
  if (needs_stub(test)) return;
  test.stub->set_version(13000);
  const Cubin named = ptx_of(test, "// Cuda compilation tools, release 13.5, V13.5.37\n");
  // The look-up fails if modules are loaded lazily.
  for (const char* function : {"cuLibraryLoadData", "cuKernelGetFunction"}) {
    const Error error = refused(test, named, function, kUnsupportedPtx);
    CHECK(error.code == ErrorCode::unsupported);
    CHECK_MESSAGE(contains(error.message, "PTX 9.3 was made by CUDA 13.5, and the driver is of CUDA 13.0"),
                  error.message);
    CHECK(contains(error.remedy, "a driver of CUDA 13.5 or later"));
    CHECK(contains(error.remedy, "an NVRTC of CUDA 13.0 or earlier"));
    CHECK(contains(error.remedy, "machine code"));
  }
  const Error unnamed = refused(test, ptx_of(test, ""), "cuLibraryLoadData", kUnsupportedPtx);
  CHECK(contains(unnamed.message, "PTX 9.3 was made by a release that it does not name"));
  CHECK(contains(unnamed.remedy, "a driver of a later CUDA"));
}

TEST_CASE("machine code that wants a later loader is refused with both releases") {
  DriverUnderTest test(DriverUnderTest::Unopened{});
  if (needs_stub(test)) return;
  test.stub->set_version(12080);
  test.open();
  const Error error = refused(test, test.cubin(), "cuLibraryLoadData", kInsufficientLoaderVersion);
  CHECK(error.code == ErrorCode::unsupported);
  CHECK_MESSAGE(contains(error.message, "the image was made by CUDA 13."), error.message);
  CHECK(contains(error.message, "and the driver is of CUDA 12.8"));
  CHECK(contains(error.remedy, "a driver of CUDA 13."));
  CHECK(!contains(error.remedy, "machine code"));
}

TEST_CASE("what a driver refuses for another reason is told as before") {
  const DriverUnderTest test;
  if (needs_stub(test)) return;
  const Error error = refused(test, test.cubin(), "cuLibraryLoadData", 209);
  CHECK(!contains(error.message, "was made by"));
}
