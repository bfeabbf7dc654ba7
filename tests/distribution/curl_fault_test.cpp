// SPDX-License-Identifier: Apache-2.0
// Makes every libcurl call fail that can fail, once and from then on, in all operations that query
// servers. No wrong bytes arrive, no memory of libcurl leaks, and the next attempt succeeds.
#include "served_bundle.hpp"
#include "support/every_curl_call.hpp"
#include "support/server_process.hpp"

#include <cubinet/distribution/remote_cache.hpp>
#include <cubinet/distribution/static_server.hpp>

#include <fstream>

using namespace cubinet;
using test::CurlFaults;
using test::ok;

namespace {

namespace fs = std::filesystem;

constexpr int kServedKernels = 2;

Bytes bytes_in_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const ByteView view = as_bytes(text);
  return {view.begin(), view.end()};
}

// nginx with a bundle under /b, and clients whose libcurl fails.
struct FaultyCurl {
  explicit FaultyCurl(std::unique_ptr<test::Nginx> started)
      : nginx(std::move(started)), served(server("/b", true)) {
    served.push(1, kServedKernels);
    whole = bytes_in_file(served.folder / "a.bundle");
  }
  static std::unique_ptr<FaultyCurl> start() {
    auto nginx = test::Nginx::start();
    return nginx ? std::make_unique<FaultyCurl>(std::move(nginx)) : nullptr;
  }

  std::shared_ptr<HttpClient> client(bool sound = false) const {
    HttpSettings settings;
    if (!sound) settings.library = faults.library();
    settings.plain_http = {nginx->authority()};
    settings.attempts = 2;
    settings.first_delay = settings.longest_delay = std::chrono::milliseconds(0);
    return std::make_shared<HttpClient>(std::move(settings));
  }
  std::shared_ptr<ContentServer> server(const std::string& place, bool sound = false) const {
    return open_static_server(client(sound), ok(Url::parse(nginx->url(place))), nullptr);
  }
  BundleRoot root() const { return ok(Bundle::open((served.folder / "a.bundle").string()))->root(); }
  std::uint64_t root_bytes() const {
    return ok(Bundle::open((served.folder / "a.bundle").string()))->root_bytes().size();
  }
  // Checks that the bundle named by the channel is whole, or that there is no channel.
  void expect_whole_or_none(const std::string& place, bool has_to_be) {
    const auto there = server(place, true);
    const auto channel = ok(there->read_channel("stable"));
    CHECK((channel || !has_to_be));
    if (!channel) return;
    const test::TempDir folder;
    ok(pull_bundle(*there, ok(read_remote_bundle(*there, *channel)), root(), *posix_file_system(),
                   folder / "a"));
    CHECK(bytes_in_file(folder / "a") == whole);
  }

  CurlFaults faults;
  std::unique_ptr<test::Nginx> nginx;
  test::ServedBundle served;
  Bytes whole;
};

}  // namespace

TEST_CASE("a pull survives a fault in any call of libcurl" * doctest::test_suite("loop")) {
  const auto curl = FaultyCurl::start();
  if (!curl) return;
  const test::TempDir folder;
  const auto pull = [&]() -> Result<void> {
    const auto server = curl->server("/b");
    CUBINET_TRY_ASSIGN(const Sha256Digest channel, resolve_channel(*server, "stable"));
    CUBINET_TRY_ASSIGN(const RemoteBundle bundle, read_remote_bundle(*server, channel));
    return pull_bundle(*server, bundle, curl->root(), *posix_file_system(), folder / "a.bundle");
  };
  test::for_every_curl_call(
      curl->faults, [&] { return pull().has_value(); },
      [&](bool done) {
        CHECK(fs::exists(folder / "a.bundle") == done);
        if (done) CHECK(bytes_in_file(folder / "a.bundle") == curl->whole);
        fs::remove(folder / "a.bundle");
      });
}

