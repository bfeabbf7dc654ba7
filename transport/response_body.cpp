// SPDX-License-Identifier: Apache-2.0
#include "response_body.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>
#include <charconv>

namespace cubinet {
namespace {

constexpr std::uint64_t kMaximumUnread = 64 * 1024;

std::optional<std::uint64_t> decimal(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc() || digits.empty() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<ContentRange> parse_content_range(std::string_view value) {
  if (!value.starts_with("bytes ")) return std::nullopt;
  value.remove_prefix(6);
  const std::size_t dash = value.find('-');
  const std::size_t slash = value.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) return std::nullopt;
  const auto first = decimal(value.substr(0, dash));
  const auto last = decimal(value.substr(dash + 1, slash - dash - 1));
  const std::string_view of = value.substr(slash + 1);
  const auto whole = decimal(of);
  if (!first || !last || *last < *first || *last == UINT64_MAX || (!whole && of != "*")) return std::nullopt;
  if (whole && *last >= *whole) return std::nullopt;
  return ContentRange{*first, *last, whole};
}

Result<HttpHeaders> ResponseBody::ask() {
  if (received_ > 0 && etag_.empty()) CUBINET_TRY(forget());
  asked_for_part_ = request_.range || received_ > 0;
  announced_.reset();
  skipped_ = 0;
  HttpHeaders headers;
  if (!asked_for_part_) return headers;
  std::string range = "bytes=" + std::to_string(first_missing()) + "-";
  if (request_.range) range += std::to_string(request_.range->offset + request_.range->count - 1);
  headers.push_back({"Range", std::move(range)});
  if (received_ > 0) headers.push_back({"If-Range", etag_});
  return headers;
}

Result<void> ResponseBody::forget() {
  received_ = 0;
  etag_.clear();
  if (request_.sink == nullptr) return {};
  return request_.sink->restart();
}

Result<bool> ResponseBody::begin(int status, const HttpHeaders& headers) {
  if (request_.method == HttpMethod::head) return true;
  // An encoded body would be hashed in its encoded form and never match the requested content.
  const std::string* encoding = find_header(headers, "Content-Encoding");
  if (encoding != nullptr && *encoding != "identity") {
    return Error{ErrorCode::unavailable,
                 request_.url.for_people() + " answers with Content-Encoding '" +
                     printable(*encoding, kQuotedBytes) + "', which nobody asked for",
                 "let the server send files as they are"};
  }
  const std::string* etag = find_header(headers, "ETag");
  if (status == 206) {
    if (received_ > 0 && etag != nullptr && *etag != etag_) {
      CUBINET_TRY(forget());
      return false;
    }
    CUBINET_TRY_ASSIGN(const bool usable, begin_part(headers));
    if (!usable) return false;
  } else {
    const std::string* length = find_header(headers, "Content-Length");
    CUBINET_TRY(begin_whole(length == nullptr ? std::nullopt : decimal(*length)));
  }
  etag_ = etag != nullptr && etag->starts_with('"') ? *etag : "";
  return true;
}

Result<bool> ResponseBody::begin_part(const HttpHeaders& headers) {
  const std::string* value = find_header(headers, "Content-Range");
  const auto range = parse_content_range(value == nullptr ? "" : *value);
  const bool fits = asked_for_part_ && range && range->first == first_missing() &&
                    (!request_.range || range->last < request_.range->offset + request_.range->count);
  if (!fits) {
    return Error{ErrorCode::corruption,
                 request_.url.for_people() + " answers with other bytes than were asked for" +
                     (value == nullptr ? std::string(", and does not say which")
                                       : ": '" + printable(*value, kQuotedBytes) + "'")};
  }
  if (range->whole && request_.expected_size && *range->whole != *request_.expected_size)
    return wrong_size(*range->whole);
  if (request_.range && range->whole && *range->whole < request_.range->offset + request_.range->count)
    return wrong_size(*range->whole);
  announced_ = received_ + (range->last - range->first + 1);
  if (*announced_ > limit()) return too_large();
  return true;
}

Result<void> ResponseBody::begin_whole(std::optional<std::uint64_t> length) {
  if (received_ > 0) CUBINET_TRY(forget());
  if (length && request_.expected_size && *length != *request_.expected_size) return wrong_size(*length);
  if (request_.range) {
    // A server without support for ranges sends the whole content from the start.
    skipped_ = request_.range->offset;
    announced_ = request_.range->count;
    if (length && *length < request_.range->offset + request_.range->count) return wrong_size(*length);
    return {};
  }
  announced_ = length;
  if (length && *length > limit()) return too_large();
  return {};
}

Result<void> ResponseBody::write(ByteView bytes) {
  const auto passed_over = static_cast<std::size_t>(std::min<std::uint64_t>(skipped_, bytes.size()));
  skipped_ -= passed_over;
  bytes = bytes.subspan(passed_over);
  if (request_.range) {
    const std::uint64_t missing = request_.range->count - received_;
    bytes = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(missing, bytes.size())));
  }
  if (bytes.size() > limit() - received_) return too_large();
  received_ += bytes.size();
  if (request_.sink == nullptr || bytes.empty()) return {};
  return request_.sink->write(bytes);
}

bool ResponseBody::has_enough() const {
  if (request_.range) return received_ == request_.range->count;
  // A body whose head states no length may continue without end.
  return request_.method == HttpMethod::get && request_.expected_size && !announced_ &&
         received_ == *request_.expected_size;
}

bool ResponseBody::is_whole() const {
  if (request_.range) return received_ == request_.range->count;
  if (request_.method != HttpMethod::get) return true;
  if (request_.expected_size) return received_ == *request_.expected_size;
  return !announced_ || received_ == *announced_;
}

std::uint64_t ResponseBody::limit() const {
  if (request_.range) return request_.range->count;
  // The response to an upload is discarded, up to a limit.
  if (request_.sink == nullptr) return std::max(request_.limit, kMaximumUnread);
  return request_.expected_size ? std::min(request_.limit, *request_.expected_size) : request_.limit;
}

Error ResponseBody::wrong_size(std::uint64_t size) const {
  std::string wanted = request_.expected_size
                           ? "where it should have " + std::to_string(*request_.expected_size)
                           : "and bytes from " + std::to_string(request_.range->offset) + " to " +
                                 std::to_string(request_.range->offset + request_.range->count) +
                                 " are wanted";
  return Error{ErrorCode::corruption,
               request_.url.for_people() + " has " + std::to_string(size) + " bytes, " + std::move(wanted),
               "take it from another mirror, or upload it again"};
}

Error ResponseBody::too_large() const {
  return Error{ErrorCode::corruption,
               request_.url.for_people() + " sends more than " + std::to_string(limit()) + " bytes",
               "this is not what was asked for: is it the right address?"};
}

}  // namespace cubinet
