// SPDX-License-Identifier: Apache-2.0
// Starts many nodes at once. Each takes a few kernels of one bundle through a proxy that spoils two
// answers of five. All nodes get their kernels, none gets a wrong byte, and the server sends hardly
// more than without faults. scripts/campaign.sh starts 4000 nodes.
#include "servers.hpp"
#include "support/counted.hpp"
#include "support/fake_cubin.hpp"
#include "support/fault_proxy.hpp"
#include "support/sampled.hpp"
#include "support/server_process.hpp"

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/distribution/bundle_transfer.hpp>
#include <cubinet/distribution/mirrors.hpp>
#include <cubinet/distribution/static_server.hpp>

#include <atomic>
#include <functional>
#include <thread>

using namespace cubinet;
using test::ok;

namespace {

constexpr int kKernels = 40;
constexpr int kWanted = 4;
// Chance needs far fewer tries. A node that has not succeeded by then never will.
constexpr int kTries = 60;

// 40 kernels of 20 to 30 KB, uncompressed, pushed to a folder of nginx.
struct Fleet {
  Fleet(const test::Nginx& nginx, const test::FaultProxy& its_proxy) : proxy(its_proxy) {
    for (int i = 0; i < kKernels; ++i) {
      test::FakeCubin description;
      description.filler = static_cast<std::uint8_t>(i);
      description.code_bytes = 20'000 + 250 * static_cast<std::size_t>(i);
      KernelSpec spec;
      spec.name = "kernel_" + std::to_string(i);
      cubins.push_back(test::make_cubin(spec, description));
    }
    BundleOptions options;
    options.channel = "stable";
    const std::filesystem::path file = folder / "a.bundle";
    ok(create_bundle(file.string(), cubins, options));
    const std::uint64_t root_bytes = ok(Bundle::open(file.string()))->root_bytes().size();
    const auto server =
        open_static_server(test::quick_client({nginx.authority()}), ok(Url::parse(nginx.url("/b"))), nullptr);
    ok(push_bundle(*server, posix_file_system(), {file, root_bytes}, "stable"));
  }
  std::shared_ptr<HttpClient> client(std::vector<std::string> authorities) const {
    HttpSettings settings;
    settings.plain_http = std::move(authorities);
    // A stalled transfer receives less than one frame in the five seconds that libcurl averages
    // over, which is below this speed.
    settings.least_speed = 64 << 10;
    settings.least_speed_time = std::chrono::seconds(1);
    settings.first_delay = std::chrono::milliseconds(2);
    settings.longest_delay = std::chrono::milliseconds(20);
    return std::make_shared<HttpClient>(std::move(settings));
  }
  std::shared_ptr<ContentServer> through_proxy() const {
    return open_static_server(client({proxy.authority()}), ok(Url::parse(proxy.url("/b"))), nullptr);
  }

  const test::FaultProxy& proxy;
  test::TempDir folder;
  std::vector<Cubin> cubins;
};

// Does the work of one node: reads the channel, the manifest and the root, then the pages and
// frames of its kernels. Failed requests are repeated; content that arrived is not requested again.
// Returns false if kernels are missing or have wrong bytes.
bool take_kernels(const Fleet& fleet, const std::shared_ptr<ContentServer>& server, int node) {
  const auto try_often = [](const auto& operation) {
    auto result = operation();
    for (int tries = 1; !result && tries < kTries; ++tries)
      result = operation();
    return result;
  };
  const auto digest = try_often([&] { return resolve_channel(*server, "stable"); });
  if (!digest) return false;
  const auto remote = try_often([&] { return read_remote_bundle(*server, *digest); });
  if (!remote) return false;
  const auto bundle = try_often([&] { return open_bundle(remote_source(server, *remote), {}); });
  if (!bundle) return false;
  for (int i = 0; i < kWanted; ++i) {
    const Cubin& wanted = fleet.cubins[static_cast<std::size_t>((node * kWanted + i) % kKernels)];
    const auto loaded = try_often([&]() -> Result<std::optional<Cubin>> {
      CUBINET_TRY_ASSIGN(const CubinRecords found, (*bundle)->find(wanted.record->identity.kernel()));
      const Error missing{ErrorCode::not_found, "it is not there just now"};
      if (found.empty()) return missing;
      CUBINET_TRY_ASSIGN(auto cubin, (*bundle)->load(found.front()));
      if (!cubin) return missing;
      return cubin;
    });
    if (!loaded || *(*loaded)->image != *wanted.image) return false;
  }
  return true;
}

// Runs the nodes, `at_a_time` of them at once. Returns how many succeeded.
int run_nodes(int nodes, int at_a_time, const std::function<bool(int)>& node) {
  std::atomic<int> next{0};
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < at_a_time; ++i) {
    threads.emplace_back([&] {
      for (int number = next++; number < nodes; number = next++)
        done += node(number) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  return done;
}

}  // namespace

TEST_CASE(
    "a fleet that starts at once through a proxy of faults has its kernels, and costs its server a tenth "
    "more") {
  const auto nginx = test::Nginx::start();
  if (!nginx) return;
  test::FaultProxy proxy(static_cast<std::uint16_t>(std::stoi(nginx->authority().substr(10))));
  const Fleet fleet(*nginx, proxy);
  const int nodes = test::at_full_size() ? 4000 : 60;
  const int at_a_time = test::at_full_size() ? 256 : 30;
  // Each set of kernels is requested by the same number of nodes.
  constexpr int kSets = kKernels / kWanted;
  CHECK(run_nodes(kSets, 1, [&](int node) { return take_kernels(fleet, fleet.through_proxy(), node); }) ==
        kSets);
  const std::uint64_t ideal = proxy.origin_bytes() * static_cast<std::uint64_t>(nodes / kSets);
  const std::uint64_t before = proxy.origin_bytes();
  proxy.set_percent(5);
  CHECK(run_nodes(nodes, at_a_time,
                  [&](int node) { return take_kernels(fleet, fleet.through_proxy(), node); }) == nodes);
  const std::uint64_t sent = proxy.origin_bytes() - before;
  CAPTURE(proxy.requests());
  CAPTURE(proxy.faults());
  CAPTURE(sent);
  CAPTURE(ideal);
  CHECK(proxy.faults() * 3 > proxy.requests());
  // The bound is wider for few nodes because of chance.
  CHECK(sent * 100 <= ideal * (test::at_full_size() ? 110 : 125));
  test::counted(static_cast<std::size_t>(nodes), "clients of a fleet");
  test::counted(proxy.faults(), "answers spoilt");
  test::counted(static_cast<std::size_t>(sent * 1000 / ideal),
                "thousandths of the ideal bytes sent by the origin");

  // The first mirror is dead: no process listens on its port. If it is the only mirror, the request
  // fails within moments. If another mirror follows, it is skipped.
  const test::ReservedPort dead_port;
  const std::string dead = dead_port.authority();
  const auto dead_server = [&] {
    return open_static_server(fleet.client({dead}), ok(Url::parse("http://" + dead + "/b")), nullptr);
  };
  const auto refused = resolve_channel(*dead_server(), "stable");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::unavailable);
  CHECK(run_nodes(nodes / 4, at_a_time, [&](int node) {
          return take_kernels(fleet, join_mirrors({dead_server(), fleet.through_proxy()}), node);
        }) == nodes / 4);
}
