// SPDX-License-Identifier: Apache-2.0
#include "registry_token.hpp"

#include <cubinet/base/json_value.hpp>
#include <cubinet/base/text.hpp>

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::uint64_t kMaximumTokenAnswer = 1 << 20;

void skip_spaces(std::string_view& text) {
  while (text.starts_with(' ') || text.starts_with('\t'))
    text.remove_prefix(1);
}

std::string_view take_word(std::string_view& text) {
  const auto end =
      std::find_if(text.begin(), text.end(), [](char c) { return !is_word_character(c) && c != '-'; });
  const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(word.size());
  return word;
}

// Takes a quoted text, or everything up to the next comma.
std::optional<std::string> take_value(std::string_view& text) {
  if (!text.starts_with('"')) {
    const std::string value(text.substr(0, text.find_first_of(", ")));
    text.remove_prefix(value.size());
    return value;
  }
  std::string value;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    if (text[i] == '\\' && ++i == text.size()) break;
    value += text[i];
  }
  return std::nullopt;
}

bool writes(const HttpRequest& request) {
  return request.method == HttpMethod::put || request.method == HttpMethod::post;
}

std::string form_field(std::string_view name, std::string_view value) {
  return std::string(name) + "=" + percent_encode(value, Slashes::encoded);
}

}  // namespace

std::optional<AuthenticationChallenge> parse_challenge(std::string_view header) {
  skip_spaces(header);
  AuthenticationChallenge challenge{lower_case(take_word(header)), {}};
  if (challenge.scheme.empty()) return std::nullopt;
  for (;;) {
    skip_spaces(header);
    if (header.empty()) return challenge;
    const std::string name = lower_case(take_word(header));
    if (name.empty() || !header.starts_with('=')) return std::nullopt;
    header.remove_prefix(1);
    auto value = take_value(header);
    if (!value) return std::nullopt;
    challenge.parameters[name] = *std::move(value);
    skip_spaces(header);
    if (header.starts_with(',')) header.remove_prefix(1);
  }
}

Result<HttpHeaders> RegistryAuthorizer::headers(const HttpRequest& request) {
  const std::lock_guard lock(mutex_);
  const auto found = authorization_.find(writes(request));
  return found == authorization_.end() ? HttpHeaders() : HttpHeaders{found->second};
}

Result<bool> RegistryAuthorizer::refused(const HttpRequest& request, const HttpResponse& response) {
  const std::string* header = response.header("WWW-Authenticate");
  const auto challenge = parse_challenge(header == nullptr ? "" : *header);
  if (!challenge) return false;
  std::optional<HttpHeader> authorization;
  if (challenge->scheme == "bearer") {
    CUBINET_TRY_ASSIGN(const std::string token, fetch_token(*challenge));
    authorization = bearer_authorization(token);
  } else if (challenge->scheme == "basic" && credentials_ && !credentials_->basic.user.empty()) {
    authorization = basic_authorization(credentials_->basic);
  }
  if (!authorization) return false;
  const std::lock_guard lock(mutex_);
  authorization_[writes(request)] = *std::move(authorization);
  return true;
}

Result<std::string> RegistryAuthorizer::fetch_token(const AuthenticationChallenge& challenge) {
  const auto parameter = [&](const char* name) {
    const auto found = challenge.parameters.find(name);
    return found == challenge.parameters.end() ? std::string() : found->second;
  };
  auto realm = Url::parse(parameter("realm"));
  if (!realm)
    return Error{ErrorCode::unavailable,
                 registry_.for_people() + " sends to no usable place for a token: " + realm.error().message};
  std::string fields;
  for (const char* name : {"service", "scope"}) {
    const std::string value = parameter(name);
    if (!value.empty()) fields += (fields.empty() ? "" : "&") + form_field(name, value);
  }
  const bool may_know_us =
      registry_.scheme == "https" ? realm->scheme == "https" : realm->has_origin_of(registry_);
  const bool known = credentials_ && may_know_us;
  HttpRequest request{HttpMethod::get, *realm};
  MemorySink sink;
  request.limit = kMaximumTokenAnswer;
  request.sink = &sink;
  MemorySource form({});
  if (known && !credentials_->identity_token.empty()) {
    fields += (fields.empty() ? "" : "&") + form_field("grant_type", "refresh_token") + "&" +
              form_field("client_id", "cubinet") + "&" +
              form_field("refresh_token", credentials_->identity_token);
    form = MemorySource(as_bytes(fields));
    request.method = HttpMethod::post;
    request.repeatable = true;
    request.body = &form;
    request.headers.push_back({"Content-Type", "application/x-www-form-urlencoded"});
  } else {
    request.url.query += (request.url.query.empty() || fields.empty() ? "" : "&") + fields;
    if (known) request.headers.push_back(basic_authorization(credentials_->basic));
  }
  CUBINET_TRY_ASSIGN(const HttpResponse response, client_->send(request));
  const std::string what = "no token for " + registry_.for_people();
  if (!response.succeeded()) return refusal_error(what, response);
  const auto answer = parse_json(as_text(sink.bytes));
  for (const char* name : {"token", "access_token"}) {
    std::string token = answer ? answer->text_of(name) : "";
    if (!token.empty()) return token;
  }
  // The answer is not quoted in the message, because it may contain a token that was not
  // recognised.
  return Error{ErrorCode::unavailable, what + ": " + realm->for_people() + " answers with something else"};
}

}  // namespace cubinet
