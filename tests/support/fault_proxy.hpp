// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/fault_server.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace cubinet::test {

// A proxy on a port of 127.0.0.1 for a third-party server on another port. It randomly refuses,
// truncates, corrupts or redirects what it forwards. It requests no byte from the server that it
// does not forward. Every connection has a thread and one GET request.
class FaultProxy {
 public:
  enum class Fault {
    none,
    too_many_requests,
    server_error,
    truncation,
    flip,
    stall,
    forbidden_page,  // 403, in HTML
    half_body,       // half of a success's body, then the connection ends as if it were complete
    redirect_loop
  };

  explicit FaultProxy(std::uint16_t origin);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  // Sets the number of requests in a hundred that meet each of the faults.
  void set_percent(unsigned of_each) { percent_ = of_each; }

  std::string authority() const { return listener_.authority(); }
  std::string url(const std::string& path) const { return listener_.url(path); }
  // Returns the number of body bytes that the origin server has sent.
  std::uint64_t origin_bytes() const { return origin_bytes_; }
  std::size_t requests() const { return requests_; }
  std::size_t faults() const { return faults_; }

 private:
  struct OriginReply;

  void serve_connection(int connection);
  Fault next_fault();
  OriginReply ask(const std::string& method, const ReceivedRequest& request, const std::string& range);
  void answer_half(int connection, const ReceivedRequest& request, Fault fault);

  const std::uint16_t origin_;
  std::atomic<unsigned> percent_{0};
  std::atomic<std::uint64_t> origin_bytes_{0};
  std::atomic<std::size_t> requests_{0};
  std::atomic<std::size_t> faults_{0};
  std::atomic<unsigned> at_work_{0};
  LoopbackListener listener_;  // destroyed first, because its thread uses the other members
};

}  // namespace cubinet::test
