// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"

#include <cubinet/trust/server_place.hpp>

using namespace cubinet;
using test::ok;

TEST_CASE("spellings of one place have one canonical form") {
  struct Row {
    const char *text, *form;
  };
  for (const Row& row :
       {Row{"https://host", "https://host"}, Row{"https://host/", "https://host"},
        Row{"HTTPS://HOST:443/kernels/", "https://host/kernels"}, Row{"http://h:080/k", "http://h/k"},
        Row{"http://h:443/k", "http://h:443/k"}, Row{"https://h:018080/k", "https://h:18080/k"},
        Row{"https://h/a%20b/%c3%A9", "https://h/a%20b/%C3%A9"}, Row{"https://h/a%5Bb", "https://h/a%5Bb"},
        Row{"https://[0::1]/K", "https://[::1]/K"},
        Row{"OCI://Host:443/team/kernels", "oci://host/team/kernels"},
        Row{"oci://host:5000/k/", "oci://host:5000/k"}, Row{"S3://bucket/a b/%41", "s3://bucket/a b/%41"},
        Row{"s3://bucket", "s3://bucket"}}) {
    CAPTURE(row.text);
    const ServerPlace place = ok(ServerPlace::parse(row.text));
    CHECK(place.to_string() == row.form);
    CHECK(ok(ServerPlace::parse(place.to_string())).to_string() == row.form);
  }
}

TEST_CASE("what a server may take for another path is no place") {
  for (const std::string path :
       {"/k",        "k//",      "k//x",     "./k",   "k/.",        "../k",       "a/../k",       "k/..",
        "%6bernels", "%2e%2e/k", "a/%2E./k", "a%2fk", "a%2F..%2Fk", "a%5c..%5ck", "%252e%252e/k", "k%00",
        "k%0a",      "k%7F",     "k;x",      "..;/k", "k%3bx",      "a%",         "a%4",          "a%zz",
        "a b",       "a\\b",     "k\x80",    "a?b",   "a#b",        "a<b",        "a|b"}) {
    CAPTURE(path);
    for (const std::string server : {"https://h/", "http://h:8080/"}) {
      const auto place = ServerPlace::parse(server + path);
      REQUIRE_FALSE(place);
      CHECK(place.error().code == ErrorCode::invalid_argument);
    }
    if (path.find('%') == std::string::npos) CHECK_FALSE(ServerPlace::parse("oci://h/" + path));
  }
  for (const char* bad : {"",
                          "host",
                          "ftp://h/k",
                          "file:///k",
                          "https:/h/k",
                          "https://",
                          "https:///k",
                          "https://u@h/k",
                          "https://u:p@h/k",
                          "https://h./k",
                          "https://127.1/k",
                          "https://h:0/k",
                          "oci://h",
                          "oci://h/",
                          "oci://h:80/k",
                          "oci://h/K",
                          "oci://h/a..b",
                          "oci://h/-a",
                          "oci://u@h/k",
                          "s3://",
                          "s3://UPPER/x",
                          "s3://ab/x",
                          "s3://a..b/x",
                          "s3://bucket./x",
                          "s3://bucket//x",
                          "s3://bucket/./x",
                          "s3://bucket/a/../x",
                          "s3://bucket/a\nb",
                          "s3://bucket/a#b"}) {
    CAPTURE(bad);
    CHECK_FALSE(ServerPlace::parse(bad));
  }
}

TEST_CASE("a registry as a whole is a prefix, and no place") {
  CHECK(ok(ServerPlace::parse_prefix("oci://host/")).to_string() == "oci://host");
  CHECK(ok(ServerPlace::parse_prefix("oci://host/team/")).to_string() == "oci://host/team");
  CHECK_FALSE(ServerPlace::parse_prefix("oci://host//"));
}

TEST_CASE("a URL begins with a scheme, and a path does not") {
  for (const char* url : {"https://h", "S3://b", "oci+x://", "file:///x", "a1.-+://"})
    CHECK(is_url(url));
  for (const char* path : {"", "://", "/x://y", "./a://b", "a b://c", "1a://b", "a_b://c", "x:/y", "x"})
    CHECK_FALSE(is_url(path));
}
