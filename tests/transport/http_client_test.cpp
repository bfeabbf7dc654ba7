// SPDX-License-Identifier: Apache-2.0
#include "support/fault_server.hpp"
#include "support/ok.hpp"
#include "support/server_process.hpp"
#include "support/text.hpp"

#include <cubinet/transport/http_client.hpp>

#include <arpa/inet.h>
#include <fstream>
#include <memory>
#include <set>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace cubinet;
using namespace std::chrono_literals;
using test::contains;
using test::FaultServer;
using test::Nginx;
using test::ok;
using test::ReceivedRequest;
using test::reply;
using test::ReservedPort;
using test::ServerReply;

namespace {

// Returns settings that let a test end soon.
HttpSettings quick(std::vector<std::string> plain_http) {
  HttpSettings settings;
  settings.plain_http = std::move(plain_http);
  settings.first_delay = 1ms;
  settings.longest_delay = 4ms;
  settings.least_speed_time = 1s;
  settings.deadline = 20s;
  return settings;
}

struct Got {
  Result<HttpResponse> response;
  std::string body;
};

HttpRequest get_request(const std::string& url) {
  HttpRequest request{HttpMethod::get, ok(Url::parse(url))};
  request.limit = 1 << 20;
  return request;
}

Got send(HttpClient& client, HttpRequest request) {
  MemorySink sink;
  request.sink = &sink;
  auto response = client.send(request);
  return {std::move(response), std::string(as_text(sink.bytes))};
}

// Sends a request to a misbehaving server.
Got get(const FaultServer& server, const std::function<void(HttpRequest&, HttpSettings&)>& change = {}) {
  HttpSettings settings = quick({server.authority()});
  HttpRequest request = get_request(server.url("/blob"));
  if (change) change(request, settings);
  HttpClient client(settings);
  return send(client, request);
}

Result<HttpResponse> put(HttpClient& client, const std::string& url, std::string_view body,
                         Authorizer* authorizer = nullptr) {
  MemorySource source(as_bytes(body));
  HttpRequest request{HttpMethod::put, ok(Url::parse(url))};
  request.body = &source;
  request.authorizer = authorizer;
  return client.send(request);
}

std::set<std::string> open_sockets() {
  std::set<std::string> sockets;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.starts_with("socket:")) sockets.insert(target);
  }
  return sockets;
}

const std::string kStrong = "ETag: \"a\"\r\n";

}  // namespace

TEST_CASE("a port that is reserved for a server is given to nobody else") {
  const ReservedPort reserved;
  const auto bound = [](std::uint16_t port, int shared) {
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &shared, sizeof shared);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* general = reinterpret_cast<const sockaddr*>(&address);
    const bool listens = bind(descriptor, general, sizeof address) == 0 && listen(descriptor, 1) == 0;
    close(descriptor);
    return listens;
  };
  CHECK_FALSE(bound(reserved.number(), 0));
  CHECK(bound(reserved.number(), 1));  // as a server binds it
  std::vector<std::unique_ptr<ReservedPort>> others;
  for (int i = 0; i < 500; ++i) {
    others.push_back(std::make_unique<ReservedPort>());
    REQUIRE(others.back()->number() != reserved.number());
  }
}

TEST_CASE("what is put on nginx is got again, whole and in parts") {
  const auto nginx = Nginx::start();
  if (!nginx) return;
  HttpClient client(quick({nginx->authority()}));
  const std::string text = "0123456789" + std::string(3'000'000, 'x');
  CHECK(ok(put(client, nginx->url("/new/folders/blob"), text)).status == 201);
  HttpRequest request = get_request(nginx->url("/new/folders/blob"));
  request.limit = text.size();
  const Got whole = send(client, request);
  CHECK(ok(whole.response).status == 200);
  CHECK(whole.body == text);
  request.range = HttpRange{3, 4};
  const Got part = send(client, request);
  CHECK(ok(part.response).status == 206);
  CHECK(part.body == "3456");
  request.range.reset();
  request.method = HttpMethod::head;
  const Got head = send(client, request);
  CHECK(*ok(head.response).header("Content-Length") == std::to_string(text.size()));
  CHECK(head.body.empty());
  CHECK(ok(send(client, get_request(nginx->url("/absent"))).response).status == 404);
}

