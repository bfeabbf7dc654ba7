// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace cubinet::cli {

// The options that configure access to servers.
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

// The stores that a line names in addition to the home.
struct Places {
  std::vector<std::string> bundles;  // files, and references to servers
  std::string cache;                 // of builds, a URL; empty: none
  std::string cache_key;             // the file of the secret key that signs entries; empty: none are written
  std::string cache_key_password;    // the file with that key's password; empty: no password
  ServerArguments server;
};

}  // namespace cubinet::cli
