// SPDX-License-Identifier: Apache-2.0
#include "http_connection.hpp"
#include "retry.hpp"

#include <cubinet/base/fork_guard.hpp>
#include <cubinet/base/host_port.hpp>
#include <cubinet/base/text.hpp>

#include <algorithm>
#include <mutex>
#include <random>
#include <thread>
#include <unistd.h>

namespace cubinet {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr unsigned kMaximumRedirects = 5;

ForkHazard curl_library;

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool tells_who_asks(std::string_view name) {
  HttpHeaders one{{std::string(name), ""}};
  for (const std::string_view secret : {"Authorization", "Cookie", "Proxy-Authorization"}) {
    if (find_header(one, secret) != nullptr) return true;
  }
  return false;
}

bool is_idempotent(const HttpRequest& request) {
  return request.method != HttpMethod::post || request.repeatable;
}

// Returns an error for a header with a line break, which would act as two headers.
Result<void> check_headers(const HttpHeaders& headers) {
  for (const HttpHeader& header : headers) {
    const auto forbidden = [](char c) { return c == '\r' || c == '\n' || c == '\0'; };
    if (std::any_of(header.name.begin(), header.name.end(), forbidden) ||
        std::any_of(header.value.begin(), header.value.end(), forbidden))
      return Error{ErrorCode::invalid_argument,
                   "the header '" + printable(header.name) + "' has a line break in it"};
  }
  return {};
}

Result<void> check_scheme(const HttpSettings& settings, const Url& url) {
  if (url.scheme == "https" || allows_plain_http(settings, url.host, url.port)) return {};
  return Error{
      ErrorCode::untrusted, url.for_people() + " is not asked: http:// proves nothing of who answers",
      "use https://, or allow plain HTTP for " + url.authority() + " with `HttpSettings::plain_http`"};
}

// Returns a seed, so that the delays of many clients differ. std::random_device is not used:
// libstdc++'s needs glibc 2.36, which the portable build does not require, and it may throw.
std::uint64_t seed_of_waits() {
  std::uint64_t number = 0;
  if (::getentropy(&number, sizeof(number)) != 0) number = static_cast<std::uint64_t>(::getpid());
  return number;
}

}  // namespace

struct HttpClient::State {
  std::mutex mutex;
  std::shared_ptr<const CurlApi> curl;
  std::vector<std::unique_ptr<HttpConnection>> idle;
  unsigned sessions = 0;
  std::mt19937_64 random{seed_of_waits()};
  ForkGuard guard;

  Result<std::unique_ptr<HttpConnection>> take(const std::string& library);
  void give_back(std::unique_ptr<HttpConnection> connection);
  std::uint64_t random_number() {
    const std::lock_guard lock(mutex);
    return random();
  }
};

namespace {

// A request in progress: its current attempt, and the results of the earlier attempts.
class Journey {
 public:
  Journey(const HttpSettings& settings, const HttpRequest& request)
      : settings_(settings), request_(request), body_(request), end_(Clock::now() + settings.deadline) {}

  milliseconds time_left() const { return std::chrono::duration_cast<milliseconds>(end_ - Clock::now()); }
  // Makes one attempt and follows its redirects.
  Result<HttpAttempt> attempt(HttpConnection& connection);
  ResponseBody& body() { return body_; }

 private:
  Result<std::optional<Url>> redirected(const HttpResponse& response) const;
  bool asks_for_credentials(const HttpResponse& response) const {
    return response.status == 401 && request_.authorizer != nullptr;
  }
  Result<HttpHeaders> headers_for(bool at_origin, const HttpHeaders& range);

