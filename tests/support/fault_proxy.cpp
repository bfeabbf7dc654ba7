// SPDX-License-Identifier: Apache-2.0
#include "support/fault_proxy.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <unistd.h>

namespace cubinet::test {
namespace {

constexpr int kFaults = static_cast<int>(FaultProxy::Fault::redirect_loop);
constexpr std::string_view kLoop = "/redirect-loop";

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A range "bytes=first-[last]". It covers everything if there is no header.
struct WantedRange {
  std::uint64_t first = 0;
  std::optional<std::uint64_t> last = {};
};
WantedRange wanted_range(const std::string& header) {
  if (header.empty()) return {};
  const std::size_t dash = header.find('-');
  WantedRange range{std::stoull(header.substr(header.find('=') + 1)), {}};
  if (dash + 1 < header.size()) range.last = std::stoull(header.substr(dash + 1));
  return range;
}

std::string field(const ReceivedRequest& from, const std::string& name) {
  const std::string value = from.header(name);
  return value.empty() ? "" : name + ": " + value + "\r\n";
}

// Returns a number that differs for every request and has no order.
std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31U);
}

}  // namespace

// The origin's reply. `message` is its head, parsed like a request's.
struct FaultProxy::OriginReply {
  int status = 0;
  ReceivedRequest message;
};

FaultProxy::FaultProxy(std::uint16_t origin)
    : origin_(origin), listener_(1024, [this](int connection) {
        ++at_work_;
        std::thread([this, connection] {
          serve_connection(connection);
          close(connection);
          --at_work_;
        }).detach();
      }) {}

FaultProxy::~FaultProxy() {
  listener_.stop();
  while (at_work_ > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

FaultProxy::Fault FaultProxy::next_fault() {
  const std::uint64_t drawn = mixed(++requests_) % 100;
  const unsigned percent = percent_;
  if (percent == 0 || drawn >= static_cast<std::uint64_t>(kFaults) * percent) return Fault::none;
  ++faults_;
  return static_cast<Fault>(1 + drawn / percent);
}

FaultProxy::OriginReply FaultProxy::ask(const std::string& method, const ReceivedRequest& request,
                                        const std::string& range) {
  std::string text = method + " " + request.target + " HTTP/1.1\r\nHost: origin\r\nConnection: close\r\n";
  if (!range.empty()) text += "Range: " + range + "\r\n";
  text += field(request, "if-range") + "\r\n";
  OriginReply reply;
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(origin_);
  std::string received;
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      send_all(server, text)) {
    char buffer[65536];
    for (ssize_t count = 0; (count = recv(server, buffer, sizeof buffer, 0)) > 0;)
      received.append(buffer, static_cast<std::size_t>(count));
  }
  close(server);
  const std::size_t head_end = received.find("\r\n\r\n");
  if (head_end == std::string::npos) return reply;
  reply.message = parse_request(std::string_view(received).substr(0, head_end));
  reply.status = std::stoi(reply.message.target);  // the second word of a status line
  reply.message.body = received.substr(head_end + 4);
  return reply;
}

// Sends the first half of the requested bytes. Then it closes or stalls the connection before the
// announced length, or ends without an announced length as if the body were complete.
void FaultProxy::answer_half(int connection, const ReceivedRequest& request, Fault fault) {
  const std::string asked = request.header("range");
  const OriginReply whole = ask("HEAD", request, "");
  if (whole.status != 200) {
    send_all(connection, reply(whole.status).bytes);
    return;
  }
  const std::string total = whole.message.header("content-length");
  const WantedRange range = wanted_range(asked);
  const std::uint64_t last = range.last.value_or(std::stoull(total) - 1);
  const std::uint64_t middle = range.first + (last - range.first) / 2;
  const OriginReply part =
      ask("GET", request, "bytes=" + std::to_string(range.first) + "-" + std::to_string(middle));
  origin_bytes_ += part.message.body.size();
  std::string headers = field(whole.message, "etag");
  const int status = asked.empty() ? 200 : 206;
  if (!asked.empty())
    headers += "Content-Range: bytes " + std::to_string(range.first) + "-" + std::to_string(last) + "/" +
               total + "\r\n";
  const std::uint64_t announced =
      fault == Fault::half_body ? part.message.body.size() : last - range.first + 1;
  headers += "Content-Length: " + std::to_string(announced) + "\r\n";
  send_all(connection, reply(status, part.message.body, headers).bytes);
  if (fault == Fault::stall) listener_.wait_for_end(connection, -1);
}

void FaultProxy::serve_connection(int connection) {
  std::string received;
  while (received.find("\r\n\r\n") == std::string::npos) {
    char buffer[4096];
    const ssize_t count = recv(connection, buffer, sizeof buffer, 0);
    if (count <= 0) return;
    received.append(buffer, static_cast<std::size_t>(count));
  }
  const ReceivedRequest request =
      parse_request(std::string_view(received).substr(0, received.find("\r\n\r\n")));
  const std::string elsewhere = "Location: " + std::string(kLoop) + "\r\n";
  const bool loops = request.target == kLoop;
  const Fault fault = loops ? Fault::redirect_loop : next_fault();
  switch (fault) {
    case Fault::too_many_requests:
      send_all(connection, reply(429, "slowly", "Retry-After: 0\r\n").bytes);
      break;
    case Fault::server_error:
      send_all(connection, reply(503, "not now").bytes);
      break;
    case Fault::forbidden_page:
      send_all(connection,
               reply(403, "<html><body>Sign in first</body></html>", "Content-Type: text/html\r\n").bytes);
      break;
    case Fault::redirect_loop:
      send_all(connection, reply(302, "", elsewhere).bytes);
      break;
    case Fault::truncation:
    case Fault::stall:
    case Fault::half_body:
      answer_half(connection, request, fault);
      break;
    case Fault::none:
    case Fault::flip: {
      OriginReply passed = ask("GET", request, request.header("range"));
      std::string& body = passed.message.body;
      origin_bytes_ += body.size();
      if (fault == Fault::flip && !body.empty()) {
        char& byte = body[mixed(requests_) % body.size()];
        byte = static_cast<char>(static_cast<unsigned char>(byte) ^ 0x10U);
      }
      send_all(connection, reply(passed.status, body,
                                 field(passed.message, "etag") + field(passed.message, "content-range"))
                               .bytes);
    }
  }
  // The client reads to the end before it closes the connection. Otherwise a reset would discard
  // unread bytes.
  shutdown(connection, SHUT_WR);
  listener_.wait_for_end(connection, 1000);
}

}  // namespace cubinet::test
