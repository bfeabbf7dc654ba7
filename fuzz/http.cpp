// SPDX-License-Identifier: Apache-2.0
// Reads a server's answer: the head of a response in chunks, ranges, waiting times, redirects,
// manifests and channels. The first line is a status, the lines up to an empty one are headers, and
// the rest is the body.
#include "fuzz.hpp"
#include "response_body.hpp"
#include "retry.hpp"

#include <cubinet/distribution/folder_server.hpp>
#include <cubinet/distribution/manifest.hpp>
#include <cubinet/distribution/server_reference.hpp>
#include <cubinet/transport/http_message.hpp>
#include <cubinet/transport/url.hpp>

#include <algorithm>
#include <cstdlib>

namespace cubinet::fuzz {
namespace {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

void read(ByteView bytes) {
  std::string_view text = as_text(bytes);
  static_cast<void>(parse_manifest(text, "manifest"));
  static_cast<void>(parse_channel_text(text, "channel"));
  const std::string_view first = take_line(text);
  HttpHeaders headers;
  for (std::string_view line = take_line(text); !line.empty(); line = take_line(text)) {
    const std::size_t colon = std::min(line.find(':'), line.size());
    headers.push_back(
        {std::string(line.substr(0, colon)), std::string(line.substr(std::min(colon + 1, line.size())))});
    static_cast<void>(parse_content_range(headers.back().value));
    static_cast<void>(parse_retry_after(headers.back().value, 1'700'000'000));
    static_cast<void>(Url::parse(headers.back().value));
    static_cast<void>(ServerReference::parse(headers.back().value));
  }
  HttpRequest request;
  MemorySink sink;
  request.sink = &sink;
  request.limit = 64;
  if (first.ends_with('r')) request.range = HttpRange{8, 16};
  ResponseBody body(request);
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!body.ask()) return;
    const auto begun = body.begin(std::atoi(std::string(first).c_str()), headers);
    if (!begun || !*begun) return;
    if (!body.write(as_bytes(text))) return;
    if (sink.bytes.size() > 64) std::abort();
    static_cast<void>(body.is_whole());
  }
}

}  // namespace cubinet::fuzz
