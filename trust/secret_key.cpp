// SPDX-License-Identifier: Apache-2.0
#include "blake2b.hpp"
#include "crypto_errors.hpp"
#include "ed25519.hpp"
#include "minisign_text.hpp"

#include <cubinet/base/base64.hpp>
#include <cubinet/trust/secret_key.hpp>

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cubinet {
namespace {

// The layout of a secret key, in which the fields after the bar are encrypted by exclusive or:
// <"Ed"> <"Sc", or two zeros> <"B2"> <salt> <operations> <memory> | <id> <seed> <public key>
// <checksum>
constexpr std::string_view kScrypt = "Sc";
constexpr std::string_view kNoPassword{"\0\0", 2};
constexpr std::string_view kBlake2b = "B2";
constexpr std::size_t kSaltBytes = 32;
constexpr std::size_t kKeptBytes = 8 + 32 + 32 + 32;
constexpr std::size_t kSecretKeyBytes = 3 * 2 + kSaltBytes + 2 * 8 + kKeptBytes;
constexpr std::size_t kMaximumSecretFile = 4096;
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 30U;

Error no_secret_key(std::string_view text) {
  if (PublicKey::parse(text))
    return Error{ErrorCode::invalid_argument, "it is a public key, and a secret key signs",
                 "name the secret key, the file without '.pub'"};
  return Error{ErrorCode::invalid_argument, "it is no secret key of minisign's",
               "make one with `minisign -G` or `SecretKey::generate()`"};
}

void append(Bytes& bytes, ByteView more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

void append(Bytes& bytes, std::uint64_t number) {
  for (unsigned i = 0; i < 8; ++i)
    bytes.push_back(static_cast<std::byte>(number >> 8 * i));
}

Result<Bytes> random_bytes(std::size_t count) {
  const CryptoErrors errors;
  Bytes bytes(count);
  if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) == 1)
    return bytes;
  return Error{ErrorCode::unavailable, "the system gives no random numbers"};
}

std::array<std::byte, 32> checksum(ByteView id, ByteView seed, const Ed25519Point& point) {
  Bytes covered;
  covered.reserve(2 + kKeptBytes);
  for (const ByteView part : {as_bytes(kEd25519), id, seed, ByteView(point)})
    append(covered, part);
  const SecretBytes secret(std::move(covered));
  return blake2b_256(secret.view());
}

struct ScryptParameters {
  std::uint64_t n = 2;
  std::uint64_t p = 1;
};

// Derives scrypt's parameters from a cost as libsodium does, with r = 8: N is as large as memory or
// operations allow, then p follows.
ScryptParameters scrypt_parameters(const PasswordCost& cost) {
  constexpr std::uint64_t kR = 8;
  const std::uint64_t operations = std::max<std::uint64_t>(cost.operations, 32'768);
  const bool few_operations = operations < cost.memory / 32;
  const std::uint64_t most = few_operations ? operations / (kR * 4) : cost.memory / (kR * 128);
  ScryptParameters parameters;
  while (parameters.n <= most / 2 && parameters.n < std::uint64_t{1} << 62U)
    parameters.n *= 2;
  if (!few_operations) parameters.p = std::min<std::uint64_t>(operations / 4 / parameters.n, 0x3fffffff) / kR;
  return parameters;
}

// Returns the key stream that a password and the file's `salt` give.
Result<SecretBytes> password_stream(const SecretBytes& password, ByteView salt, const PasswordCost& cost) {
  const CryptoErrors errors;
  const ScryptParameters parameters = scrypt_parameters(cost);
  if (cost.memory > kMostMemory || parameters.p == 0 || parameters.p > 64 ||
      parameters.n * 1024 > kMostMemory) {
    return Error{ErrorCode::unsupported,
                 "deriving the key from the password would take more than 1 GiB, or no work",
                 "this is not how minisign encrypts a key"};
  }
  SecretBytes stream{Bytes(kKeptBytes)};
  const std::string_view text = password.text();
  const auto raw = [](ByteView bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); };
  if (EVP_PBE_scrypt(text.data(), text.size(), raw(salt), salt.size(), parameters.n, 8, parameters.p,
                     2 * kMostMemory, reinterpret_cast<unsigned char*>(stream.span().data()),
                     kKeptBytes) != 1) {
    return Error{ErrorCode::unavailable, "libcrypto could not derive a key from the password",
                 "it takes up to 1 GiB of memory"};
  }
  return stream;
}

void apply(std::span<std::byte> bytes, ByteView stream) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] ^= stream[i];
}

}  // namespace

Result<SecretKey> SecretKey::generate() {
  CUBINET_TRY_ASSIGN(Bytes drawn, random_bytes(32));
  SecretBytes seed(std::move(drawn));
  CUBINET_TRY_ASSIGN(const Bytes id, random_bytes(8));
  CUBINET_TRY_ASSIGN(const Ed25519Point point, public_key_of(seed.view()));
  CUBINET_TRY_ASSIGN(PublicKey key, PublicKey::make(FixedFields(id).array<8>(), point));
  return SecretKey(std::move(key), std::move(seed));
}