TEST_CASE("nginx with a certificate of our own authority is trusted where that authority is named") {
  const auto nginx = Nginx::start();
  if (!nginx) return;
  std::ofstream(nginx->served() / "blob") << "hello";
  std::filesystem::create_directory(nginx->served() / "mutual");
  std::ofstream(nginx->served() / "mutual/blob") << "to you";
  HttpSettings settings = quick({});
  HttpClient stranger(settings);
  const Got refused = send(stranger, get_request(nginx->tls_url("/blob")));
  REQUIRE_FALSE(refused.response);
  CHECK(refused.response.error().code == ErrorCode::untrusted);
  CHECK_FALSE(refused.response.error().remedy.empty());
  settings.authorities_file = nginx->authorities();
  HttpClient client(settings);
  const Got got = send(client, get_request(nginx->tls_url("/blob")));
  CHECK(ok(got.response).status == 200);
  CHECK(got.body == "hello");
  CHECK(ok(send(client, get_request(nginx->tls_url("/mutual/blob"))).response).status == 403);
  settings.client_certificate = nginx->client_certificate();
  settings.client_key = nginx->client_key();
  HttpClient known(settings);
  CHECK(send(known, get_request(nginx->tls_url("/mutual/blob"))).body == "to you");
}

TEST_CASE("nginx with a password takes the right one") {
  const auto nginx = Nginx::start();
  if (!nginx) return;
  HttpClient client(quick({nginx->authority()}));
  FixedAuthorizer right(basic_authorization({"reader", "secret"}));
  FixedAuthorizer wrong(basic_authorization({"reader", "secrets"}));
  CHECK(ok(put(client, nginx->url("/private/x"), "1", &wrong)).status == 401);
  CHECK(ok(put(client, nginx->url("/private/x"), "1", &right)).status == 201);
  HttpRequest request = get_request(nginx->url("/private/x"));
  CHECK(ok(send(client, request).response).status == 401);
  request.authorizer = &right;
  CHECK(send(client, request).body == "1");
}

TEST_CASE("a process at rest has no socket, and one at work keeps its connection") {
  const auto nginx = Nginx::start();
  if (!nginx) return;
  std::ofstream(nginx->served() / "blob") << "hello";
  const auto before = open_sockets();
  HttpClient client(quick({nginx->authority()}));
  CHECK(send(client, get_request(nginx->url("/blob"))).body == "hello");
  CHECK(open_sockets() == before);
  {
    const HttpClient::Session session(client);
    CHECK(send(client, get_request(nginx->url("/blob"))).body == "hello");
    const auto held = open_sockets();
    CHECK(held.size() > before.size());
    CHECK(send(client, get_request(nginx->url("/blob"))).body == "hello");
    CHECK(open_sockets() == held);
    const pid_t child = fork();
    if (child == 0) _exit(send(client, get_request(nginx->url("/blob"))).body == "hello" ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(send(client, get_request(nginx->url("/blob"))).body == "hello");
    CHECK(open_sockets() == held);
  }
  CHECK(open_sockets() == before);
}

TEST_CASE("several threads ask one client") {
  const auto nginx = Nginx::start();
  if (!nginx) return;
  std::ofstream(nginx->served() / "blob") << "hello";
  HttpClient client(quick({nginx->authority()}));
  const HttpClient::Session session(client);
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10; ++j)
        good += send(client, get_request(nginx->url("/blob"))).body == "hello" ? 1 : 0;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(good == 40);
}

TEST_CASE("offline nothing is asked, and libcurl is not opened") {
  HttpSettings settings = quick({});
  settings.offline = true;
  settings.library = "/nowhere/libcurl.so.4";
  HttpClient client(settings);
  const Got got = send(client, get_request("https://name.invalid/"));
  REQUIRE_FALSE(got.response);
  CHECK(got.response.error().code == ErrorCode::unavailable);
  CHECK(contains(got.response.error().message, "offline"));
}

