// SPDX-License-Identifier: Apache-2.0
#include "support/loopback_listener.hpp"

#include <arpa/inet.h>
#include <cstdlib>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cubinet::test {

LoopbackListener::LoopbackListener(int waiting, std::function<void(int)> serve)
    : serve_(std::move(serve)), listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* general = reinterpret_cast<sockaddr*>(&address);
  if (bind(listening_, general, size) != 0 || listen(listening_, waiting) != 0 ||
      getsockname(listening_, general, &size) != 0 || pipe2(stop_, O_CLOEXEC) != 0)
    std::abort();
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { listen_and_serve(); });
}

LoopbackListener::~LoopbackListener() {
  stop();
  close(stop_[0]);
  close(listening_);
}

void LoopbackListener::stop() {
  if (!thread_.joinable()) return;
  close(stop_[1]);
  thread_.join();
}

void LoopbackListener::listen_and_serve() {
  for (;;) {
    pollfd waiting[2] = {{listening_, POLLIN, 0}, {stop_[0], POLLIN, 0}};
    poll(waiting, 2, -1);
    if (waiting[1].revents != 0) return;
    const int connection = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) serve_(connection);
  }
}

bool LoopbackListener::wait_for_end(int connection, int milliseconds) const {
  pollfd waiting[2] = {{connection, POLLRDHUP, 0}, {stop_[0], POLLIN, 0}};
  return poll(waiting, 2, milliseconds) > 0;
}

}  // namespace cubinet::test
