// SPDX-License-Identifier: Apache-2.0
#include "blake2b.hpp"
#include "ed25519.hpp"
#include "minisign_text.hpp"

#include <cubinet/base/base64.hpp>
#include <cubinet/trust/secret_key.hpp>
#include <cubinet/trust/signature.hpp>

namespace cubinet {
namespace {

constexpr std::string_view kTrustedComment = "trusted comment: ";
constexpr std::size_t kSignatureBytes = 2 + 8 + 64;

Error no_signature(std::string_view reason) {
  return Error{ErrorCode::invalid_argument, "it is no signature of minisign's: " + std::string(reason)};
}

// Returns the bytes that the second signature covers.
Bytes with_comment(const std::array<std::byte, 64>& signature, std::string_view comment) {
  Bytes bytes(signature.begin(), signature.end());
  const ByteView text = as_bytes(comment);
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

}  // namespace

Result<MinisignSignature> parse_signature(std::string_view text) {
  if (text.size() > kMaximumSignatureBytes) return no_signature("it is too long");
  const auto lines = exact_lines(text, 4);
  if (lines.empty()) return no_signature("it has not exactly four whole lines");
  if (!lines[0].starts_with(kUntrustedComment) || lines[0].size() > kMaximumComment)
    return no_signature("its first line is no untrusted comment");
  if (!lines[2].starts_with(kTrustedComment)) return no_signature("its third line is no trusted comment");
  MinisignSignature result;
  result.trusted_comment = lines[2].substr(kTrustedComment.size());
  if (result.trusted_comment.size() > kMaximumTrustedComment || !is_comment(result.trusted_comment))
    return no_signature("its trusted comment is too long or holds control characters");
  const auto signature = from_base64(lines[1]);
  if (!signature || signature->size() != kSignatureBytes)
    return no_signature("its second line is no signature");
  const auto comment_signature = from_base64(lines[3]);
  if (!comment_signature || comment_signature->size() != result.comment_signature.size())
    return no_signature("its fourth line is no signature");
  FixedFields fields(*signature);
  const std::string_view algorithm = as_text(fields.take(2));
  if (algorithm != kPrehashed && algorithm != kEd25519)
    return no_signature("its algorithm is neither ED nor Ed");
  result.prehashed = algorithm == kPrehashed;
  result.key_id = fields.array<8>();
  result.signature = fields.array<64>();
  result.comment_signature = FixedFields(*comment_signature).array<64>();
  return result;
}

std::string MinisignSignature::to_file() const {
  Bytes bytes;
  for (const ByteView part :
       {as_bytes(prehashed ? kPrehashed : kEd25519), ByteView(key_id), ByteView(signature)})
    bytes.insert(bytes.end(), part.begin(), part.end());
  return std::string(kUntrustedComment) + "signature of key " + key_id_text(key_id) + "\n" +
         to_base64(bytes) + "\n" + std::string(kTrustedComment) + trusted_comment + "\n" +
         to_base64(comment_signature) + "\n";
}

Result<void> verify_signature(const PublicKey& key, const MinisignSignature& signature, ByteView bytes) {
  if (signature.key_id != key.id_bytes()) {
    return Error{ErrorCode::untrusted,
                 "the signature is of key " + key_id_text(signature.key_id) + " and not of key " + key.id()};
  }
  if (signature.prehashed) {
    CUBINET_TRY_ASSIGN(const auto digest, blake2b_512(bytes));
    CUBINET_TRY(verify_ed25519(key.point(), signature.signature, digest));
  } else {
    CUBINET_TRY(verify_ed25519(key.point(), signature.signature, bytes));
  }
  auto commented = verify_ed25519(key.point(), signature.comment_signature,
                                  with_comment(signature.signature, signature.trusted_comment));
  if (commented || commented.error().code != ErrorCode::untrusted) return commented;
  return Error{ErrorCode::untrusted, "the trusted comment is not the one that was signed"};
}

Result<MinisignSignature> sign(const SecretKey& key, ByteView bytes, std::string_view trusted_comment) {
  // minisign limits the whole line, including its prefix and end, to the size of the comment.
  if (trusted_comment.size() + kTrustedComment.size() + 2 > kMaximumTrustedComment ||
      !is_comment(trusted_comment)) {
    return Error{ErrorCode::invalid_argument,
                 "a comment that is signed has at most 8000 bytes and no control characters but tabs"};
  }
  MinisignSignature result;
  result.key_id = key.public_key().id_bytes();
  result.trusted_comment = trusted_comment;
  CUBINET_TRY_ASSIGN(const auto digest, blake2b_512(bytes));
  CUBINET_TRY_ASSIGN(result.signature, sign_ed25519(key.seed(), digest));
  CUBINET_TRY_ASSIGN(result.comment_signature,
                     sign_ed25519(key.seed(), with_comment(result.signature, trusted_comment)));
  return result;
}

}  // namespace cubinet