Result<SecretKey> SecretKey::parse(std::string_view text, const SecretBytes* password) {
  const auto lines = exact_lines(text, 2);
  if (lines.empty() || lines[0].size() > kMaximumComment || !lines[0].starts_with(kUntrustedComment))
    return no_secret_key(text);
  auto decoded = from_base64(lines[1]);
  if (!decoded) return no_secret_key(text);
  SecretBytes bytes(*std::move(decoded));
  if (bytes.view().size() != kSecretKeyBytes) return no_secret_key(text);
  FixedFields fields(bytes.view());
  if (as_text(fields.take(2)) != kEd25519) return no_secret_key(text);
  const std::string_view derivation = as_text(fields.take(2));
  if (as_text(fields.take(2)) != kBlake2b) return no_secret_key(text);
  const ByteView salt = fields.take(kSaltBytes);
  PasswordCost cost;
  cost.operations = fields.u64();
  cost.memory = fields.u64();
  if (derivation == kScrypt) {
    if (password == nullptr) {
      return Error{ErrorCode::invalid_argument, "the secret key is encrypted, and there is no password",
                   "give the password to `SecretKey::parse()`"};
    }
    CUBINET_TRY_ASSIGN(const SecretBytes stream, password_stream(*password, salt, cost));
    apply(bytes.span().last(kKeptBytes), stream.view());
  } else if (derivation != kNoPassword) {
    return no_secret_key(text);
  }
  const auto id = fields.array<8>();
  const ByteView seed = fields.take(32);
  const auto point = fields.array<32>();
  // minisign writes zeros as the checksum of a key without a password. We also check that the
  // public key belongs to the seed, because signing with another public key reveals the seed.
  CUBINET_TRY_ASSIGN(const Ed25519Point derived, public_key_of(seed));
  const auto stated = fields.array<32>();
  const bool none_stated = derivation == kNoPassword && stated == std::array<std::byte, 32>{};
  if (derived != point || (!none_stated && stated != checksum(id, seed, point))) {
    return Error{ErrorCode::untrusted, derivation == kScrypt
                                           ? "the password is wrong, or the secret key damaged"
                                           : "the secret key is damaged"};
  }
  CUBINET_TRY_ASSIGN(PublicKey key, PublicKey::make(id, point));
  return SecretKey(std::move(key), SecretBytes(Bytes(seed.begin(), seed.end())));
}

Result<SecretBytes> SecretKey::to_file(const SecretBytes* password, const PasswordCost& cost) const {
  Bytes room;
  room.reserve(kSecretKeyBytes);  // growing it would leave copies behind
  append(room, as_bytes(kEd25519));
  append(room, as_bytes(password == nullptr ? kNoPassword : kScrypt));
  append(room, as_bytes(kBlake2b));
  CUBINET_TRY_ASSIGN(const Bytes salt, random_bytes(kSaltBytes));
  append(room, salt);
  append(room, password == nullptr ? 0 : cost.operations);
  append(room, password == nullptr ? 0 : cost.memory);
  append(room, public_key_.id_bytes());
  append(room, seed());
  append(room, public_key_.point());
  append(room, checksum(public_key_.id_bytes(), seed(), public_key_.point()));
  SecretBytes bytes(std::move(room));
  if (password != nullptr) {
    CUBINET_TRY_ASSIGN(const SecretBytes stream, password_stream(*password, salt, cost));
    apply(bytes.span().last(kKeptBytes), stream.view());
  }
  std::string coded = to_base64(bytes.view());
  const std::string comment =
      std::string(kUntrustedComment) + "minisign secret key " + public_key_.id() + "\n";
  Bytes text;
  text.reserve(comment.size() + coded.size() + 1);
  for (const std::string_view part :
       {std::string_view(comment), std::string_view(coded), std::string_view("\n")})
    append(text, as_bytes(part));
  cleanse(std::as_writable_bytes(std::span(coded)));
  return SecretBytes(std::move(text));
}

Result<SecretKey> read_secret_key(FileSystem& files, const std::filesystem::path& path,
                                  const SecretBytes* password) {
  CUBINET_TRY_ASSIGN(OwnFile file, files.read_own(path, kMaximumSecretFile));
  const SecretBytes text(std::move(file.content));
  const bool is_open = (file.status.permissions & (S_IRWXG | S_IRWXO)) != 0;
  if (is_open && !PublicKey::parse(text.text())) {  // parse() names a public key as such
    return Error{ErrorCode::untrusted, "the secret key '" + path.string() + "' can be read by others",
                 "chmod 600 it, and think about who may have read it"};
  }
  auto key = SecretKey::parse(text.text(), password);
  if (key) return key;
  Error error = std::move(key).error();
  error.message = "'" + path.string() + "': " + error.message;
  return error;
}

Result<void> write_secret_file(const std::filesystem::path& path, const SecretBytes& text) {
  // FileSystem::create is not used because others may read its files. An incomplete file is
  // removed.
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) {
    const int reason = errno;
    return io_error("cannot create '" + path.string() + "'", reason,
                    reason == EEXIST ? "name another file: no secret key is overwritten" : "");
  }
  const std::string_view bytes = text.text();
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(file, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  int failure = done < bytes.size() || ::fsync(file) != 0 ? errno : 0;
  if (::close(file) != 0 && failure == 0) failure = errno;
  if (failure == 0) return {};
  ::unlink(path.c_str());
  return io_error("cannot write '" + path.string() + "'", failure);
}

}  // namespace cubinet
