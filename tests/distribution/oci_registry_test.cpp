// SPDX-License-Identifier: Apache-2.0
#include "servers.hpp"
#include "support/fault_server.hpp"
#include "support/server_process.hpp"
#include "support/skip.hpp"
#include "support/text.hpp"

#include <cubinet/distribution/bundle_transfer.hpp>
#include <cubinet/distribution/oci_registry.hpp>

#include <fstream>

using namespace cubinet;
using test::FaultServer;
using test::ok;
using test::ReceivedRequest;
using test::reply;

namespace {

// Debian's docker-registry over a folder of its own. nullptr, and the test is skipped, where it is
// not installed.
struct DockerRegistry {
  static std::unique_ptr<DockerRegistry> start();
  std::string authority() const { return port.authority(); }
  std::filesystem::path data_of(const BlobDescriptor& blob) const {
    const std::string hex = blob.digest.to_hex();
    return folder / ("data/docker/registry/v2/blobs/sha256/" + hex.substr(0, 2) + "/" + hex + "/data");
  }
  test::TempDir folder;
  test::ReservedPort port;
  std::optional<test::ServerProcess> process;
};

std::unique_ptr<DockerRegistry> DockerRegistry::start() {
  const auto program = test::find_program("docker-registry");
  if (!program) {
    test::skip("docker-registry is not installed");
    return nullptr;
  }
  auto registry = std::make_unique<DockerRegistry>();
  const auto configuration = registry->folder / "config.yml";
  std::ofstream(configuration)
      << "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: "
      << (registry->folder / "data").string() << "\nhttp:\n  addr: " << registry->authority() << "\n";
  registry->process.emplace(std::vector<std::string>{*program, "serve", configuration.string()},
                            std::vector<std::string>{"OTEL_TRACES_EXPORTER=none"}, registry->port.number(),
                            registry->folder / "log");
  return registry;
}

std::shared_ptr<ContentServer> repository_of(const std::string& authority) {
  return open_oci_registry(test::quick_client({authority}), ok(Url::parse("http://" + authority)),
                           "team/kernels", {});
}

}  // namespace

TEST_CASE("docker registry keeps blobs, manifests and channels") {
  const auto registry = DockerRegistry::start();
  if (!registry) return;
  test::check_round_trip(*repository_of(registry->authority()));
}

TEST_CASE("a blob that was flipped or cut on the disk of docker registry is corruption") {
  const auto registry = DockerRegistry::start();
  if (!registry) return;
  const auto server = repository_of(registry->authority());
  const BlobDescriptor blob = describe_blob(as_bytes("content"));
  MemorySource source(as_bytes("content"));
  ok(server->write_blob(blob, source));
  for (const std::string other : {"contemt", "conten"}) {
    std::ofstream(registry->data_of(blob), std::ios::trunc) << other;
    const auto read = server->read_blob(blob);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::corruption);
  }
}

TEST_CASE("oras pulls the files of a bundle that was pushed") {
  const auto registry = DockerRegistry::start();
  const auto python = test::find_program("python3");
  if (!registry || !python || !std::filesystem::exists(CUBINET_TEST_SERVERS "/oras")) {
    test::skip("oras is not installed: scripts/test.sh fetches it");
    return;
  }
  const test::TempDir folder;
  std::ofstream(folder / "k.bundle") << "root and pack";
  const ByteView signature = as_bytes("signed");
  const BundleUpload bundle{
      folder / "k.bundle", 4, {{"0123456789ABCDEF", Bytes(signature.begin(), signature.end())}}};
  ok(push_bundle(*repository_of(registry->authority()), posix_file_system(), bundle, "stable"));
  const std::string script = "import sys; sys.path.insert(0, '" CUBINET_TEST_SERVERS
                             "'); import oras.client; oras.client.OrasClient(insecure=True, hostname='" +
                             registry->authority() + "').pull(target='" + registry->authority() +
                             "/team/kernels:stable', outdir='" + folder.path().string() + "')";
  CHECK(test::run_program({*python, "-c", script}) == 0);
  const auto read = [&](const char* name) {
    return std::string(as_text(ok(posix_file_system()->read(folder / name, 100))));
  };
  CHECK(read("k.bundle.root") + read("k.bundle.pack") == "root and pack");
  CHECK(read("k.bundle.0123456789ABCDEF.minisig") == "signed");
}

TEST_CASE("an upload goes where the registry says, and no authorization to another host") {
  const FaultServer store([](auto&, auto) { return reply(201); });
  const FaultServer server([&](const ReceivedRequest& request, auto) {
    if (request.header("authorization").empty())
      return reply(401, "", "WWW-Authenticate: Basic realm=\"r\"\r\n");
    if (request.method == "POST") return reply(202, "", "Location: " + store.url("/up?_state=a%3D") + "\r\n");
    return reply(404);
  });
  const auto registry =
      open_oci_registry(test::quick_client({server.authority(), store.authority()}),
                        ok(Url::parse(server.url("/"))), "n", RegistryCredentials{{"me", "word"}, {}});
  MemorySource source(as_bytes("content"));
  const BlobDescriptor blob = describe_blob(as_bytes("content"));
  ok(registry->write_blob(blob, source));
  REQUIRE(store.requests().size() == 1);
  CHECK(store.requests()[0].target == "/up?_state=a%3D&digest=sha256%3A" + blob.digest.to_hex());
  CHECK(store.requests()[0].body == "content");
  CHECK(store.requests()[0].headers.count("authorization") == 0);
}

TEST_CASE("an upload whose answer was lost is done when the blob is there") {
  bool there = false;
  const FaultServer server([&](const ReceivedRequest& request, auto) {
    if (request.method == "HEAD") return there ? reply(200, "", "Content-Length: 7\r\n") : reply(404);
    if (request.method == "POST") return reply(202, "", "Location: /v2/team/kernels/blobs/uploads/1\r\n");
    const bool first = !there;
    there = true;
    return first ? test::ServerReply{""} : reply(404, "BLOB_UPLOAD_UNKNOWN");
  });
  MemorySource source(as_bytes("content"));
  ok(repository_of(server.authority())->write_blob(describe_blob(as_bytes("content")), source));
  CHECK(server.requests().back().method == "HEAD");
}

TEST_CASE("an upload that cannot be begun is told with what the registry says") {
  const FaultServer server([](const ReceivedRequest& request, auto) {
    return request.method == "HEAD" ? reply(404) : reply(403, R"({"errors":[{"code":"DENIED"}]})");
  });
  MemorySource source(as_bytes("content"));
  const auto written =
      repository_of(server.authority())->write_blob(describe_blob(as_bytes("content")), source);
  REQUIRE_FALSE(written);
  CHECK(written.error().native == 403);
  CHECK(test::contains(written.error().message, "DENIED"));
}