TEST_CASE("without libcurl a request is unavailable, with the remedy") {
  HttpSettings settings = quick({});
  settings.library = "/nowhere/libcurl.so.4";
  HttpClient client(settings);
  const Got got = send(client, get_request("https://name.invalid/"));
  REQUIRE_FALSE(got.response);
  CHECK(got.response.error().code == ErrorCode::unavailable);
  CHECK(contains(got.response.error().remedy, "libcurl4"));
}

TEST_CASE("plain HTTP is for the servers alone for which it was allowed") {
  const FaultServer server([](auto&, auto) { return reply(200, "hello"); });
  for (const std::string other : {"", "127.0.0.1", "127.0.0.1:1"}) {
    const Got got = get(server, [&](auto&, HttpSettings& settings) { settings.plain_http = {other}; });
    REQUIRE_FALSE(got.response);
    CHECK(got.response.error().code == ErrorCode::untrusted);
  }
  CHECK(server.requests().empty());
}

TEST_CASE("busy servers are asked again, when they say") {
  const FaultServer server([](auto&, std::size_t number) {
    if (number == 0) return reply(429, "later", "Retry-After: 1\r\n");
    if (number == 1) return reply(503, "later", "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
    if (number == 2) return reply(408);
    return reply(200, "hello");
  });
  const auto start = std::chrono::steady_clock::now();
  const Got got = get(server);
  CHECK(ok(got.response).status == 200);
  CHECK(got.body == "hello");
  CHECK(std::chrono::steady_clock::now() - start >= 1s);
  CHECK(server.requests().size() == 4);
}

TEST_CASE("a wait beyond the time limit is not begun") {
  const FaultServer server([](auto&, auto) { return reply(503, "later", "Retry-After: 3600\r\n"); });
  const auto start = std::chrono::steady_clock::now();
  const Got got = get(server);
  REQUIRE_FALSE(got.response);
  CHECK(got.response.error().code == ErrorCode::unavailable);
  CHECK(got.response.error().native == 503);
  CHECK(contains(got.response.error().message, "later"));
  CHECK(std::chrono::steady_clock::now() - start < 2s);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a server that goes on refusing is given up after the attempts") {
  const FaultServer server([](auto&, auto) { return reply(502, "<html>bad gateway</html>"); });
  const Got got = get(server);
  REQUIRE_FALSE(got.response);
  CHECK(contains(got.response.error().message, "after 5 attempts"));
  CHECK(contains(got.response.error().message, "bad gateway"));
  CHECK(server.requests().size() == 5);
  CHECK(got.body.empty());
}

TEST_CASE("what asking again would not change is not asked again") {
  for (const int status : {400, 401, 403, 404, 405, 410, 413, 501}) {
    const FaultServer server([&](auto&, auto) { return reply(status, "<html>a portal</html>"); });
    const Got got = get(server);
    CHECK(ok(got.response).status == status);
    CHECK(ok(got.response).refusal == "<html>a portal</html>");
    CHECK(got.body.empty());
    CHECK(server.requests().size() == 1);
  }
}

TEST_CASE("a POST is sent once, unless it may be repeated or never arrived") {
  const FaultServer server([](auto&, auto) { return reply(503); });
  const auto post = [](HttpRequest& request, HttpSettings&) { request.method = HttpMethod::post; };
  CHECK_FALSE(get(server, post).response);
  CHECK(server.requests().size() == 1);
  CHECK_FALSE(get(server, [&](HttpRequest& request, HttpSettings& settings) {
                post(request, settings);
                request.repeatable = true;
              }).response);
  CHECK(server.requests().size() == 6);
}

TEST_CASE("a body that breaks off is gone on with") {
  const FaultServer server([](const ReceivedRequest& request, std::size_t number) {
    if (number == 0) return reply(200, "hel", kStrong + "Content-Length: 8\r\n");
    if (number == 1 && request.header("range") == "bytes=3-" && request.header("if-range") == "\"a\"")
      return reply(206, "lo ", kStrong + "Content-Range: bytes 3-7/8\r\nContent-Length: 5\r\n");
    if (number == 2 && request.header("range") == "bytes=6-")
      return reply(206, "me", kStrong + "Content-Range: bytes 6-7/8\r\n");
    return reply(400);
  });
  const Got got = get(server);
  CHECK(ok(got.response).status == 206);
  CHECK(got.body == "hello me");
}

TEST_CASE("a rest that is refused is asked for again, as what was never begun is not") {
  const FaultServer server([](const ReceivedRequest& request, std::size_t number) {
    if (number == 0) return reply(200, "hel", kStrong + "Content-Length: 5\r\n");
    if (number == 1) return reply(403, "<html>Sign in first</html>");
    if (number == 2 && request.header("range") == "bytes=3-")
      return reply(206, "lo", kStrong + "Content-Range: bytes 3-4/5\r\n");
    return reply(403);
  });
  const Got got = get(server);
  CHECK(ok(got.response).status == 206);
  CHECK(got.body == "hello");
  CHECK(ok(get(server).response).status == 403);
  CHECK(server.requests().size() == 4);

  const FaultServer circle([](const ReceivedRequest& request, std::size_t number) {
    if (number == 0) return reply(200, "hel", kStrong + "Content-Length: 5\r\n");
    if (number <= 6) return reply(302, "", "Location: /circle\r\n");
    if (request.header("range") == "bytes=3-" && request.target != "/circle")
      return reply(206, "lo", kStrong + "Content-Range: bytes 3-4/5\r\n");
    return reply(400);
  });
  CHECK(get(circle).body == "hello");
}

TEST_CASE("a body that breaks off begins again where nothing proves the rest") {
  const FaultServer server([](const ReceivedRequest& request, std::size_t number) {
    if (!request.header("range").empty()) return reply(400);
    return number == 0 ? reply(200, "hel", "Content-Length: 5\r\n") : reply(200, "world");
  });
  const Got got = get(server);
  CHECK(ok(got.response).status == 200);
  CHECK(got.body == "world");
}

TEST_CASE("a rest that is no longer there begins again") {
  const FaultServer server([](const ReceivedRequest&, std::size_t number) {
    if (number == 0) return reply(200, "hel", kStrong + "Content-Length: 5\r\n");
    if (number == 1) return reply(416, "", "Content-Range: bytes */2\r\n");
    return reply(200, "ab");
  });
  CHECK(get(server).body == "ab");
}

TEST_CASE("half a body that says it is all is told by its size") {
  const FaultServer server([](auto&, auto) { return reply(200, "hel"); });
  const Got got = get(server, [](HttpRequest& request, HttpSettings&) { request.expected_size = 6; });
  REQUIRE_FALSE(got.response);
  CHECK(got.response.error().code == ErrorCode::corruption);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a body in chunks without a length is taken up to the limit") {
  const FaultServer server([](auto&, auto) {
    return reply(200, "5\r\nhello\r\n3\r\n me\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\n");
  });
  CHECK(get(server).body == "hello me");
  CHECK(get(server, [](HttpRequest& request, HttpSettings&) { request.limit = 7; }).response.error().code ==
        ErrorCode::corruption);
  const FaultServer broken([](auto&, std::size_t number) {
    return reply(200, number == 0 ? "5\r\nhel" : "2\r\nhi\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\n");
  });
  CHECK(get(broken).body == "hi");
}

TEST_CASE("a body without an end is cut at the limit") {
  const FaultServer server([](auto&, auto) {
    ServerReply endless = reply(200, std::string(2000, 'x'), "Transfer-Encoding: identity\r\n");
    endless.repeats = true;
    return endless;
  });
  const Got got = get(server);
  REQUIRE_FALSE(got.response);
  CHECK(got.response.error().code == ErrorCode::corruption);
  CHECK(got.body.size() <= 1 << 20);
}

TEST_CASE("a range that nothing but the whole answers is cut out, and the rest is not waited for") {
  const FaultServer server([](auto&, auto) {
    ServerReply whole = reply(200, "0123456789", "Content-Length: 1000\r\n");
    whole.stalls = true;
    return whole;
  });
  const Got got = get(server, [](HttpRequest& request, HttpSettings&) { request.range = HttpRange{2, 3}; });
  CHECK(ok(got.response).status == 200);
  CHECK(got.body == "234");
}

TEST_CASE("other bytes than were asked for are corruption") {
  const FaultServer server([](auto&, auto) { return reply(206, "0123", "Content-Range: bytes 0-3/10\r\n"); });
  const Got got = get(server, [](HttpRequest& request, HttpSettings&) { request.range = HttpRange{2, 4}; });
  REQUIRE_FALSE(got.response);
  CHECK(got.response.error().code == ErrorCode::corruption);
  CHECK(got.body.empty());
}

TEST_CASE("a range behind the end is the last word") {
  const FaultServer server([](auto&, auto) {
    return reply(416, "thirty three bytes", "Content-Range: bytes */10\r\nContent-Length: 500\r\n");
  });
  const Got got = get(server, [](HttpRequest& request, HttpSettings&) { request.range = HttpRange{20, 4}; });
  CHECK(ok(got.response).status == 416);
}

TEST_CASE("a server that stalls or drips is given up in time") {
  for (const bool drips : {false, true}) {
    const FaultServer server([&](auto&, auto) {
      ServerReply slow = reply(200, std::string(100, 'x'));
      if (drips) {
        slow.chunk = 1;
        slow.pause = 200ms;
      } else {
        slow = reply(200, "x", "Content-Length: 100\r\n");
        slow.stalls = true;
      }
      return slow;
    });
    const auto start = std::chrono::steady_clock::now();
    const Got got = get(server, [](HttpRequest&, HttpSettings& settings) { settings.attempts = 1; });
    REQUIRE_FALSE(got.response);
    CHECK(got.response.error().code == ErrorCode::unavailable);
    CHECK(std::chrono::steady_clock::now() - start < 5s);
  }
}

TEST_CASE("the time limit is of all attempts together") {
  const FaultServer server([](auto&, auto) {
    ServerReply silent{""};
    silent.stalls = true;
    return silent;
  });
  const auto start = std::chrono::steady_clock::now();
  const Got got = get(server, [](HttpRequest&, HttpSettings& settings) {
    settings.deadline = 300ms;
    settings.least_speed_time = 60s;
  });
  CHECK_FALSE(got.response);
  CHECK(std::chrono::steady_clock::now() - start < 2s);
}

TEST_CASE("a request that is cancelled ends at once") {
  const FaultServer server([](auto&, auto) {
    ServerReply silent{""};
    silent.stalls = true;
    return silent;
  });
  const auto start = std::chrono::steady_clock::now();
  const Got got = get(server, [&](HttpRequest&, HttpSettings& settings) {
    settings.cancelled = [start] { return std::chrono::steady_clock::now() - start > 100ms; };
  });
  REQUIRE_FALSE(got.response);
  CHECK(contains(got.response.error().message, "cancelled"));
  CHECK(std::chrono::steady_clock::now() - start < 3s);
}

TEST_CASE("a redirect is followed, and another server is not told who asks") {
  const FaultServer other([](auto&, auto) { return reply(200, "from there"); });
  const FaultServer server([&](const ReceivedRequest& request, auto) {
    if (request.target == "/blob") return reply(302, "", "Location: near?x=y\r\n");
    return reply(307, "", "Location: " + other.url("/far") + "\r\n");
  });
  FixedAuthorizer authorizer(bearer_authorization("secret"));
  const Got got = get(server, [&](HttpRequest& request, HttpSettings& settings) {
    settings.plain_http.push_back(other.authority());
    request.authorizer = &authorizer;
    request.headers = {{"cookie", "a=b"}, {"Accept", "*/*"}};
  });
  CHECK(got.body == "from there");
  CHECK(ok(got.response).url.path == "/far");
  REQUIRE(server.requests().size() == 2);
  CHECK(server.requests()[1].target == "/near?x=y");
  for (const ReceivedRequest& request : server.requests())
    CHECK(request.header("authorization") == "Bearer secret");
  REQUIRE(other.requests().size() == 1);
  CHECK(other.requests()[0].headers.count("authorization") == 0);
  CHECK(other.requests()[0].headers.count("cookie") == 0);
  CHECK(other.requests()[0].header("accept") == "*/*");
}

TEST_CASE("who left once comes back as a stranger") {
  std::string back;
  const FaultServer other([&](auto&, auto) { return reply(302, "", "Location: " + back + "\r\n"); });
  const FaultServer server([&](const ReceivedRequest& request, auto) {
    return request.target == "/blob" ? reply(302, "", "Location: " + other.url("/") + "\r\n")
                                     : reply(200, "back");
  });
  back = server.url("/end");
  FixedAuthorizer authorizer(bearer_authorization("secret"));
  const Got got = get(server, [&](HttpRequest& request, HttpSettings& settings) {
    settings.plain_http.push_back(other.authority());
    request.authorizer = &authorizer;
  });
  CHECK(got.body == "back");
  CHECK(server.requests().at(1).headers.count("authorization") == 0);
}

TEST_CASE("a redirect to plain HTTP that was not allowed is not followed") {
  const FaultServer other([](auto&, auto) { return reply(200, "from there"); });
  const FaultServer server(
      [&](auto&, auto) { return reply(302, "", "Location: " + other.url("/far") + "\r\n"); });
  const Got got = get(server);
  REQUIRE_FALSE(got.response);
  CHECK(got.response.error().code == ErrorCode::untrusted);
  CHECK(other.requests().empty());
}

TEST_CASE("redirects in a circle end") {
  const FaultServer server([](auto&, auto) { return reply(301, "", "Location: /blob\r\n"); });
  const Got got = get(server);
  REQUIRE_FALSE(got.response);
  CHECK(got.response.error().code == ErrorCode::untrusted);
  CHECK(server.requests().size() == 6);
}

TEST_CASE("an upload follows only a redirect that keeps it one") {
  const FaultServer server([](const ReceivedRequest& request, auto) {
    if (request.target == "/old") return reply(302, "", "Location: /there\r\n");
    return request.target == "/new" ? reply(307, "", "Location: /there\r\n") : reply(201);
  });
  HttpClient client(quick({server.authority()}));
  CHECK(ok(put(client, server.url("/old"), "body")).status == 302);
  CHECK(ok(put(client, server.url("/new"), "body")).status == 201);
  CHECK(server.requests().back().method == "PUT");
  CHECK(server.requests().back().body == "body");
}

TEST_CASE("a refused authorizer may have another word, once") {
  struct Learning final : Authorizer {
    Result<HttpHeaders> headers(const HttpRequest&) override {
      return HttpHeaders{bearer_authorization(word)};
    }
    Result<bool> refused(const HttpRequest&, const HttpResponse&) override {
      word += "!";
      return true;
    }
    std::string word = "open";
  } learning;
  const FaultServer server([](const ReceivedRequest& request, auto) {
    return request.header("authorization") == "Bearer open!" ? reply(200, "hello") : reply(401);
  });
  const auto with = [&](HttpRequest& request, HttpSettings&) { request.authorizer = &learning; };
  CHECK(get(server, with).body == "hello");
  CHECK(server.requests().size() == 2);
  learning.word = "no";
  CHECK(ok(get(server, with).response).status == 401);
  CHECK(server.requests().size() == 4);
}

TEST_CASE("a header with a line break is not sent") {
  const FaultServer server([](auto&, auto) { return reply(200); });
  const Got got = get(server, [](HttpRequest& request, HttpSettings&) {
    request.headers = {{"X-A", "b\r\nAuthorization: c"}};
  });
  REQUIRE_FALSE(got.response);
  CHECK(got.response.error().code == ErrorCode::invalid_argument);
  CHECK(server.requests().empty());
}

TEST_CASE("a sink that fails ends the request") {
  struct Full final : BodySink {
    Result<void> restart() override { return {}; }
    Result<void> write(ByteView) override { return Error{ErrorCode::io, "the disk is full"}; }
  } full;
  const FaultServer server([](auto&, auto) { return reply(200, "hello"); });
  HttpClient client(quick({server.authority()}));
  HttpRequest request = get_request(server.url("/"));
  request.sink = &full;
  const auto response = client.send(request);
  REQUIRE_FALSE(response);
  CHECK(response.error().code == ErrorCode::io);
  CHECK(server.requests().size() == 1);
}
