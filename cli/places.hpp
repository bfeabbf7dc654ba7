// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace cubinet::cli {

// How servers are asked, as a line says it.
struct ServerArguments {
  std::vector<std::string> plain_http;
  std::string authorities;
  std::string client_certificate;
  std::string client_key;
  std::string user;
  std::string password_file;
  std::string s3_endpoint;
  bool offline = false;
};

// Where a line has a verb look beside the home.
struct Places {
  std::vector<std::string> bundles;  // files, and references to servers
  std::string cache;                 // of builds, a URL; empty: none
  std::string cache_key;  // the file of the secret key that signs what is written there; empty: nothing is
  std::string cache_key_password;  // the file with that key's password; empty: it has none
  ServerArguments server;
};

}  // namespace cubinet::cli
