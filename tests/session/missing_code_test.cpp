// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/missing_code.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("a missing source or image is named by its digest, and other errors stay") {
  const Error absent{ErrorCode::not_found, "absent", "import"};
  KernelSpec source{"axpy", {}, KernelMaker::source};
  source.set("text", "0123");
  CHECK(missing_code(source, absent).message == "the source 'axpy' with the SHA-256 0123 is in no store");
  KernelSpec image{"gemm", {}, KernelMaker::function};
  image.set("pin", "4567");
  CHECK(missing_code(image, absent).to_line().find("resolve the image") != std::string::npos);
  CHECK(missing_code(image, absent).message.find("4567") != std::string::npos);
  CHECK(missing_code(KernelSpec{"rms_norm", {}}, absent).message == "absent");
  CHECK(missing_code(source, {ErrorCode::driver, "lost"}).message == "lost");
}
