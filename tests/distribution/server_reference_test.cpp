// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"

#include <cubinet/distribution/server_reference.hpp>

using namespace cubinet;
using test::ok;
using Layout = ServerReference::Layout;

TEST_CASE("a server is named as its users name it") {
  struct Row {
    const char* text;
    Layout layout;
    const char *scheme, *authority, *path, *channel;
  };
  for (const Row& row : {Row{"https://host:8443/a/b/", Layout::https, "https", "host:8443", "a/b", ""},
                         Row{"https://host", Layout::https, "https", "host", "", ""},
                         Row{"http://host/a#stable", Layout::https, "http", "host", "a", "stable"},
                         Row{"s3://bucket/some/prefix#v1.2", Layout::s3, "", "bucket", "some/prefix", "v1.2"},
                         Row{"s3://bucket", Layout::s3, "", "bucket", "", ""},
                         Row{"oci://host:5000/team/kernels:latest", Layout::oci, "https", "host:5000",
                             "team/kernels", "latest"},
                         Row{"oci://host/a__b/c-d.e", Layout::oci, "https", "host", "a__b/c-d.e", ""},
                         Row{"https://host#stable", Layout::https, "https", "host", "", "stable"},
                         Row{"HTTP://HOST:080/a/#stable", Layout::https, "http", "host", "a", "stable"},
                         Row{"OCI://Host:443/a:b", Layout::oci, "https", "host", "a", "b"},
                         Row{"file:///srv/kernels#stable", Layout::folder, "", "", "/srv/kernels", "stable"},
                         Row{"FILE:///srv//./a/../kernels/", Layout::folder, "", "", "/srv/kernels", ""},
                         Row{"/srv/kernels#stable", Layout::folder, "", "", "/srv/kernels", "stable"},
                         Row{"/x://y", Layout::folder, "", "", "/x:/y", ""}}) {
    CAPTURE(row.text);
    const ServerReference reference = ok(ServerReference::parse(row.text));
    CHECK(reference.layout == row.layout);
    CHECK(reference.scheme == row.scheme);
    CHECK(reference.authority == row.authority);
    CHECK(reference.path == row.path);
    CHECK(reference.channel == row.channel);
    CHECK_FALSE(reference.digest);
  }
}

TEST_CASE("a folder is named from the working directory on") {
  const std::string here = std::filesystem::current_path().string();
  CHECK(ok(ServerReference::parse("some/folder")).path == here + "/some/folder");
  CHECK(ok(ServerReference::parse("./some/#stable")).to_full_string() == "file://" + here + "/some#stable");
}

TEST_CASE("spellings of one reference are one place") {
  const auto place = [](const std::string& text) {
    return ok(ServerReference::parse(text)).to_full_string();
  };
  CHECK(place("https://HOST:0443/k/#stable") == place("https://host/k#stable"));
  CHECK(place("oci://[0:0::1]:5000/k:stable") == place("oci://[::1]:5000/k:stable"));
  CHECK(place("file:///srv//k/#stable") == place("/srv/k#stable"));
  CHECK(place(place("/srv/k#stable")) == "file:///srv/k#stable");
}

TEST_CASE("escapes of a file URL stand for their bytes, and a path has none") {
  CHECK(ok(ServerReference::parse("file:///my%20srv/%C3%a4%23%25#stable")).path == "/my srv/\xC3\xA4#%");
  CHECK(ok(ServerReference::parse("/my%20srv#stable")).path == "/my%20srv");
  for (const std::string path : {"/my srv", "/a%20b", "/a@sha256:b", "/a%23b", "/\xC3\xA4"}) {
    ServerReference reference;
    reference.path = path;
    reference.channel = "stable";
    const ServerReference again = ok(ServerReference::parse(reference.to_full_string()));
    CHECK(again.path == path);
    CHECK(again.channel == "stable");
  }
  for (const char* bad : {"file:///a%", "file:///a%2", "file:///a%zz", "file:///a%2fb", "file:///a%00"})
    CHECK_FALSE(ServerReference::parse(bad));
}

TEST_CASE("the password in a reference is not shown") {
  const auto refused = ServerReference::parse("https://user:hunter2@host/k#stable");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().to_line().find("hunter2") == std::string::npos);
}

TEST_CASE("a manifest is named by its digest") {
  const std::string digits(64, 'a');
  for (const std::string server :
       {"oci://host/name", "https://host/a", "s3://bucket/b", "file:///x", "/x/y"}) {
    const ServerReference reference = ok(ServerReference::parse(server + "@sha256:" + digits));
    REQUIRE(reference.digest);
    CHECK(reference.digest->to_hex() == digits);
    CHECK(reference.to_string() == (server == "file:///x" ? "/x" : server));
  }
}

TEST_CASE("what names no server is refused") {
  for (const std::string bad :
       {"",
        "ftp://host/x",
        "https://",
        "https:///x",
        "s3://",
        "s3://UPPER/x",
        "s3://ab/x",
        "s3://a..b/x",
        "oci://host",
        "oci://host/UPPER",
        "oci://host/a..b",
        "oci://host/-a:x",
        "oci://host/a:",
        "oci://host/a:.x",
        "https://host/a#",
        "https://host/a#../x",
        "https://host/a?b",
        "https://host//a",
        "https://host/./a",
        "https://host/b/../a",
        "https://host/%61",
        "https://host./a",
        "https://127.1/a",
        "oci://host:80/a",
        "s3://bucket/../a",
        "/srv/kernels#a/b",
        "/srv/kernels#",
        "#stable",
        "file://host/x",
        "file://",
        "file:///",
        "oci://host/a@sha256:12",
        "oci://host/a:b@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    CAPTURE(bad);
    const auto reference = ServerReference::parse(bad);
    REQUIRE_FALSE(reference);
    CHECK(reference.error().code == ErrorCode::invalid_argument);
  }
}

TEST_CASE("a channel is a tag of a registry and a file name") {
  for (const char* good : {"stable", "v1.2-rc_3", "_", "0", "A"})
    ok(check_channel(good));
  for (const char* bad : {"", ".", "..", ".x", "-x", "a/b", "a b", "a:b"})
    CHECK_FALSE(check_channel(bad));
  ok(check_channel(std::string(128, 'a')));
  CHECK_FALSE(check_channel(std::string(129, 'a')));
}

TEST_CASE("a mirror is a server, and names neither a channel nor a manifest") {
  const auto parsed = parse_references("https://host/kernels#stable", {"https://mirror/kernels"});
  REQUIRE(parsed);
  CHECK(parsed->front().channel == "stable");
  CHECK(parsed->back().to_string() == "https://mirror/kernels");
  const auto refused = parse_references("https://host/kernels#stable", {"https://mirror/kernels#next"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::invalid_argument);
}
