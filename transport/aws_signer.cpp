// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/sha256_hasher.hpp>
#include <cubinet/transport/aws_signer.hpp>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>

namespace cubinet {
namespace {

Bytes hmac_sha256(ByteView key, std::string_view text) {
  Bytes mac(EVP_MAX_MD_SIZE);
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       reinterpret_cast<unsigned char*>(mac.data()), &size);
  mac.resize(size);
  return mac;
}

std::string in_lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// Returns the encoded parameters in order, each with its '='.
std::string canonical_query(std::string_view query) {
  std::vector<std::string> parameters;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    std::string parameter(query.substr(0, end));
    if (parameter.find('=') == std::string::npos) parameter += '=';
    parameters.push_back(std::move(parameter));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  // Sorts by name, then by value. Names and values contain no '=', which sorts above some
  // characters of names.
  std::sort(parameters.begin(), parameters.end(), [](const std::string& a, const std::string& b) {
    const auto split = [](const std::string& text) {
      const std::size_t equals = text.find('=');
      return std::pair(text.substr(0, equals), text.substr(equals + 1));
    };
    return split(a) < split(b);
  });
  std::string canonical;
  for (const std::string& parameter : parameters)
    canonical += (canonical.empty() ? "" : "&") + parameter;
  return canonical;
}

// Returns the value with each run of spaces replaced by one space.
std::string trimmed_value(std::string_view value) {
  std::string trimmed;
  for (const char c : value) {
    if (c != ' ') trimmed += c;
    if (c == ' ' && !trimmed.empty() && trimmed.back() != ' ') trimmed += c;
  }
  if (trimmed.ends_with(' ')) trimmed.pop_back();
  return trimmed;
}

Result<Sha256Digest> digest_of(BodySource& source) {
  Sha256Hasher hasher;
  Bytes chunk(std::size_t{1} << 16);
  for (std::uint64_t offset = 0; offset < source.size();) {
    CUBINET_TRY_ASSIGN(const std::size_t count, source.read(offset, chunk));
    if (count == 0) return Error{ErrorCode::io, "what is to be sent ends before its size"};
    hasher.raw(ByteView(chunk).first(count));
    offset += count;
  }
  return hasher.finish();
}

}  // namespace

std::string aws_authorization(const AwsRequest& request, const AwsCredentials& credentials,
                              std::string_view region, std::string_view service, std::string_view time) {
  std::vector<std::pair<std::string, std::string>> headers = {{"host", request.url.authority()}};
  for (const HttpHeader& header : request.headers)
    headers.emplace_back(in_lower_case(header.name), trimmed_value(header.value));
  std::sort(headers.begin(), headers.end());
  std::string lines, names;
  for (const auto& [name, value] : headers) {
    lines += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical = std::string(to_string(request.method)) + "\n" + request.url.path + "\n" +
                                canonical_query(request.url.query) + "\n" + lines + "\n" + names + "\n" +
                                request.body_sha256;
  const std::string day(time.substr(0, 8));
  const std::string scope = day + "/" + std::string(region) + "/" + std::string(service) + "/aws4_request";
  const std::string to_sign =
      "AWS4-HMAC-SHA256\n" + std::string(time) + "\n" + scope + "\n" + sha256(as_bytes(canonical)).to_hex();
  Bytes key = hmac_sha256(as_bytes("AWS4" + credentials.secret_key), day);
  for (const std::string_view part : {region, service, std::string_view("aws4_request")})
    key = hmac_sha256(key, part);
  return "AWS4-HMAC-SHA256 Credential=" + credentials.access_key + "/" + scope + ", SignedHeaders=" + names +
         ", Signature=" + to_hex(hmac_sha256(key, to_sign));
}

Result<HttpHeaders> S3Signer::headers(const HttpRequest& request) {
  CUBINET_TRY_ASSIGN(const AwsCredentials credentials, credentials_());
  std::optional<Sha256Digest> digest = request.body_digest;
  if (!digest && request.body == nullptr) digest = sha256({});
  if (!digest) {
    CUBINET_TRY_ASSIGN(digest, digest_of(*request.body));
  }
  const std::time_t now = clock_ ? clock_() : std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> time{};
  std::strftime(time.data(), time.size(), "%Y%m%dT%H%M%SZ", &parts);
  HttpHeaders headers{{"x-amz-content-sha256", digest->to_hex()}, {"x-amz-date", time.data()}};
  if (!credentials.session_token.empty())
    headers.push_back({"x-amz-security-token", credentials.session_token});
  const AwsRequest to_sign{request.method, request.url, headers, digest->to_hex()};
  headers.push_back({"Authorization", aws_authorization(to_sign, credentials, region_, "s3", time.data())});
  return headers;
}

}  // namespace cubinet