  const HttpSettings& settings_;
  const HttpRequest& request_;
  ResponseBody body_;
  Clock::time_point end_;
};

Result<HttpHeaders> Journey::headers_for(bool at_origin, const HttpHeaders& range) {
  HttpHeaders headers;
  for (const HttpHeader& header : request_.headers) {
    if (at_origin || !tells_who_asks(header.name)) headers.push_back(header);
  }
  headers.insert(headers.end(), range.begin(), range.end());
  if (at_origin && request_.authorizer != nullptr) {
    CUBINET_TRY_ASSIGN(const HttpHeaders more, request_.authorizer->headers(request_));
    headers.insert(headers.end(), more.begin(), more.end());
  }
  CUBINET_TRY(check_headers(headers));
  return headers;
}

// Returns the target of a redirect, or nullopt if the response is not one.
Result<std::optional<Url>> Journey::redirected(const HttpResponse& response) const {
  const std::string* location = response.header("Location");
  if (!is_redirect(response.status) || location == nullptr) return std::optional<Url>();
  const bool reads = request_.method == HttpMethod::get || request_.method == HttpMethod::head;
  // Most clients turn an upload into a GET for the three older statuses.
  if (!reads && response.status != 307 && response.status != 308) return std::optional<Url>();
  CUBINET_TRY_ASSIGN(Url next, response.url.resolve(*location));
  if (response.url.scheme == "https" && next.scheme != "https")
    return Error{ErrorCode::untrusted,
                 response.url.for_people() + " redirects to " + next.for_people() +
                     ", which anybody on the way can write",
                 "name an address that is https:// to its end"};
  return std::optional<Url>(std::move(next));
}

Result<HttpAttempt> Journey::attempt(HttpConnection& connection) {
  CUBINET_TRY_ASSIGN(const HttpHeaders range, body_.ask());
  Url url = request_.url;
  bool at_origin = true, asked_again = false;
  for (unsigned redirects = 0;;) {
    CUBINET_TRY(check_scheme(settings_, url));
    CUBINET_TRY_ASSIGN(const HttpHeaders headers, headers_for(at_origin, range));
    if (time_left() <= milliseconds(0)) {
      HttpAttempt late;
      late.failure = Error{ErrorCode::unavailable, url.for_people() + ": no answer within the time limit"};
      return late;
    }
    HttpAttempt attempt = connection.perform(settings_, request_, url, headers, body_, time_left());
    if (attempt.failure) return attempt;
    if (at_origin && !asked_again && asks_for_credentials(attempt.response)) {
      CUBINET_TRY_ASSIGN(asked_again, request_.authorizer->refused(request_, attempt.response));
      if (asked_again) continue;
    }
    CUBINET_TRY_ASSIGN(const std::optional<Url> next, redirected(attempt.response));
    if (!next) return attempt;
    if (++redirects > kMaximumRedirects) {
      attempt.failure =
          Error{ErrorCode::untrusted,
                request_.url.for_people() + " redirects more than 5 times, last to " + next->for_people()};
      // The content was reachable when the transfer began.
      attempt.may_pass = body_.received() > 0;
      return attempt;
    }
    at_origin = at_origin && next->has_origin_of(request_.url);
    url = *next;
  }
}

// Returns false if the request was cancelled while waiting.
bool wait(const HttpSettings& settings, milliseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
    if (settings.cancelled && settings.cancelled()) return false;
    std::this_thread::sleep_for(std::min<Clock::duration>(end - Clock::now(), milliseconds(100)));
  }
  return true;
}

Error out_of_attempts(Error last, unsigned attempts, std::string_view why) {
  last.message += " (after " + plural(attempts, "attempt") + std::string(why) + ")";
  return last;
}

}  // namespace

Result<std::unique_ptr<HttpConnection>> HttpClient::State::take(const std::string& library) {
  const std::lock_guard lock(mutex);
  if (!curl) {
    CUBINET_TRY_ASSIGN(curl, CurlApi::open(library));
  }
  if (!guard.in_original_process()) {
    for (const auto& connection : idle)
      connection->abandon();
    idle.clear();
  }
  if (idle.empty()) return HttpConnection::open(curl);
  std::unique_ptr<HttpConnection> connection = std::move(idle.back());
  idle.pop_back();
  return connection;
}

void HttpClient::State::give_back(std::unique_ptr<HttpConnection> connection) {
  const std::lock_guard lock(mutex);
  if (sessions > 0 && guard.in_original_process()) idle.push_back(std::move(connection));
}

