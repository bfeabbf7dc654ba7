// SPDX-License-Identifier: Apache-2.0
#include "support/server_process.hpp"

#include "support/skip.hpp"

#include <arpa/inet.h>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <netinet/in.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace cubinet::test {
namespace {

pid_t spawn(const std::vector<std::string>& arguments, const std::vector<std::string>& more_environment,
            const std::filesystem::path& log) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (const std::string& line : more_environment)
    envp.push_back(const_cast<char*>(line.c_str()));
  for (char** line = environ; *line != nullptr; ++line)
    envp.push_back(*line);
  envp.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  // The server is killed with the test.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int input = open("/dev/null", O_RDONLY);
  dup2(input, 0);
  dup2(output, 1);
  dup2(output, 2);
  execve(argv[0], argv.data(), envp.data());
  _exit(127);
}

bool answers(std::uint16_t port) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool connected = connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(connection);
  return connected;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

}  // namespace

ReservedPort::ReservedPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* general = reinterpret_cast<sockaddr*>(&address);
  const int shared = 1;
  // The socket is bound and does not listen: only a process that requests this very port gets it.
  if (setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &shared, sizeof shared) != 0 ||
      bind(socket_, general, size) != 0 || getsockname(socket_, general, &size) != 0)
    std::abort();
  number_ = ntohs(address.sin_port);
}

ReservedPort::~ReservedPort() {
  close(socket_);
}

std::optional<std::string> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path == nullptr ? "" : path) + ":/usr/sbin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

int run_program(const std::vector<std::string>& arguments) {
  const pid_t child = spawn(arguments, {}, "/dev/null");
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

ServerProcess::ServerProcess(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& environment, std::uint16_t port,
                             const std::filesystem::path& log)
    : child_(spawn(arguments, environment, log)) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!answers(port) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

ServerProcess::~ServerProcess() {
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

bool Nginx::make_certificates() const {
  const auto openssl = find_program("openssl");
  if (!openssl) return false;
  const auto in = [&](const char* name) { return (folder_ / name).string(); };
  const std::vector<std::string> key = {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                                        "-nodes"};
  const auto with_key = [&](std::vector<std::string> arguments, const std::vector<std::string>& rest) {
    arguments.insert(arguments.end(), key.begin(), key.end());
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    return run_program(arguments) == 0;
  };
  bool made = with_key({*openssl, "req", "-x509", "-days", "2"},
                       {"-subj", "/CN=cubinet tests", "-keyout", in("ca.key"), "-out", in("ca.pem")});
  write_text(folder_ / "names", "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
  for (const std::string name : {"server", "client"}) {
    made =
        made && with_key({*openssl, "req"}, {"-subj", "/CN=" + name, "-keyout", in((name + ".key").c_str()),
                                             "-out", in((name + ".csr").c_str())});
    made = made && run_program({*openssl, "x509", "-req", "-days", "2", "-in", in((name + ".csr").c_str()),
                                "-CA", in("ca.pem"), "-CAkey", in("ca.key"), "-CAcreateserial", "-extfile",
                                in("names"), "-out", in((name + ".pem").c_str())}) == 0;
  }
  return made;
}

void Nginx::write_configuration() const {
  const std::string in = folder_.path().string();
  std::string temporary;
  for (const char* kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"})
    temporary += std::string(kind) + "_temp_path " + in + "/" + kind + ";\n";
  // {PLAIN} is "secret" in plain text.
  write_text(folder_ / "users", "reader:{PLAIN}secret\n");
  write_text(folder_ / "nginx.conf",
             "daemon off;\nmaster_process off;\npid " + in + "/nginx.pid;\nerror_log " + in +
                 "/error.log;\n" + "events {}\nhttp {\naccess_log " + in + "/access.log;\n" + temporary +
                 "types {}\ndefault_type application/octet-stream;\nclient_max_body_size 64m;\n" +
                 "server {\nlisten 127.0.0.1:" + std::to_string(port_.number()) +
                 ";\nlisten 127.0.0.1:" + std::to_string(tls_port_.number()) + " ssl;\nssl_certificate " +
                 in + "/server.pem;\nssl_certificate_key " + in + "/server.key;\nssl_client_certificate " +
                 in + "/ca.pem;\nssl_verify_client optional;\nroot " + in +
                 "/www;\nlocation / {\ndav_methods PUT;\ncreate_full_put_path on;\n}\n" +
                 "location /private/ {\ndav_methods PUT;\ncreate_full_put_path on;\nauth_basic cubinet;\n" +
                 "auth_basic_user_file " + in + "/users;\n}\n" +
                 "location /mutual/ {\nif ($ssl_client_verify != SUCCESS) {\nreturn 403;\n}\n}\n}\n}\n");
}

std::unique_ptr<Nginx> Nginx::start() {
  const auto program = find_program("nginx");
  std::unique_ptr<Nginx> nginx(new Nginx);
  if (!program || !nginx->make_certificates()) {
    skip("nginx or openssl is not installed");
    return nullptr;
  }
  std::filesystem::create_directories(nginx->served());
  nginx->write_configuration();
  const std::string configuration = (nginx->folder_ / "nginx.conf").string();
  nginx->process_.emplace(
      std::vector<std::string>{*program, "-c", configuration, "-e", (nginx->folder_ / "error.log").string()},
      std::vector<std::string>{}, nginx->port_.number(), nginx->folder_ / "output.log");
  return nginx;
}

std::string Nginx::access_log() const {
  std::ifstream file(folder_ / "access.log");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace cubinet::test
