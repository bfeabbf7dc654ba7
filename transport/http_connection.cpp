// SPDX-License-Identifier: Apache-2.0
#include "http_connection.hpp"

#include "broken_pipe_signal.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>
#include <charconv>
#include <sys/socket.h>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumHeaderBytes = 64 * 1024;
constexpr std::size_t kMaximumRefusal = 4096;

// The data that libcurl's callbacks use. Exceptions must not cross libcurl's frames, so an Error is
// stored here and the transfer is ended.
struct Transfer {
  const HttpSettings& settings;
  const HttpRequest& request;
  ResponseBody& body;
  HttpAttempt& attempt;
  std::uint64_t sent = 0;
  std::size_t header_bytes = 0;
  bool begun = false;       // the head is complete and was processed
  bool has_enough = false;  // the client ended the transfer with all requested bytes
  bool cancelled = false;

  template <class F>
  bool guarded(F&& work) {
    try {
      return work();
    } catch (const std::exception& exception) {
      fail({ErrorCode::internal, request.url.for_people() + ": " + exception.what()}, false);
      return false;
    }
  }
  void fail(Error error, bool may_pass) {
    if (attempt.failure) return;
    attempt.failure = std::move(error);
    attempt.may_pass = may_pass;
  }
  bool take_header(std::string_view line);
  bool take_body(ByteView bytes);
  bool begin();
};

bool Transfer::take_header(std::string_view line) {
  header_bytes += line.size();
  if (header_bytes > kMaximumHeaderBytes) {
    fail({ErrorCode::corruption, request.url.for_people() + " answers with more than 64 KiB of headers"},
         false);
    return false;
  }
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n'))
    line.remove_suffix(1);
  HttpResponse& response = attempt.response;
  if (line.starts_with("HTTP/")) {  // a new head: the earlier one was "100 Continue"
    response.headers.clear();
    response.status = 0;
    const std::string_view digits = line.substr(std::min(line.find(' '), line.size() - 1) + 1).substr(0, 3);
    std::from_chars(digits.data(), digits.data() + digits.size(), response.status);
    return true;
  }
  const std::size_t colon = line.find(':');
  if (begun || colon == std::string_view::npos) return true;  // a trailer, or the empty line
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
    value.remove_prefix(1);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t'))
    value.remove_suffix(1);
  response.headers.push_back({std::string(line.substr(0, colon)), std::string(value)});
  return true;
}

bool Transfer::begin() {
  begun = true;
  if (!attempt.response.succeeded()) return true;
  auto usable = body.begin(attempt.response.status, attempt.response.headers);
  if (!usable) {
    fail(std::move(usable).error(), false);
    return false;
  }
  if (!*usable)
    fail({ErrorCode::unavailable, request.url.for_people() + " has changed while it was read"}, true);
  return *usable;
}

bool Transfer::take_body(ByteView bytes) {
  if (!begun && !begin()) return false;
  HttpResponse& response = attempt.response;
  response.body_bytes += bytes.size();
  if (!response.succeeded()) {
    const std::size_t room = kMaximumRefusal - response.refusal.size();
    response.refusal += as_text(bytes.first(std::min(room, bytes.size())));
    return response.refusal.size() < kMaximumRefusal;
  }
  if (auto written = body.write(bytes); !written) {
    fail(std::move(written).error(), false);
    return false;
  }
  has_enough = body.has_enough();
  return !has_enough;
}

// The callback with libcurl's signature.
std::size_t on_header(char* text, std::size_t size, std::size_t count, void* transfer) {
  auto& self = *static_cast<Transfer*>(transfer);
  const std::size_t bytes = size * count;
  return self.guarded([&] { return self.take_header({text, bytes}); }) ? bytes : 0;
}

std::size_t on_body(char* text, std::size_t size, std::size_t count, void* transfer) {
  auto& self = *static_cast<Transfer*>(transfer);
  const std::size_t bytes = size * count;
  if (self.guarded([&] { return self.take_body(as_bytes({text, bytes})); })) return bytes;
  return bytes == 0 ? 1 : 0;
}

std::size_t on_read(char* into, std::size_t size, std::size_t count, void* transfer) {
  auto& self = *static_cast<Transfer*>(transfer);
  std::size_t read = CURL_READFUNC_ABORT;
  self.guarded([&] {
    auto got = self.request.body->read(self.sent, std::as_writable_bytes(std::span(into, size * count)));
    if (!got) {
      self.fail(std::move(got).error(), false);
      return false;
    }
    read = *got;
    self.sent += *got;
    return true;
  });
  return read;
}

