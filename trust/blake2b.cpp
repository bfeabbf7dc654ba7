// SPDX-License-Identifier: Apache-2.0
#include "blake2b.hpp"

#include "crypto_errors.hpp"

#include <cubinet/trust/secret_bytes.hpp>

#include <openssl/evp.h>

#include <bit>
#include <cstdint>

namespace cubinet {
namespace {

using Words = std::array<std::uint64_t, 16>;

// RFC 7693: the initial state, and the order in which a round takes the message's words.
constexpr std::array<std::uint64_t, 8> kInitial = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                                   0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                                   0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
constexpr std::uint8_t kOrder[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                         {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                         {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                         {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                         {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                         {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                         {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                         {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                         {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                         {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

void mix(Words& v, std::size_t a, std::size_t b, std::size_t c, std::size_t d, std::uint64_t x,
         std::uint64_t y) {
  v[a] += v[b] + x;
  v[d] = std::rotr(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = std::rotr(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 63);
}

void rounds(Words& v, const Words& message) {
  for (std::size_t round = 0; round < 12; ++round) {
    const auto& order = kOrder[round % 10];
    for (std::size_t i = 0; i < 4; ++i)
      mix(v, i, 4 + i, 8 + i, 12 + i, message[order[2 * i]], message[order[2 * i + 1]]);
    for (std::size_t i = 0; i < 4; ++i)
      mix(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, message[order[8 + 2 * i]],
          message[order[9 + 2 * i]]);
  }
}

}  // namespace

Result<std::array<std::byte, 64>> blake2b_512(ByteView bytes) {
  const CryptoErrors errors;
  std::array<std::byte, 64> digest{};
  EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "BLAKE2B-512", nullptr);
  const bool done = algorithm != nullptr &&
                    EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()),
                               nullptr, algorithm, nullptr) == 1;
  EVP_MD_free(algorithm);
  if (done) return digest;
  return Error{ErrorCode::unsupported, "libcrypto has no BLAKE2b here, with which minisign signs",
               "a host in FIPS mode verifies signatures of `minisign -S -l` alone"};
}

std::array<std::byte, 32> blake2b_256(ByteView bytes) {
  // Compresses one block: the message, its length, and the flag of the last block.
  Words message{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    message[i / 8] |= std::to_integer<std::uint64_t>(bytes[i]) << 8 * (i % 8);
  Words v{};
  for (std::size_t i = 0; i < 8; ++i)
    v[i] = v[8 + i] = kInitial[i];
  constexpr std::uint64_t kParameters = 0x01010020;  // depth and fan-out 1, no key, 32 bytes
  v[0] ^= kParameters;
  v[12] ^= bytes.size();
  v[14] = ~v[14];
  rounds(v, message);
  std::array<std::byte, 32> digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const std::size_t word = i / 8;
    const std::uint64_t start = kInitial[word] ^ (word == 0 ? kParameters : 0);
    digest[i] = static_cast<std::byte>((start ^ v[word] ^ v[8 + word]) >> 8 * (i % 8));
  }
  cleanse(std::as_writable_bytes(std::span(message)));
  cleanse(std::as_writable_bytes(std::span(v)));
  return digest;
}

}  // namespace cubinet
