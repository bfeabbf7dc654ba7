// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"

#include <cubinet/base/host_port.hpp>

using namespace cubinet;
using test::ok;

TEST_CASE("a host has one form, however it is written") {
  struct Row {
    const char *text, *form;
  };
  for (const Row& row : {Row{"Files.EXAMPLE", "files.example"}, Row{"h_1-a.b:443", "h_1-a.b"},
                         Row{"h:0443", "h"}, Row{"h:8443", "h:8443"}, Row{"127.0.0.1:443", "127.0.0.1"},
                         Row{"[0:0:0:0:0:0:0:1]:8080", "[::1]:8080"}, Row{"[2001:DB8::0:1]", "[2001:db8::1]"},
                         Row{"[::1]", "[::1]"}, Row{"1a.example", "1a.example"}, Row{"a.1b", "a.1b"}}) {
    CAPTURE(row.text);
    CHECK(ok(HostPort::parse(row.text)).to_string(443) == row.form);
  }
  CHECK(ok(HostPort::parse("h:443")).to_string(80) == "h:443");
}

TEST_CASE("what is no host or port, or has another notation, is refused") {
  for (const char* bad :
       {"", ":80", "h:", "h:0", "h:65536", "h:1x", "h:-1", "h:+1", "h: 1", "h:1:2", "a b", "a%62", "u@h",
        // The resolver reads each of these as 127.0.0.1.
        "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.0.0.01", "0X7F.0.0.0x1",
        // These have a dot at the end, empty parts, or an invalid IPv6 address.
        "h.", "h.:80", ".h", "a..b", ".", "[", "[]", "[::1", "[::1]x", "[::1]]", "[:::1]", "[1]",
        "[fe80::1%25eth0]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "::1"}) {
    CAPTURE(bad);
    const auto parsed = HostPort::parse(bad);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == ErrorCode::invalid_argument);
  }
  CHECK_FALSE(HostPort::parse(std::string(256, 'a')));
  ok(HostPort::parse(std::string(255, 'a')));
}
