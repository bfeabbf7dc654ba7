// SPDX-License-Identifier: Apache-2.0
#include "ed25519.hpp"

#include "support/ok.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <string_view>

using namespace cubinet;
using namespace cubinet::test;

namespace {

template <std::size_t count>
std::array<std::byte, count> hex(std::string_view text) {
  const Bytes bytes = ok(from_hex(text));
  std::array<std::byte, count> value{};
  REQUIRE(bytes.size() == count);
  std::copy(bytes.begin(), bytes.end(), value.begin());
  return value;
}

struct Vector {
  std::string_view seed, key, message, signature;
};

// RFC 8032, 7.1: tests 1, 2, 3 and "SHA(abc)".
constexpr Vector kVectors[] = {{"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
                                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
                                "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
                               {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
                                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                                "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
                               {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
                                "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
                                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
                                "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"},
                               {"833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
                                "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
                                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                                "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
                                "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"
                                "09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704"}};

// The points of order 1, 2, 4 and 8, each with either sign of x, and the second encodings of those
// with y below 19.
constexpr std::string_view kSmallOrderKeys[] = {
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"};

// Returns whether libcrypto accepts a signature, without this project's own checks.
bool libcrypto_takes(const Ed25519Point& key, const Ed25519Signature& signature, ByteView message) {
  const auto raw = [](ByteView bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); };
  EVP_PKEY* point = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(key), key.size());
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  const bool taken =
      EVP_DigestVerifyInit(context, nullptr, nullptr, nullptr, point) == 1 &&
      EVP_DigestVerify(context, raw(signature), signature.size(), raw(message), message.size()) == 1;
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(point);
  ERR_clear_error();
  return taken;
}

}  // namespace

TEST_CASE("the vectors of RFC 8032 are signed and verified") {
  for (const Vector& vector : kVectors) {
    const auto seed = hex<32>(vector.seed);
    const Bytes message = ok(from_hex(vector.message));
    CHECK(to_hex(ok(public_key_of(seed))) == vector.key);
    CHECK(to_hex(ok(sign_ed25519(seed, message))) == vector.signature);
    CHECK(verify_ed25519(hex<32>(vector.key), hex<64>(vector.signature), message));
    CHECK(why_not_a_key(hex<32>(vector.key)) == nullptr);
  }
}

TEST_CASE("a flipped bit of key, signature or message is no signature") {
  const Vector& vector = kVectors[2];
  const auto key = hex<32>(vector.key);
  const auto signature = hex<64>(vector.signature);
  Bytes message = ok(from_hex(vector.message));
  for (std::size_t bit = 0; bit < 8 * signature.size(); ++bit) {
    auto other = signature;
    other[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    CHECK(verify_ed25519(key, other, message).error().code == ErrorCode::untrusted);
  }
  for (std::size_t bit = 0; bit < 8 * key.size(); ++bit) {
    auto other = key;
    other[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    CHECK_FALSE(verify_ed25519(other, signature, message));
  }
  for (std::size_t bit = 0; bit < 8 * message.size(); ++bit) {
    message[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    CHECK_FALSE(verify_ed25519(key, signature, message));
    message[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
  }
  CHECK(verify_ed25519(key, signature, message));
  CHECK_FALSE(verify_ed25519(key, signature, ByteView(message).first(1)));
}

TEST_CASE("an S of the order of the group and above is another writing of a signature, and refused") {
  // L, least significant byte first. S + L is used if it fits into 32 bytes.
  const auto order = hex<32>("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
  for (const Vector& vector : kVectors) {
    auto signature = hex<64>(vector.signature);
    for (int times = 0; times < 10; ++times) {
      unsigned carry = 0;
      for (std::size_t i = 0; i < 32; ++i) {
        carry += std::to_integer<unsigned>(signature[32 + i]) + std::to_integer<unsigned>(order[i]);
        signature[32 + i] = static_cast<std::byte>(carry & 255U);
        carry >>= 8U;
      }
      REQUIRE(carry == 0);
      CHECK_FALSE(verify_ed25519(hex<32>(vector.key), signature, ok(from_hex(vector.message))));
    }
  }
}

TEST_CASE("keys of small order are none, for which libcrypto takes S of 0") {
  std::size_t taken = 0;
  for (const std::string_view text : kSmallOrderKeys) {
    const auto key = hex<32>(text);
    CAPTURE(text);
    CHECK(why_not_a_key(key) != nullptr);
    // R is the neutral point and S = 0, which is valid for one text in as many as the key's order.
    Ed25519Signature forged{};
    forged[0] = std::byte{1};
    for (std::uint8_t n = 0; n < 64; ++n) {
      const Bytes message{std::byte{n}};
      if (libcrypto_takes(key, forged, message)) ++taken;
    }
  }
  CHECK(taken > 100);  // otherwise the checks above would prove nothing
}

TEST_CASE("every y from the prime on is a second writing") {
  for (unsigned low = 0xed; low <= 0xff; ++low) {
    for (const unsigned sign : {0x7fU, 0xffU}) {
      Ed25519Point key;
      key.fill(std::byte{0xff});
      key.front() = static_cast<std::byte>(low);
      key.back() = static_cast<std::byte>(sign);
      REQUIRE(why_not_a_key(key) != nullptr);
      CHECK(std::string_view(why_not_a_key(key)) == "is not the canonical writing of its point");
    }
  }
}

TEST_CASE("what fails leaves no error in the queue that libcrypto keeps for the thread") {
  CHECK_FALSE(verify_ed25519(hex<32>(kVectors[0].key), {}, {}));
  CHECK_FALSE(verify_ed25519(hex<32>(kVectors[0].key), hex<64>(kVectors[1].signature), {}));
  CHECK(ERR_peek_error() == 0);
}
