// SPDX-License-Identifier: Apache-2.0
#include "upload_queue.hpp"

#include "support/fault_server.hpp"
#include "support/ok.hpp"

#include <cubinet/base/stopwatch.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace std::chrono_literals;

TEST_CASE("whatever was pushed is sent before a queue is gone, in its order, and failures are told once") {
  std::vector<int> sent;
  std::vector<LogLevel> told;
  {
    UploadQueue queue({}, 10s, [&](const LogRecord& record) { told.push_back(record.level); });
    for (int i = 0; i < 20; ++i) {
      queue.push([&sent, i](HttpClient&) -> Result<void> {
        sent.push_back(i);
        if (i % 2 == 1) return Error{ErrorCode::unavailable, "no"};
        return {};
      });
      // The thread has ended in between.
      if (i == 10) std::this_thread::sleep_for(50ms);
    }
  }
  REQUIRE(sent.size() == 20);
  CHECK(std::is_sorted(sent.begin(), sent.end()));
  REQUIRE(told.size() == 10);
  CHECK(std::count(told.begin(), told.end(), LogLevel::warning) == 1);
}

TEST_CASE("a server that stalls keeps nobody from ending for longer than was said") {
  const test::FaultServer server([](const test::ReceivedRequest&, std::size_t) {
    return test::ServerReply{.bytes = "HTTP/1.1 200 OK\r\n", .stalls = true};
  });
  HttpSettings settings;
  settings.plain_http = {server.authority()};
  int begun = 0;
  const Stopwatch watch;
  {
    UploadQueue queue(settings, 300ms, {});
    for (int i = 0; i < 3; ++i)
      queue.push([&](HttpClient& client) -> Result<void> {
        ++begun;
        CUBINET_TRY(client.send({HttpMethod::get, test::ok(Url::parse(server.url("/x")))}));
        return {};
      });
    CHECK(watch.seconds() < 0.2);
  }
  CHECK(watch.seconds() < 5);
  CHECK(begun == 1);
}
