// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cubinet {

// The host of a URL, and its port if the URL names one. A plain value.
struct HostPort {
  // A name in lower case, an IPv4 address of four decimal numbers, or an IPv6 address in brackets
  // in the form of RFC 5952.
  std::string host;
  std::optional<std::uint16_t> port = {};

  // Parses `host[:port]`. Each host has one canonical form. Returns invalid_argument, whose message
  // is the reason alone, for a name with a dot at either end, for an IPv4 address in another
  // notation (`127.1`, `0x7f.1`) and for one inside an IPv6 address.
  static Result<HostPort> parse(std::string_view text);
  // Returns `host`, or `host:port` if the port is not `usual_port`.
  std::string to_string(std::uint16_t usual_port) const;
};

}  // namespace cubinet