int on_seek(void* transfer, curl_off_t offset, int origin) {
  if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<Transfer*>(transfer)->sent = static_cast<std::uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

int on_progress(void* transfer, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& self = *static_cast<Transfer*>(transfer);
  if (!self.settings.cancelled) return 0;
  self.guarded([&] { return self.cancelled = self.settings.cancelled(), true; });
  return self.cancelled || self.attempt.failure ? 1 : 0;
}

// Opens a socket that child programs do not inherit.
curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) {
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

bool is_about_trust(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_PINNEDPUBKEYNOTMATCH ||
         code == CURLE_SSL_ISSUER_ERROR || code == CURLE_SSL_INVALIDCERTSTATUS;
}

bool is_about_connecting(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
         code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR;
}

bool may_pass_later(CURLcode code) {
  return is_about_connecting(code) || code == CURLE_OPERATION_TIMEDOUT || code == CURLE_SEND_ERROR ||
         code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING || code == CURLE_PARTIAL_FILE;
}

std::string remedy_of(CURLcode code, const Url& url) {
  if (is_about_trust(code))
    return "name the authority that signed the server's certificate with `HttpSettings::authorities_file`";
  if (code == CURLE_SSL_CACERT_BADFILE)
    return "name a file of certificates in PEM with `HttpSettings::authorities_file`";
  if (code == CURLE_SSL_CERTPROBLEM)
    return "name a certificate and its key in PEM with `HttpSettings::client_certificate` and "
           "`HttpSettings::client_key`";
  if (code == CURLE_COULDNT_RESOLVE_HOST)
    return "check the server's name, or name a proxy with `HttpSettings::proxy`";
  if (code == CURLE_SSL_CONNECT_ERROR)
    return "if the server speaks HTTP without TLS, allow it for " + url.authority() +
           " with `HttpSettings::plain_http`; an https:// URL then begins with http://";
  return "";
}

// A list of header lines for libcurl.
class HeaderLines {
 public:
  explicit HeaderLines(const CurlApi& curl) : curl_(curl) {}
  ~HeaderLines() { curl_.curl_slist_free_all(first_); }
  HeaderLines(const HeaderLines&) = delete;
  HeaderLines& operator=(const HeaderLines&) = delete;

  // Returns false if there is no memory.
  bool append(const HttpHeader& header) {
    // libcurl sends a header without a value for "Name;", and omits a header for "Name:".
    const std::string line = header.name + (header.value.empty() ? ";" : ": " + header.value);
    curl_slist* longer = curl_.curl_slist_append(first_, line.c_str());
    if (longer != nullptr) first_ = longer;
    return longer != nullptr;
  }
  curl_slist* first() const { return first_; }

 private:
  const CurlApi& curl_;
  curl_slist* first_ = nullptr;
};

// The options of a handle. After the first failure, `status` has its code and no option is set.
struct CurlOptions {
  const CurlApi& curl;
  CURL* handle;
  CURLcode status;

  template <class Value>
  void set(CURLoption option, Value value) {
    if (status == CURLE_OK) status = curl.curl_easy_setopt(handle, option, value);
  }
  void set_path(CURLoption option, const std::filesystem::path& path) {
    if (!path.empty()) set(option, path.c_str());
  }
};

// Sets the options that are equal for all requests.
void set_constants(CurlOptions& options) {
  options.set(CURLOPT_PATH_AS_IS, 1L);  // a signature covers the path as written
  options.set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  options.set(CURLOPT_FOLLOWLOCATION, 0L);
  options.set(CURLOPT_HTTP_CONTENT_DECODING, 0L);
  options.set(CURLOPT_NOSIGNAL, 1L);
  options.set(CURLOPT_HEADEROPT, long{CURLHEADER_SEPARATE});  // proxies receive none of the headers
  options.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  options.set(CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  options.set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
}

void set_settings(CurlOptions& options, const HttpSettings& settings, std::chrono::milliseconds time_left) {
  options.set(CURLOPT_USERAGENT, settings.user_agent.c_str());
  // These options are set even if they are empty, because libcurl reads unset options from the
  // environment.
  options.set(CURLOPT_PROXY, settings.proxy.c_str());
  options.set(CURLOPT_NOPROXY, settings.no_proxy.c_str());
  if (!settings.authorities_file.empty() || !settings.authorities_folder.empty()) {
    const char* none = nullptr;
    options.set(CURLOPT_CAINFO, settings.authorities_file.empty() ? none : settings.authorities_file.c_str());
    options.set(CURLOPT_CAPATH,
                settings.authorities_folder.empty() ? none : settings.authorities_folder.c_str());
  }
  options.set_path(CURLOPT_SSLCERT, settings.client_certificate);
  options.set_path(CURLOPT_SSLKEY, settings.client_key);
  const auto connect_limit = std::min(settings.connect_limit, time_left);
  options.set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect_limit.count()));
  options.set(CURLOPT_TIMEOUT_MS, static_cast<long>(time_left.count()));
  options.set(CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(settings.least_speed));
  options.set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(settings.least_speed_time.count()));
}

