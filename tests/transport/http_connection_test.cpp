// SPDX-License-Identifier: Apache-2.0
#include "http_connection.hpp"

#include "broken_pipe_signal.hpp"
#include "support/fault_server.hpp"
#include "support/ok.hpp"
#include "support/text.hpp"

#include <csignal>
#include <sys/socket.h>
#include <unistd.h>

using namespace cubinet;
using test::contains;
using test::FaultServer;
using test::ok;
using test::reply;

namespace {

HttpAttempt attempt(const FaultServer& server, HttpMethod method = HttpMethod::get,
                    HttpSettings settings = {}, const HttpHeaders& headers = {}) {
  const auto connection = ok(HttpConnection::open(ok(CurlApi::open("libcurl.so.4"))));
  MemorySink sink;
  MemorySource source(as_bytes("what is sent"));
  HttpRequest request{method, ok(Url::parse(server.url("/a/../b%2Fc?d=e")))};
  request.limit = 1000;
  request.sink = &sink;
  request.body = &source;
  ResponseBody body(request);
  ok(body.ask());
  HttpAttempt made =
      connection->perform(settings, request, request.url, headers, body, std::chrono::seconds(10));
  made.response.refusal += as_text(sink.bytes);
  return made;
}

}  // namespace

TEST_CASE("a request is sent as it stands, and nothing of the environment with it") {
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  setenv("all_proxy", "http://127.0.0.1:1", 1);
  const FaultServer server([](auto&, auto) { return reply(200, "hello", "X-Long:  a b \r\nX-Empty:\r\n"); });
  const HttpAttempt made = attempt(server, HttpMethod::get, {}, {{"X-Given", "1"}, {"X-None", ""}});
  unsetenv("http_proxy");
  unsetenv("all_proxy");
  REQUIRE_MESSAGE(!made.failure, made.failure->to_line());
  CHECK(made.response.status == 200);
  CHECK(made.response.refusal == "hello");
  CHECK(*made.response.header("x-long") == "a b");
  CHECK(made.response.header("x-empty")->empty());
  const auto received = server.requests().at(0);
  CHECK(received.target == "/a/../b%2Fc?d=e");
  CHECK(received.header("x-given") == "1");
  CHECK(received.headers.count("accept-encoding") == 0);
  CHECK(received.headers.count("cookie") == 0);
  CHECK(received.headers.count("authorization") == 0);
  CHECK(received.header("user-agent") == "cubinet");
}

TEST_CASE("each method sends what it should") {
  const FaultServer server([](auto&, auto) { return reply(201, "", "Location: /x\r\n"); });
  for (const auto& [method, name, body] : std::vector<std::tuple<HttpMethod, std::string, std::string>>{
           {HttpMethod::get, "GET", ""},
           {HttpMethod::head, "HEAD", ""},
           {HttpMethod::put, "PUT", "what is sent"},
           {HttpMethod::post, "POST", "what is sent"}}) {
    const HttpAttempt made = attempt(server, method);
    REQUIRE_MESSAGE(!made.failure, made.failure->to_line());
    CHECK(made.response.status == 201);
    CHECK(server.requests().back().method == name);
    CHECK(server.requests().back().body == body);
  }
}

TEST_CASE("a refusal is what was read of it, however it ends") {
  const FaultServer server([](auto&, auto) { return reply(416, "thirty", "Content-Length: 4000\r\n"); });
  const HttpAttempt made = attempt(server);
  CHECK_FALSE(made.failure);
  CHECK(made.response.status == 416);
  CHECK(made.response.refusal == "thirty");
}

TEST_CASE("a refusal without an end is read no further than its beginning") {
  const FaultServer server([](auto&, auto) {
    auto endless = reply(403, std::string(2000, 'x'), "Content-Length: 99999999\r\n");
    endless.repeats = true;
    return endless;
  });
  const HttpAttempt made = attempt(server);
  CHECK_FALSE(made.failure);
  CHECK(made.response.refusal.size() == 4096);
}

TEST_CASE("headers without an end are refused") {
  const FaultServer server([](auto&, auto) {
    std::string headers;
    for (int i = 0; i < 2000; ++i)
      headers += "X-" + std::to_string(i) + ": " + std::string(100, 'x') + "\r\n";
    return reply(200, "", headers);
  });
  const HttpAttempt made = attempt(server);
  REQUIRE(made.failure);
  CHECK_FALSE(made.may_pass);
}

TEST_CASE("what is no HTTP fails") {
  const FaultServer server([](auto&, auto) { return test::ServerReply{"220 smtp ready\r\n"}; });
  const HttpAttempt made = attempt(server);
  REQUIRE(made.failure);
  CHECK(made.failure->code == ErrorCode::unavailable);
}

TEST_CASE("a connection that is refused was not sent on") {
  HttpSettings settings;
  const std::unique_ptr<FaultServer> server =
      std::make_unique<FaultServer>([](auto&, auto) { return reply(200); });
  settings.proxy = "http://127.0.0.1:1";
  const HttpAttempt made = attempt(*server, HttpMethod::post, settings);
  REQUIRE(made.failure);
  CHECK(made.may_pass);
  CHECK_FALSE(made.was_sent);
  CHECK(server->requests().empty());
}

TEST_CASE("TLS with a server of plain HTTP fails with the option that allows it") {
  // Like nginx, it answers a TLS handshake with a refusal in plain text.
  test::LoopbackListener server(4, [&](int connection) {
    test::send_all(connection, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    shutdown(connection, SHUT_WR);
    server.wait_for_end(connection, 1000);
    close(connection);
  });
  const auto connection = ok(HttpConnection::open(ok(CurlApi::open("libcurl.so.4"))));
  HttpRequest request{HttpMethod::get, ok(Url::parse("https://" + server.authority() + "/"))};
  ResponseBody body(request);
  ok(body.ask());
  const HttpAttempt made = connection->perform({}, request, request.url, {}, body, std::chrono::seconds(10));
  REQUIRE(made.failure);
  CHECK(made.failure->code == ErrorCode::unavailable);
  CHECK(contains(made.failure->remedy, request.url.authority()));
  CHECK(contains(made.failure->remedy, "`HttpSettings::plain_http`"));
}

TEST_CASE("a broken pipe is no signal meanwhile, and what was set before is there again") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  close(ends[0]);
  {
    const BrokenPipeSignal blocked;
    CHECK(write(ends[1], "x", 1) == -1);
  }
  close(ends[1]);
  sigset_t mask, pending;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  sigpending(&pending);
  CHECK(sigismember(&mask, SIGPIPE) == 0);
  CHECK(sigismember(&pending, SIGPIPE) == 0);
}