HttpClient::HttpClient(HttpSettings settings)
    : settings_(std::move(settings)), state_(std::make_unique<State>()) {}

HttpClient::~HttpClient() {
  if (state_->guard.in_original_process()) return;
  for (const auto& connection : state_->idle)
    connection->abandon();
}

HttpClient::Session::Session(HttpClient& client) : client_(&client) {
  const std::lock_guard lock(client_->state_->mutex);
  ++client_->state_->sessions;
}

HttpClient::Session::~Session() {
  if (client_ == nullptr) return;
  std::vector<std::unique_ptr<HttpConnection>> closed;
  const std::lock_guard lock(client_->state_->mutex);
  if (--client_->state_->sessions > 0) return;
  closed.swap(client_->state_->idle);
  if (client_->state_->guard.in_original_process()) return;
  for (const auto& connection : closed)
    connection->abandon();
}

bool allows_plain_http(const HttpSettings& settings, std::string_view host, std::uint16_t port) {
  return std::any_of(settings.plain_http.begin(), settings.plain_http.end(), [&](const std::string& text) {
    const auto allowed = HostPort::parse(text);
    return allowed && allowed->host == host && allowed->port.value_or(80) == port;
  });
}

Result<HttpResponse> HttpClient::send(const HttpRequest& request) {
  if (settings_.offline)
    return Error{ErrorCode::unavailable,
                 request.url.for_people() + " is not asked: `HttpSettings::offline` is set"};
  if ((request.range && (request.range->count == 0 || request.method != HttpMethod::get ||
                         request.range->offset > UINT64_MAX - request.range->count)) ||
      (request.method == HttpMethod::put && request.body == nullptr))
    return Error{ErrorCode::internal,
                 request.url.for_people() + ": a request for an empty range, or without its body"};
  const auto stay = curl_library.enter();
  if (!stay)
    return Error{
        ErrorCode::unavailable,
        "no server can be asked in this process: another thread was inside libcurl when it was forked",
        "start workers by exec (spawn), or fork while nothing is transferred"};
  CUBINET_TRY(check_scheme(settings_, request.url));
  CUBINET_TRY_ASSIGN(std::unique_ptr<HttpConnection> connection, state_->take(settings_.library));
  Journey journey(settings_, request);
  for (unsigned made = 1;; ++made) {
    auto attempt = journey.attempt(*connection);
    if (!attempt) return std::move(attempt).error();
    HttpResponse& response = attempt->response;
    const bool part_is_gone = response.status == 416 && journey.body().received() > 0;
    if (part_is_gone) CUBINET_TRY(journey.body().forget());
    // The server has begun to send the content. An intermediary has refused the rest, or a
    // signature in the redirect's URL has expired.
    const bool rest_is_refused = response.status >= 400 && journey.body().received() > 0;
    const bool refused =
        !attempt->failure && (is_retryable_status(response.status) || part_is_gone || rest_is_refused);
    if (!attempt->failure && !refused) {
      state_->give_back(std::move(connection));
      return std::move(response);
    }
    Error last = attempt->failure
                     ? *std::move(attempt->failure)
                     : refusal_error(std::string(to_string(request.method)) + " failed", response);
    const bool repeat = refused ? is_idempotent(request)
                                : attempt->may_pass && (is_idempotent(request) || !attempt->was_sent);
    if (!repeat) return last;
    if (made >= settings_.attempts) return out_of_attempts(std::move(last), made, "");
    const std::string* asked_for = refused ? response.header("Retry-After") : nullptr;
    const auto pause =
        asked_for == nullptr ? std::nullopt : parse_retry_after(*asked_for, std::time(nullptr));
    const milliseconds delay = retry_delay(made, settings_.first_delay, settings_.longest_delay,
                                           pause.value_or(milliseconds(0)), state_->random_number());
    if (delay >= journey.time_left())
      return out_of_attempts(std::move(last), made, ", the next one would be after the time limit");
    if (!wait(settings_, delay))
      return Error{ErrorCode::unavailable, request.url.for_people() + ": the request was cancelled"};
  }
}

}  // namespace cubinet