void set_callbacks(CurlOptions& options, Transfer& transfer) {
  options.set(CURLOPT_HEADERFUNCTION, &on_header);
  options.set(CURLOPT_HEADERDATA, &transfer);
  options.set(CURLOPT_WRITEFUNCTION, &on_body);
  options.set(CURLOPT_WRITEDATA, &transfer);
  options.set(CURLOPT_READFUNCTION, &on_read);
  options.set(CURLOPT_READDATA, &transfer);
  options.set(CURLOPT_SEEKFUNCTION, &on_seek);
  options.set(CURLOPT_SEEKDATA, &transfer);
  options.set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  options.set(CURLOPT_XFERINFODATA, &transfer);
  options.set(CURLOPT_NOPROGRESS, 0L);
}

void set_method(CurlOptions& options, const HttpRequest& request) {
  const std::uint64_t body_size = request.body == nullptr ? 0 : request.body->size();
  switch (request.method) {
    case HttpMethod::get:
      options.set(CURLOPT_HTTPGET, 1L);
      break;
    case HttpMethod::head:
      options.set(CURLOPT_NOBODY, 1L);
      break;
    case HttpMethod::put:
      options.set(CURLOPT_UPLOAD, 1L);
      options.set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(body_size));
      break;
    case HttpMethod::post:
      options.set(CURLOPT_POST, 1L);
      options.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_size));
      if (body_size == 0) options.set(CURLOPT_POSTFIELDS, "");
      break;
  }
}

// Returns whether the attempt has its response or its failure already.
bool is_complete(const Transfer& transfer, CURLcode status) {
  if (transfer.attempt.failure || transfer.has_enough) return true;
  const HttpResponse& response = transfer.attempt.response;
  // A refusal is complete with its status: registries announce a body of another length with a 416.
  if (response.status >= 300 && !transfer.cancelled) return true;
  return status == CURLE_OK && response.succeeded() && transfer.body.is_whole();
}

// Stores the failure of an incomplete transfer. `reason` is libcurl's.
void fail(Transfer& transfer, const Url& url, CURLcode status, const std::string& reason) {
  const HttpResponse& response = transfer.attempt.response;
  if (transfer.cancelled) {
    transfer.fail({ErrorCode::unavailable, url.for_people() + ": the request was cancelled"}, false);
  } else if (status == CURLE_OK && response.succeeded()) {
    transfer.fail(
        {ErrorCode::unavailable, url.for_people() + " sends " + std::to_string(transfer.body.received()) +
                                     " bytes and ends, before all was sent"},
        true);
  } else if (status == CURLE_OK) {
    transfer.fail({ErrorCode::unavailable,
                   url.for_people() + " answered with status " + std::to_string(response.status)},
                  false);
  } else {
    transfer.fail(
        {is_about_trust(status) ? ErrorCode::untrusted : ErrorCode::unavailable,
         std::string(to_string(transfer.request.method)) + " " + url.for_people() + ": " + printable(reason),
         remedy_of(status, url),
         {},
         static_cast<long>(status)},
        may_pass_later(status));
    transfer.attempt.was_sent = !is_about_connecting(status);
  }
}

}  // namespace

Result<std::unique_ptr<HttpConnection>> HttpConnection::open(std::shared_ptr<const CurlApi> curl) {
  CURL* handle = curl->curl_easy_init();
  if (handle == nullptr) return Error{ErrorCode::unavailable, "libcurl has no memory for a connection"};
  return std::unique_ptr<HttpConnection>(new HttpConnection(std::move(curl), handle));
}

HttpConnection::~HttpConnection() {
  const BrokenPipeSignal blocked;
  if (handle_ != nullptr) curl_->curl_easy_cleanup(handle_);
}

HttpAttempt HttpConnection::perform(const HttpSettings& settings, const HttpRequest& request, const Url& url,
                                    const HttpHeaders& headers, ResponseBody& body,
                                    std::chrono::milliseconds time_left) {
  HttpAttempt attempt;
  attempt.response.url = url;
  Transfer transfer{settings, request, body, attempt};
  std::array<char, CURL_ERROR_SIZE> words{};
  HeaderLines lines(*curl_);
  const bool complete = std::all_of(headers.begin(), headers.end(),
                                    [&](const HttpHeader& header) { return lines.append(header); });
  curl_->curl_easy_reset(handle_);
  CurlOptions options{*curl_, handle_, complete ? CURLE_OK : CURLE_OUT_OF_MEMORY};
  options.set(CURLOPT_URL, url.to_string().c_str());
  options.set(CURLOPT_HTTPHEADER, lines.first());
  options.set(CURLOPT_ERRORBUFFER, words.data());
  set_constants(options);
  set_settings(options, settings, time_left);
  set_callbacks(options, transfer);
  set_method(options, request);
  CURLcode status = options.status;
  if (status == CURLE_OK) {
    const BrokenPipeSignal blocked;
    status = curl_->curl_easy_perform(handle_);
  }
  // The body has no bytes, or there is no body.
  if (status == CURLE_OK && !transfer.begun) transfer.guarded([&] { return transfer.begin(); });
  if (is_complete(transfer, status)) return attempt;
  fail(transfer, url, status, words[0] != '\0' ? words.data() : curl_->curl_easy_strerror(status));
  return attempt;
}

}  // namespace cubinet
