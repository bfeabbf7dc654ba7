// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/temp_dir.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cubinet::test {

// A port of 127.0.0.1 that is reserved for this test while the object exists. The system assigns it
// to no process that requests any port, and connections are refused. A server that binds with
// SO_REUSEADDR, as servers do, can listen on it.
class ReservedPort {
 public:
  ReservedPort();
  ~ReservedPort();
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;

  std::uint16_t number() const { return number_; }
  std::string authority() const { return "127.0.0.1:" + std::to_string(number_); }

 private:
  int socket_ = -1;
  std::uint16_t number_ = 0;
};

// Returns the path of a program in the folders of PATH, or in those where Debian installs servers.
// Returns nullopt if it is not installed.
std::optional<std::string> find_program(const std::string& name);

// Runs a program to its end, discards its output, and returns its exit status.
int run_program(const std::vector<std::string>& arguments);

// A third-party server as a child of the test. Its destructor ends it. The constructor returns when
// `port` responds. If it does not within ten seconds, the test fails at its first request.
class ServerProcess {
 public:
  ServerProcess(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                std::uint16_t port, const std::filesystem::path& log);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

 private:
  pid_t child_ = -1;
};

// nginx with WebDAV's PUT, over a folder of its own, on a plain port and one with TLS. It requires
// the user "reader" with the password "secret" under /private/, and a certificate of the same
// authority under /mutual/. nullptr if nginx or openssl is not installed, and the test is skipped.
class Nginx {
 public:
  static std::unique_ptr<Nginx> start();

  std::string authority() const { return port_.authority(); }
  std::string tls_authority() const { return "localhost:" + std::to_string(tls_port_.number()); }
  std::string url(const std::string& path) const { return "http://" + authority() + path; }
  std::string tls_url(const std::string& path) const { return "https://" + tls_authority() + path; }
  std::filesystem::path served() const { return folder_ / "www"; }
  std::filesystem::path authorities() const { return folder_ / "ca.pem"; }
  std::filesystem::path client_certificate() const { return folder_ / "client.pem"; }
  std::filesystem::path client_key() const { return folder_ / "client.key"; }
  std::string access_log() const;

 private:
  Nginx() = default;
  bool make_certificates() const;
  void write_configuration() const;

  TempDir folder_;
  ReservedPort port_;
  ReservedPort tls_port_;
  std::optional<ServerProcess> process_;
};

}  // namespace cubinet::test
