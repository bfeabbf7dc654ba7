// SPDX-License-Identifier: Apache-2.0
#include <cubinet/trust/secret_bytes.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet;

TEST_CASE("a secret is overwritten, and moved without a copy") {
  Bytes bytes(64, std::byte{7});
  cleanse(bytes);
  CHECK(std::count(bytes.begin(), bytes.end(), std::byte{0}) == 64);

  SecretBytes secret(Bytes(64, std::byte{9}));
  const std::byte* where = secret.view().data();
  SecretBytes moved(std::move(secret));
  CHECK(moved.view().data() == where);
  CHECK(secret.view().empty());  // NOLINT(bugprone-use-after-move): tests the moved-from value
  SecretBytes assigned;
  assigned = std::move(moved);
  CHECK(assigned.view().data() == where);
  CHECK(assigned.text() == std::string(64, '\x09'));
}
