// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/base64.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/transport/http_message.hpp>

#include <algorithm>

namespace cubinet {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string remedy_of_status(int status) {
  switch (status) {
    case 401:
      return "give the credentials that this server asks for";
    case 403:
      return "these credentials, or none, may not do this here: give others, or ask who runs the server";
    case 404:
    case 410:
      return "";
    case 405:
      return "this server does not take this method there: is it the right address?";
    case 413:
      return "the server takes no body of this size: raise its limit (nginx: client_max_body_size)";
    default:
      return status >= 500 ? "try again later, or name another mirror" : "";
  }
}

}  // namespace

std::string_view to_string(HttpMethod method) {
  switch (method) {
    case HttpMethod::get:
      return "GET";
    case HttpMethod::head:
      return "HEAD";
    case HttpMethod::put:
      return "PUT";
    case HttpMethod::post:
      return "POST";
  }
  return "GET";
}

const std::string* find_header(const HttpHeaders& headers, std::string_view name) {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const HttpHeader& header) {
    return std::equal(header.name.begin(), header.name.end(), name.begin(), name.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
  });
  return found == headers.end() ? nullptr : &found->value;
}

Result<std::size_t> MemorySource::read(std::uint64_t offset, std::span<std::byte> into) {
  if (offset >= bytes_.size()) return std::size_t{0};
  const ByteView chunk = bytes_.subspan(static_cast<std::size_t>(offset));
  const std::size_t count = std::min(chunk.size(), into.size());
  std::copy_n(chunk.begin(), count, into.begin());
  return count;
}

Error refusal_error(std::string what, const HttpResponse& response) {
  std::string message = std::move(what) + ": " + response.url.for_people() + " answered with status " +
                        std::to_string(response.status);
  if (!response.refusal.empty()) message += " ('" + printable(response.refusal, kQuotedBytes) + "')";
  const bool absent = response.status == 404 || response.status == 410;
  return Error{absent ? ErrorCode::not_found : ErrorCode::unavailable,
               std::move(message),
               remedy_of_status(response.status),
               {},
               response.status};
}

Result<bool> Authorizer::refused(const HttpRequest&, const HttpResponse&) {
  return false;
}

HttpHeader basic_authorization(const BasicCredentials& credentials) {
  return {"Authorization", "Basic " + to_base64(as_bytes(credentials.user + ":" + credentials.password))};
}

HttpHeader bearer_authorization(std::string_view token) {
  return {"Authorization", "Bearer " + std::string(token)};
}

}  // namespace cubinet