TEST_CASE("a push survives a fault in any call of libcurl" * doctest::test_suite("loop")) {
  const auto curl = FaultyCurl::start();
  if (!curl) return;
  const BundleUpload upload{curl->served.folder / "a.bundle", curl->root_bytes()};
  test::for_every_curl_call(
      curl->faults,
      [&] { return push_bundle(*curl->server("/p"), posix_file_system(), upload, "stable").has_value(); },
      [&](bool done) {
        curl->expect_whole_or_none("/p", done);
        if (done) fs::remove_all(curl->nginx->served() / "p");
      });
}

TEST_CASE("a mirror of a bundle survives a fault in any call of libcurl" * doctest::test_suite("loop")) {
  const auto curl = FaultyCurl::start();
  if (!curl) return;
  const auto mirror = [&]() -> Result<void> {
    const auto from = curl->server("/b");
    CUBINET_TRY_ASSIGN(const Sha256Digest channel, resolve_channel(*from, "stable"));
    CUBINET_TRY_ASSIGN(const RemoteBundle bundle, read_remote_bundle(*from, channel));
    return copy_bundle(*from, bundle, curl->root(), *curl->server("/m"), "stable");
  };
  test::for_every_curl_call(
      curl->faults, [&] { return mirror().has_value(); },
      [&](bool done) {
        curl->expect_whole_or_none("/m", done);
        if (done) fs::remove_all(curl->nginx->served() / "m");
      });
}

TEST_CASE("a hit of a store over a server survives a fault in any call of libcurl" *
          doctest::test_suite("loop")) {
  const auto curl = FaultyCurl::start();
  if (!curl) return;
  const Cubin wanted = test::cubins_of(kServedKernels).back();
  const auto hit = [&]() -> Result<bool> {
    ServerStoreOptions options = curl->served.options();
    options.client = curl->client();
    options.server = open_static_server(options.client, ok(Url::parse(curl->nginx->url("/b"))), nullptr);
    const auto store = ok(open_server_store(std::move(options)));
    CUBINET_TRY_ASSIGN(const CubinRecords found, store->find(wanted.record->identity.kernel()));
    if (found.empty()) return false;
    CUBINET_TRY_ASSIGN(const auto loaded, store->load(found.front()));
    if (loaded) CHECK(*loaded->image == *wanted.image);
    return loaded.has_value();
  };
  test::for_every_curl_call(
      curl->faults,
      [&] {
        const auto there = hit();
        return there && *there;
      },
      [&](bool done) {
        const auto home = curl->served.home();
        const auto kept = ok(home->find(wanted.record->identity.kernel()));
        CHECK(kept.size() == (done ? 1 : 0));
        CHECK(ok(home->verify()).findings.empty());
        if (done) fs::remove_all(curl->served.folder / "home");
      });
}

TEST_CASE("a remote cache survives a fault in any call of libcurl" * doctest::test_suite("loop")) {
  const auto curl = FaultyCurl::start();
  if (!curl) return;
  const SecretKey key = ok(SecretKey::generate());
  const Cubin build = test::cubins_of(1).front();
  const auto open = [&](bool sound, bool writes) {
    RemoteCacheOptions options;
    options.reference = curl->nginx->url("/cache");
    options.client = curl->client(sound);
    options.policy.emplace();
    options.policy->trusted_keys = {key.public_key()};
    if (writes) options.writer = ok(SecretKey::parse(ok(key.to_file(nullptr)).text(), nullptr));
    return ok(open_remote_cache(std::move(options)));
  };
  const auto find = [&](BuildCache& cache) {
    const auto found =
        cache.find_build(build.record->identity, build.record->kind, build.record->fingerprint);
    if (found && *found) CHECK(*(*found)->image == *build.image);
    return found && *found;
  };
  // share() reports no errors: the build is stored or it is not.
  test::for_every_curl_call(
      curl->faults,
      [&] {
        open(false, true)->share(build);
        return find(*open(true, false));
      },
      [&](bool done) {
        if (done) fs::remove_all(curl->nginx->served() / "cache");
      });
  open(true, true)->share(build);
  test::for_every_curl_call(
      curl->faults, [&] { return find(*open(false, false)); }, [](bool) {});
}
