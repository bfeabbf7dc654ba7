// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/sha256.hpp>

#include <doctest/doctest.h>
#include <openssl/crypto.h>

#include <cstdlib>
#include <new>

using namespace cubinet;

namespace {

unsigned failing = 0;  // the number of libcrypto's allocation that fails; 0: none
unsigned count = 0;

bool fails() {
  ++count;
  return failing != 0 && count == failing;
}

void* take(std::size_t size, const char* /*file*/, int /*line*/) {
  return fails() ? nullptr : std::malloc(size);
}
void* take_again(void* memory, std::size_t size, const char* /*file*/, int /*line*/) {
  return fails() ? nullptr : std::realloc(memory, size);
}
void give_back(void* memory, const char* /*file*/, int /*line*/) {
  std::free(memory);
}

// This must run before libcrypto's first allocation, because libcrypto rejects the functions later.
const bool set = CRYPTO_set_mem_functions(take, take_again, give_back) == 1;

}  // namespace

TEST_CASE("memory that libcrypto lacks for a digest is an exception and no end") {
  REQUIRE(set);
  const Sha256Digest digest = sha256(as_bytes("text"));
  unsigned failed = 0;
  bool reached = true;
  for (unsigned number = 1; reached; ++number) {
    count = 0;
    failing = number;
    try {
      CHECK(sha256(as_bytes("text")) == digest);
    } catch (const std::bad_alloc&) {
      ++failed;
    }
    reached = count >= number;
    failing = 0;
  }
  CHECK(failed > 0);
  CHECK(sha256(as_bytes("text")) == digest);
}
