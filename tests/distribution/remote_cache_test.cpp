// SPDX-License-Identifier: Apache-2.0
#include "bazel_cache.hpp"
#include "served_bundle.hpp"
#include "support/server_process.hpp"
#include "support/text.hpp"

#include <cubinet/base/stopwatch.hpp>
#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/distribution/remote_cache.hpp>

#include <fstream>
#include <thread>

using namespace cubinet;
using namespace std::chrono_literals;
using test::BazelCache;
using test::contains;
using test::FaultServer;
using test::ok;

namespace {

const SecretKey& writer_key() {
  static const SecretKey key = ok(SecretKey::generate());
  return key;
}

SecretKey copy_of(const SecretKey& key) {
  return ok(SecretKey::parse(ok(key.to_file(nullptr)).text(), nullptr));
}

TrustPolicy trust_in(const SecretKey& key) {
  TrustPolicy policy;
  policy.trusted_keys = {key.public_key()};
  return policy;
}

RemoteCacheOptions cache_options(const std::string& url, const std::string& authority,
                                 const SecretKey* writer = nullptr) {
  RemoteCacheOptions options;
  options.reference = url;
  options.client = test::quick_client({authority});
  options.policy = trust_in(writer_key());
  if (writer != nullptr) options.writer = copy_of(*writer);
  return options;
}

const Cubin& build() {
  static const Cubin cubin = test::cubins_of(1).front();
  return cubin;
}

// Queries the cache as a request does that would otherwise compile.
Result<std::optional<Cubin>> ask_for(BuildCache& cache, const Cubin& cubin) {
  return cache.find_build(cubin.record->identity, cubin.record->kind, cubin.record->fingerprint);
}

std::string entry_path(const Cubin& cubin) {
  return "ac/" + action_key(cubin.record->identity, cubin.record->kind, cubin.record->fingerprint).to_hex();
}
std::string image_path(const Cubin& cubin) {
  return "cas/" + cubin.record->digest.to_hex();
}

// Stores the build on the server, signed by the writer that readers trust, or by another one.
void fill(const BazelCache& server, const SecretKey& key = writer_key(), const Cubin& cubin = build()) {
  ok(open_remote_cache(cache_options(server.url(), server.authority(), &key)))->share(cubin);
}

std::string served_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("what one node compiled another finds on nginx, whole and signed") {
  const auto nginx = test::Nginx::start();
  if (!nginx) return;
  const test::TempDir folder;
  auto options = cache_options(nginx->url("/team/cache"), nginx->authority(), &writer_key());
  {
    const auto writer = ok(open_remote_cache(std::move(options)));
    CHECK(writer->place() == nginx->url("/team/cache"));
    CHECK_FALSE(ok(ask_for(*writer, build())));
    writer->share(build());
  }
  const auto served = nginx->served() / "team/cache";
  CHECK(served_text(served / image_path(build())) == as_text(*build().image));
  const auto entry = ok(parse_action_result(as_bytes(served_text(served / entry_path(build())))));
  CHECK(entry.files.size() == 3);
  for (const ActionResult::File& file : entry.files)
    CHECK(sha256(as_bytes(served_text(served / ("cas/" + file.digest.to_hex())))) == file.digest);

  auto reading = cache_options(nginx->url("/team/cache"), nginx->authority());
  reading.home = ok(Home::open({.path = (folder / "home").string()}));
  const auto home = reading.home;
  {
    const auto reader = ok(open_remote_cache(std::move(reading)));
    const auto found = ok(ask_for(*reader, build()));
    REQUIRE(found);
    CHECK(*found->image == *build().image);
    CHECK(*found->record == *build().record);
    CHECK(reader->fetched_bytes() > build().image->size());
    // A build of the same kernel by another compiler, or as PTX, is another build.
    CHECK_FALSE(ok(
        reader->find_build(build().record->identity, ImageKind::cubin, test::fake_fingerprint("another"))));
    CHECK_FALSE(
        ok(reader->find_build(build().record->identity, ImageKind::ptx, build().record->fingerprint)));
    // A reader writes nothing to the server.
    reader->share(test::cubins_of(2).back());
  }
  CHECK_FALSE(std::filesystem::exists(served / entry_path(test::cubins_of(2).back())));
  const KnownChannel known = ok(home->downloads().channel(nginx->url("/team/cache")));
  CHECK(known.uses.asked == 3);
  CHECK(known.uses.found == 1);
  CHECK(known.uses.bytes > build().image->size());
}

TEST_CASE("a server that checks as bazel remote does takes what is written, adds to it, and it is read") {
  BazelCache server;
  fill(server);
  CHECK(server.content().size() == 4);
  const auto reader = ok(open_remote_cache(cache_options(server.url(), server.authority())));
  const auto found = ok(ask_for(*reader, build()));
  REQUIRE(found);
  CHECK(*found->image == *build().image);
  // The server forgets images first.
  server.forget(image_path(build()));
  CHECK_FALSE(ok(ask_for(*reader, build())));
  fill(server);
  CHECK(ok(ask_for(*reader, build())));
}

TEST_CASE("an image that a server forgot and its entry names is a miss") {
  BazelCache server;
  fill(server);
  const FaultServer forgetful([&](const test::ReceivedRequest& request, std::size_t) {
    return contains(request.target, "/ac/") ? test::reply(200, server.content().at(entry_path(build())))
                                            : test::reply(404);
  });
  const auto reader = ok(open_remote_cache(cache_options(forgetful.url("/c"), forgetful.authority())));
  CHECK_FALSE(ok(ask_for(*reader, build())));
}

TEST_CASE("whatever byte of an entry or its image is another, no other build is taken" *
          doctest::test_suite("loop")) {
  BazelCache server;
  test::FakeCubin description;
  description.code_bytes = 64;
  const Cubin small = test::make_cubin(KernelSpec{"small", {}}, description);
  fill(server, writer_key(), small);
  const auto reader = ok(open_remote_cache(cache_options(server.url(), server.authority())));
  int taken = 0;
  const auto is_right = [&] {
    const auto found = ask_for(*reader, small);
    if (!found) {
      CHECK((found.error().code == ErrorCode::corruption || found.error().code == ErrorCode::untrusted));
    } else if (*found) {
      ++taken;
      CHECK(*(*found)->image == *small.image);
      CHECK(*(*found)->record == *small.record);
    }
  };
  for (const std::string& path : {entry_path(small), image_path(small)}) {
    const std::string whole = server.content().at(path);
    const std::size_t step = std::max<std::size_t>(1, whole.size() / 200);
    for (std::size_t at = 0; at < whole.size(); at += step) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      server.put(path, damaged);
      is_right();
      server.put(path, whole.substr(0, at));
      is_right();
    }
    server.put(path, whole);
  }
  // Unsigned data of an entry is not used. The signed record gives the location of the image.
  CHECK(taken < 200);
  CHECK(ok(ask_for(*reader, small)));
}

