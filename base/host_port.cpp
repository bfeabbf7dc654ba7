// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/host_port.hpp>
#include <cubinet/base/text.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumHost = 255;

Error bad_host(std::string_view reason) {
  return Error{ErrorCode::invalid_argument, std::string(reason)};
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

Result<std::string> parse_ipv6(std::string_view text) {
  if (!text.ends_with(']')) return bad_host("its address has no closing bracket");
  const std::string address(text.substr(1, text.size() - 2));
  in6_addr bytes{};
  if (inet_pton(AF_INET6, address.c_str(), &bytes) != 1) return bad_host("its host is no IPv6 address");
  if (IN6_IS_ADDR_V4MAPPED(&bytes) || IN6_IS_ADDR_V4COMPAT(&bytes))
    return bad_host("its host is an IPv4 address inside an IPv6 address: write the IPv4 address");
  std::array<char, INET6_ADDRSTRLEN> canonical{};
  inet_ntop(AF_INET6, &bytes, canonical.data(), canonical.size());
  return "[" + std::string(canonical.data()) + "]";
}

// Returns whether the host ends in a number. Resolvers read such a host as an IPv4 address, in any
// notation.
bool ends_in_number(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') + 1);
  return last.starts_with("0x") || std::all_of(last.begin(), last.end(), is_digit);
}

Result<std::string> parse_name(std::string_view text) {
  const auto is_host_character = [](char c) { return is_word_character(c) || c == '-' || c == '.'; };
  if (text.empty()) return bad_host("it has no host");
  if (!std::all_of(text.begin(), text.end(), is_host_character))
    return bad_host("its host is no name or address");
  if (text.starts_with('.') || text.ends_with('.') || text.find("..") != std::string_view::npos)
    return bad_host("its host has an empty part: write the name without the dot");
  std::string host = lower_case(text);
  in_addr bytes{};
  if (ends_in_number(host) && inet_pton(AF_INET, host.c_str(), &bytes) != 1)
    return bad_host("its host ends in a number and is no IPv4 address of four decimal numbers");
  return host;
}

}  // namespace

Result<HostPort> HostPort::parse(std::string_view text) {
  HostPort parsed;
  const bool is_address = text.starts_with('[');
  const std::size_t colon = text.find(':', is_address ? std::min(text.find(']'), text.size()) : 0);
  const std::string_view host = text.substr(0, colon);
  if (host.size() > kMaximumHost) return bad_host("its host has more than 255 characters");
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (status != std::errc() || end != digits.data() + digits.size() || port == 0)
      return bad_host("its port is no number from 1 to 65535");
    parsed.port = port;
  }
  CUBINET_TRY_ASSIGN(parsed.host, is_address ? parse_ipv6(host) : parse_name(host));
  return parsed;
}

std::string HostPort::to_string(std::uint16_t usual_port) const {
  return !port || *port == usual_port ? host : host + ":" + std::to_string(*port);
}

}  // namespace cubinet
