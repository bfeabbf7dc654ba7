// SPDX-License-Identifier: Apache-2.0
#include "support/fault_server.hpp"

#include <algorithm>
#include <cctype>
#include <sys/socket.h>
#include <unistd.h>

namespace cubinet::test {
namespace {

std::string lower(std::string text) {
  for (char& c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

ReceivedRequest parse_request(std::string_view head) {
  ReceivedRequest request;
  std::size_t line_end = head.find("\r\n");
  const std::string_view line = head.substr(0, line_end);
  const std::size_t first = line.find(' ');
  const std::size_t second = line.find(' ', first + 1);
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, second - first - 1);
  while (line_end != std::string_view::npos) {
    head.remove_prefix(line_end + 2);
    line_end = head.find("\r\n");
    const std::string_view header = head.substr(0, line_end);
    const std::size_t colon = header.find(": ");
    if (colon != std::string_view::npos)
      request.headers[lower(std::string(header.substr(0, colon)))] = header.substr(colon + 2);
  }
  return request;
}

bool send_all(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

ServerReply reply(int status, std::string_view body, const std::string& headers) {
  std::string bytes = "HTTP/1.1 " + std::to_string(status) + " as told\r\nConnection: close\r\n" + headers;
  if (headers.find("Content-Length") == std::string::npos &&
      headers.find("Transfer-Encoding") == std::string::npos)
    bytes += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return {bytes + "\r\n" + std::string(body)};
}

FaultServer::FaultServer(Answer answer)
    : answer_(std::move(answer)), listener_(16, [this](int connection) {
        serve_connection(connection);
        close(connection);
      }) {}

std::vector<ReceivedRequest> FaultServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void FaultServer::serve_connection(int connection) {
  std::string received;
  std::size_t head_end = std::string::npos;
  std::size_t wanted = 0;
  ReceivedRequest request;
  while (head_end == std::string::npos || received.size() < wanted) {
    char buffer[65536];
    const ssize_t count = recv(connection, buffer, sizeof buffer, 0);
    if (count <= 0) return;
    received.append(buffer, static_cast<std::size_t>(count));
    if (head_end != std::string::npos) continue;
    head_end = received.find("\r\n\r\n");
    if (head_end == std::string::npos) continue;
    request = parse_request(std::string_view(received).substr(0, head_end));
    const std::string length = request.header("content-length");
    wanted = head_end + 4 + (length.empty() ? 0 : std::stoul(length));
    if (request.header("expect") == "100-continue") send_all(connection, "HTTP/1.1 100 Continue\r\n\r\n");
  }
  request.body = received.substr(head_end + 4);
  std::size_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = requests_.size();
    requests_.push_back(request);
  }
  const ServerReply told = answer_(request, number);
  std::string_view rest = told.bytes;
  while (!rest.empty()) {
    const std::size_t count = told.chunk == 0 ? rest.size() : std::min(told.chunk, rest.size());
    if (!send_all(connection, rest.substr(0, count))) return;
    rest.remove_prefix(count);
    if (told.pause.count() > 0 && listener_.wait_for_end(connection, static_cast<int>(told.pause.count())))
      return;
  }
  const std::string_view tail =
      std::string_view(told.bytes).substr(told.bytes.size() - std::min<std::size_t>(1024, told.bytes.size()));
  while (told.repeats && !listener_.wait_for_end(connection, 0) && send_all(connection, tail)) {
  }
  if (told.stalls) listener_.wait_for_end(connection, -1);
  // The client reads to the end before it closes the connection. Otherwise a reset would discard
  // unread bytes.
  shutdown(connection, SHUT_WR);
  listener_.wait_for_end(connection, 1000);
}

}  // namespace cubinet::test
