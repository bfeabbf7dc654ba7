// SPDX-License-Identifier: Apache-2.0
#include "store/image_file.hpp"

#include "support/ok.hpp"

#include <doctest/doctest.h>

namespace cubinet::test {
namespace {

TEST_CASE("the bytes of an image file are taken if they have the digest") {
  const ByteView text = as_bytes("image");
  const Bytes image(text.begin(), text.end());
  CHECK(*ok(verified_bytes(image, "/x/y.cubin", sha256(image))) == image);
  const auto other = verified_bytes(image, "/x/y.cubin", sha256(as_bytes("other")));
  CHECK(other.error().code == ErrorCode::corruption);
  CHECK(other.error().message.starts_with("'/x/y.cubin' is damaged: "));
  const auto unread = verified_bytes(Error{ErrorCode::io, "no disk"}, "/x/y.cubin", sha256(image));
  CHECK(unread.error().message == "no disk");
}

TEST_CASE("only errors that judge the content say that a file is no image") {
  CHECK(is_no_image(damaged_file("/x", "short")));
  CHECK(is_no_image(Error{ErrorCode::invalid_argument, "a folder"}));
  for (const ErrorCode code : {ErrorCode::io, ErrorCode::not_found, ErrorCode::unavailable})
    CHECK_FALSE(is_no_image(Error{code, "unread"}));
}

}  // namespace
}  // namespace cubinet::test
