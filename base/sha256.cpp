// SPDX-License-Identifier: Apache-2.0
#include "little_endian.hpp"

#include <cubinet/base/byte_stream.hpp>
#include <cubinet/base/sha256_hasher.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

namespace cubinet {

namespace {

// Returns the algorithm, which is fetched once. EVP_sha256() is looked up among the providers at
// every use (0.2 us, half the time of hashing 600 bytes). It is never freed because hashing must
// work until the process ends.
const EVP_MD* algorithm() {
  static std::atomic<const EVP_MD*> known{nullptr};
  const EVP_MD* fetched = known.load(std::memory_order_acquire);
  if (fetched != nullptr) return fetched;
  // libcrypto must not clean up when the process exits while other threads hash. This has an effect
  // if nothing else in the process has used libcrypto before.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  // This also happens on a host whose policy forbids SHA-256, which can verify nothing.
  if (fetched == nullptr) throw std::bad_alloc();
  known.store(fetched, std::memory_order_release);
  return fetched;
}

}  // namespace

struct Sha256Hasher::State {
  struct Free {
    void operator()(EVP_MD_CTX* used) const { EVP_MD_CTX_free(used); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};

  State() {
    if (context == nullptr || EVP_DigestInit_ex(context.get(), algorithm(), nullptr) != 1)
      throw std::bad_alloc();
  }
};

Sha256Hasher::Sha256Hasher() : state_(std::make_unique<State>()) {}
Sha256Hasher::~Sha256Hasher() = default;
Sha256Hasher::Sha256Hasher(Sha256Hasher&&) noexcept = default;
Sha256Hasher& Sha256Hasher::operator=(Sha256Hasher&&) noexcept = default;

void Sha256Hasher::raw(ByteView bytes) {
  EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
}

void Sha256Hasher::field(std::string_view tag, std::string_view content) {
  // Writes the same bytes as ByteWriter's string() and u64(), without its allocation.
  raw(little_endian(static_cast<std::uint32_t>(tag.size())));
  raw(as_bytes(tag));
  raw(little_endian(std::uint64_t{content.size()}));
  raw(as_bytes(content));
}

Sha256Digest Sha256Hasher::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> buffer{};
  unsigned int length = 0;
  EVP_DigestFinal_ex(state_->context.get(), buffer.data(), &length);
  Sha256Digest digest;
  std::transform(buffer.begin(), buffer.begin() + digest.bytes.size(), digest.bytes.begin(),
                 [](unsigned char value) { return static_cast<std::byte>(value); });
  return digest;
}

Sha256Digest sha256(ByteView bytes) {
  Sha256Hasher hasher;
  hasher.raw(bytes);
  return hasher.finish();
}

std::string Sha256Digest::to_hex() const {
  return cubinet::to_hex(bytes);
}

Result<Sha256Digest> Sha256Digest::parse(std::string_view hex) {
  auto decoded = from_hex(hex);
  if (!decoded || decoded->size() != 32) {
    return Error{ErrorCode::invalid_argument, "'" + std::string(hex.substr(0, 80)) + "' is no SHA-256 digest",
                 "a digest is 64 hexadecimal digits"};
  }
  Sha256Digest digest;
  std::copy(decoded->begin(), decoded->end(), digest.bytes.begin());
  return digest;
}

}  // namespace cubinet