TEST_CASE("an entry by a writer whom nobody lists is refused, and one that was moved to another name") {
  BazelCache server;
  const SecretKey stranger = ok(SecretKey::generate());
  fill(server, stranger);
  const auto reader = ok(open_remote_cache(cache_options(server.url(), server.authority())));
  const auto refused = ask_for(*reader, build());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::untrusted);
  CHECK(contains(refused.error().to_line(), entry_path(build())));
  fill(server);
  CHECK(ok(ask_for(*reader, build())));
  const Cubin other = test::cubins_of(2).back();
  server.put(entry_path(other), server.content().at(entry_path(build())));
  const auto moved = ask_for(*reader, other);
  REQUIRE_FALSE(moved);
  CHECK(moved.error().code == ErrorCode::untrusted);
}

TEST_CASE("who does not say whose builds count, or names no server, gets no cache") {
  auto options = cache_options("https://host/cache", "host");
  options.policy.reset();
  CHECK(open_remote_cache(std::move(options)).error().code == ErrorCode::untrusted);
  options = cache_options("https://host/cache", "host");
  options.policy->trusted_keys.clear();
  options.policy->threshold = 0;
  CHECK(open_remote_cache(std::move(options)).error().code == ErrorCode::untrusted);
  for (const char* reference : {"oci://host/name", "/folder", "https://host/cache#stable", "gopher://host"})
    CHECK(open_remote_cache(cache_options(reference, "host")).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a server that is dead or slow costs a bounded time once, and is asked again later") {
  std::atomic<bool> dead{true};
  BazelCache real;
  fill(real);
  const FaultServer server([&](const test::ReceivedRequest& request, std::size_t) -> test::ServerReply {
    if (dead) return {.bytes = {}, .stalls = true};
    return test::reply(200, real.content().at(request.target.substr(3)));
  });
  auto options = cache_options(server.url("/c"), server.authority());
  HttpSettings settings = options.client->settings();
  settings.deadline = 300ms;
  options.client = std::make_shared<HttpClient>(settings);
  options.rest = 400ms;
  const auto reader = ok(open_remote_cache(std::move(options)));
  const Stopwatch watch;
  CHECK(ask_for(*reader, build()).error().code == ErrorCode::unavailable);
  CHECK(watch.seconds() < 3);
  const std::size_t asked = server.requests().size();
  const Stopwatch again;
  for (int i = 0; i < 100; ++i)
    CHECK(ask_for(*reader, build()).error().code == ErrorCode::unavailable);
  CHECK(again.seconds() < 0.3);
  CHECK(server.requests().size() == asked);
  dead = false;
  std::this_thread::sleep_for(500ms);
  CHECK(ok(ask_for(*reader, build())));
}

TEST_CASE("offline, and where only what is here counts, nothing is asked and nothing sent") {
  BazelCache server;
  auto offline = cache_options(server.url(), server.authority(), &writer_key());
  HttpSettings settings = offline.client->settings();
  settings.offline = true;
  offline.client = std::make_shared<HttpClient>(settings);
  auto local = cache_options(server.url(), server.authority(), &writer_key());
  local.policy->local_only = true;
  for (auto* options : {&offline, &local}) {
    const auto cache = ok(open_remote_cache(std::move(*options)));
    CHECK_FALSE(ok(ask_for(*cache, build())));
    cache->share(build());
  }
  CHECK(server.requests().empty());
}

TEST_CASE("who may not write is warned once, and goes on reading") {
  BazelCache real;
  fill(real);
  const FaultServer server([&](const test::ReceivedRequest& request, std::size_t) {
    return request.method == "PUT" ? test::reply(403, "read only")
                                   : test::reply(200, real.content().at(request.target.substr(3)));
  });
  std::atomic<int> warnings{0};
  auto options = cache_options(server.url("/c"), server.authority(), &writer_key());
  options.log = [&](const LogRecord& record) { warnings += record.level == LogLevel::warning ? 1 : 0; };
  {
    const auto cache = ok(open_remote_cache(std::move(options)));
    for (int i = 0; i < 5; ++i)
      cache->share(build());
    for (int i = 0; i < 100 && warnings == 0; ++i)
      std::this_thread::sleep_for(20ms);
    CHECK(ok(ask_for(*cache, build())));
  }
  CHECK(warnings == 1);
}

TEST_CASE("to hand over a build takes no time, however slow the server") {
  const FaultServer server([](const test::ReceivedRequest&, std::size_t) {
    return test::ServerReply{.bytes = {}, .stalls = true};
  });
  auto options = cache_options(server.url("/c"), server.authority(), &writer_key());
  options.patience = 300ms;
  const Stopwatch watch;
  {
    const auto cache = ok(open_remote_cache(std::move(options)));
    for (int i = 0; i < 300; ++i)
      cache->share(build());
    CHECK(watch.seconds() < 1);
  }
  CHECK(watch.seconds() < 5);
}
