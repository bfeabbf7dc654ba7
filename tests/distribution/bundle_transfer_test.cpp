// SPDX-License-Identifier: Apache-2.0
#include "servers.hpp"
#include "support/fake_cubin.hpp"
#include "support/ok.hpp"
#include "support/server_process.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/distribution/bundle_transfer.hpp>
#include <cubinet/distribution/folder_server.hpp>
#include <cubinet/distribution/static_server.hpp>
#include <cubinet/trust/signature.hpp>

#include <fstream>
#include <functional>
#include <sstream>

using namespace cubinet;
using test::contains;
using test::ok;

namespace {

const std::string kRootText = "a root";
const std::string kKeyId = "0123456789ABCDEF";

struct Shipped {
  Shipped() { std::ofstream(folder / "a.bundle") << kRootText << std::string(2'500'000, 'p'); }
  BundleUpload upload() const {
    const ByteView signature = as_bytes("signed");
    return {folder / "a.bundle", kRootText.size(), {{kKeyId, Bytes(signature.begin(), signature.end())}}, {}};
  }
  std::string read(const std::string& name) const {
    return std::string(as_text(ok(posix_file_system()->read(folder / name, 1 << 25))));
  }
  // Returns the root of an opened bundle.
  BundleRoot root() const {
    BundleRoot root;
    root.file_bytes = std::filesystem::file_size(folder / "a.bundle");
    return root;
  }
  Result<RemoteBundle> read_changed(const std::function<void(Manifest&)>& change) const {
    const Sha256Digest digest = ok(push_bundle(*server, posix_file_system(), upload(), ""));
    Manifest manifest = ok(parse_manifest(as_text(ok(server->read_manifest(digest))), "it"));
    change(manifest);
    return read_remote_bundle(*server, ok(server->write_manifest(as_bytes(to_json(manifest)))));
  }

  test::TempDir folder;
  std::shared_ptr<ContentServer> server = open_folder_server(posix_file_system(), folder / "served");
};

// Counts the reads of blobs and of their parts.
class CountingServer final : public ContentServer {
 public:
  explicit CountingServer(std::shared_ptr<ContentServer> server) : server_(std::move(server)) {}
  std::string name() const override { return server_->name(); }
  int reads = 0;

 protected:
  Result<bool> do_has_blob(const BlobDescriptor& blob) override { return server_->has_blob(blob); }
  Result<void> do_read_blob(const BlobDescriptor& blob, BodySink& sink) override {
    ++reads;
    return server_->read_blob(blob, sink);
  }
  Result<void> do_read_part(const BlobDescriptor& blob, const BytePart& part, BodySink& sink) override {
    ++reads;
    CUBINET_TRY_ASSIGN(const Bytes bytes, server_->read_blob_part(blob, part));
    return sink.write(bytes);
  }
  Result<void> do_read_manifest(const Sha256Digest& digest, BodySink& sink) override {
    CUBINET_TRY_ASSIGN(const Bytes bytes, server_->read_manifest(digest));
    return sink.write(bytes);
  }
  Result<std::optional<Sha256Digest>> do_read_channel(const std::string& channel) override {
    return server_->read_channel(channel);
  }
  Result<void> do_write_blob(const BlobDescriptor& blob, BodySource& source) override {
    return server_->write_blob(blob, source);
  }
  Result<void> do_write_manifest(const Sha256Digest&, ByteView manifest) override {
    CUBINET_TRY(server_->write_manifest(manifest));
    return {};
  }
  Result<void> do_write_channel(const std::string& channel, const Sha256Digest& manifest) override {
    return server_->write_channel(channel, manifest);
  }

 private:
  std::shared_ptr<ContentServer> server_;
};

}  // namespace

TEST_CASE("a bundle that is pushed is pulled, with its signatures beside") {
  const Shipped shipped;
  const Sha256Digest digest =
      ok(push_bundle(*shipped.server, posix_file_system(), shipped.upload(), "stable"));
  CHECK(ok(resolve_channel(*shipped.server, "stable")) == digest);
  const RemoteBundle bundle = ok(read_remote_bundle(*shipped.server, digest));
  CHECK(as_text(bundle.root) == kRootText);
  REQUIRE(bundle.signatures.size() == 1);
  CHECK(bundle.signatures[0].key_id == kKeyId);
  ok(pull_bundle(*shipped.server, bundle, shipped.root(), *posix_file_system(), shipped.folder / "b"));
  CHECK(shipped.read("b") == shipped.read("a.bundle"));
  CHECK(shipped.read("b." + kKeyId + ".minisig") == "signed");
  // The same bundle has the same manifest.
  CHECK(ok(push_bundle(*shipped.server, posix_file_system(), shipped.upload(), "")) == digest);
}

TEST_CASE("a bundle on a server is read in parts, and a kernel of it costs its pages and its frame") {
  const auto nginx = test::Nginx::start();
  if (!nginx) return;
  const test::TempDir folder;
  std::vector<Cubin> cubins;
  for (std::uint8_t i = 0; i < 40; ++i) {
    test::FakeCubin description;
    description.filler = i;
    description.code_bytes = 100'000;
    KernelSpec spec;
    spec.name = "kernel_" + std::to_string(i);
    cubins.push_back(test::make_cubin(spec, description));
  }
  BundleOptions options;
  options.channel = "stable";
  ok(create_bundle((folder / "a.bundle").string(), cubins, options));
  const auto local = ok(Bundle::open((folder / "a.bundle").string()));
  const auto client = test::quick_client({nginx->authority()});
  const auto server = open_static_server(client, ok(Url::parse(nginx->url("/b"))), nullptr);
  const Sha256Digest digest = ok(
      push_bundle(*server, posix_file_system(), {folder / "a.bundle", local->root_bytes().size()}, "stable"));
  const std::size_t before = nginx->access_log().size();
  const auto remote = ok(open_bundle(remote_source(server, ok(read_remote_bundle(*server, digest))), {}));
  CHECK(remote->root().records == 40);
  const auto found = ok(local->list()).at(7);
  CHECK(*ok(remote->read(found)).image == *ok(local->read(found)).image);
  // The bundle has 4 MB. The log has the status and the size of each answer.
  std::istringstream lines(nginx->access_log().substr(before));
  std::uint64_t fetched = 0;
  for (std::string line; std::getline(lines, line);)
    fetched += std::stoull(line.substr(line.find("\" 20") + 6));
  CHECK(fetched > 100'000);
  CHECK(fetched < 400'000);
}

TEST_CASE("a channel that is not there is told") {
  const Shipped shipped;
  const auto digest = resolve_channel(*shipped.server, "stable");
  REQUIRE_FALSE(digest);
  CHECK(digest.error().code == ErrorCode::not_found);
}

TEST_CASE("a pack that is wrong leaves no file") {
  const Shipped shipped;
  const Sha256Digest digest = ok(push_bundle(*shipped.server, posix_file_system(), shipped.upload(), ""));
  const RemoteBundle bundle = ok(read_remote_bundle(*shipped.server, digest));
  std::fstream(shipped.folder / ("served/blobs/sha256/" + bundle.pack.digest.to_hex()),
               std::ios::in | std::ios::out)
      .put('q');
  const auto pulled =
      pull_bundle(*shipped.server, bundle, shipped.root(), *posix_file_system(), shipped.folder / "b");
  REQUIRE_FALSE(pulled);
  CHECK(pulled.error().code == ErrorCode::corruption);
  CHECK(ok(posix_file_system()->list(shipped.folder.path())).names ==
        std::vector<std::string>{"a.bundle", "served"});
}

TEST_CASE("a pack of another size than the signed root states is refused before any of it travels") {
  const Shipped shipped;
  for (const std::uint64_t size :
       {std::uint64_t{1} << 40, std::uint64_t{2'500'001}, std::uint64_t{2'499'999}}) {
    CAPTURE(size);
    const RemoteBundle bundle =
        ok(shipped.read_changed([&](Manifest& manifest) { manifest.layers[1].blob.size = size; }));
    CountingServer counting(shipped.server);
    const auto pulled =
        pull_bundle(counting, bundle, shipped.root(), *posix_file_system(), shipped.folder / "b");
    REQUIRE_FALSE(pulled);
    CHECK(pulled.error().code == ErrorCode::corruption);
    const auto to = open_folder_server(posix_file_system(), shipped.folder / "to");
    CHECK(copy_bundle(counting, bundle, shipped.root(), *to, "stable").error().code == ErrorCode::corruption);
    CHECK(counting.reads == 0);
    CHECK(ok(posix_file_system()->list(shipped.folder.path())).names ==
          std::vector<std::string>{"a.bundle", "served"});
  }
}

TEST_CASE("a layer that is no part of a bundle is not copied") {
  const Shipped shipped;
  const RemoteBundle bundle = ok(shipped.read_changed([](Manifest& manifest) {
    manifest.layers.push_back(
        {"application/octet-stream", {sha256(as_bytes("x")), std::uint64_t{1} << 40}, {}});
  }));
  const auto to = open_folder_server(posix_file_system(), shipped.folder / "to");
  const auto copied = copy_bundle(*shipped.server, bundle, shipped.root(), *to, "stable");
  REQUIRE_FALSE(copied);
  CHECK(copied.error().code == ErrorCode::corruption);
  CHECK_FALSE(std::filesystem::exists(shipped.folder / "to"));
}

TEST_CASE("what is no bundle is refused before its blobs are asked for") {
  const Shipped shipped;
  ok(shipped.read_changed([](Manifest&) {}));
  using Change = std::function<void(Manifest&)>;
  const std::vector<Change> changes = {
      [](Manifest& manifest) { manifest.artifact_type = "application/vnd.other"; },
      [](Manifest& manifest) { manifest.layers.erase(manifest.layers.begin()); },
      [](Manifest& manifest) { manifest.layers.push_back(manifest.layers[1]); },
      [](Manifest& manifest) { manifest.layers[0].blob.size = kMaximumRootBytes + 1; },
      [](Manifest& manifest) { manifest.layers[2].blob.size = kMaximumSignatureBytes + 1; },
      [](Manifest& manifest) { manifest.layers[2].title = "../../etc/passwd"; },
      [](Manifest& manifest) { manifest.layers[2].title = "a./../../../../abcdef.minisig"; },
      [](Manifest& manifest) { manifest.layers[2].title = ".minisig"; },
      [](Manifest& manifest) { manifest.layers.insert(manifest.layers.end(), 64, manifest.layers[2]); }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CAPTURE(i);
    const auto bundle = shipped.read_changed(changes[i]);
    REQUIRE_FALSE(bundle);
    CHECK(bundle.error().code == ErrorCode::corruption);
    CHECK(contains(bundle.error().message, "is no bundle"));
  }
}

TEST_CASE("a file that has no such root, or a key without an id, is not pushed") {
  const Shipped shipped;
  for (const std::uint64_t size : {std::uint64_t{0}, kMaximumRootBytes + 1, std::uint64_t{1} << 40}) {
    BundleUpload upload = shipped.upload();
    upload.root_bytes = size;
    CHECK(push_bundle(*shipped.server, posix_file_system(), upload, "").error().code ==
          ErrorCode::invalid_argument);
  }
  BundleUpload upload = shipped.upload();
  upload.signatures[0].key_id = "../x";
  CHECK(push_bundle(*shipped.server, posix_file_system(), upload, "").error().code ==
        ErrorCode::invalid_argument);
  upload.file = "/nowhere";
  CHECK(push_bundle(*shipped.server, posix_file_system(), upload, "").error().code == ErrorCode::not_found);
}

TEST_CASE("a bundle is copied between servers with its manifest, signatures and channel") {
  const auto nginx = test::Nginx::start();
  if (!nginx) return;
  const Shipped shipped;
  // The file is larger than one chunk of a transfer.
  std::ofstream(shipped.folder / "a.bundle", std::ios::app) << std::string(20'000'000, 'q');
  const Sha256Digest digest = ok(push_bundle(*shipped.server, posix_file_system(), shipped.upload(), ""));
  const RemoteBundle bundle = ok(read_remote_bundle(*shipped.server, digest));
  const auto over_http =
      open_static_server(test::quick_client({nginx->authority()}), ok(Url::parse(nginx->url("/k"))), nullptr);
  const auto back = open_folder_server(posix_file_system(), shipped.folder / "back");
  ok(copy_bundle(*shipped.server, bundle, shipped.root(), *over_http, "stable"));
  CHECK(ok(resolve_channel(*over_http, "stable")) == digest);
  ok(copy_bundle(*over_http, ok(read_remote_bundle(*over_http, digest)), shipped.root(), *back, ""));
  CHECK_FALSE(ok(back->read_channel("stable")));
  const RemoteBundle copied = ok(read_remote_bundle(*back, digest));
  REQUIRE(copied.signatures.size() == 1);
  ok(pull_bundle(*back, copied, shipped.root(), *posix_file_system(), shipped.folder / "b"));
  CHECK(shipped.read("b") == shipped.read("a.bundle"));
  const std::string before = nginx->access_log();
  ok(copy_bundle(*shipped.server, bundle, shipped.root(), *over_http, "stable"));
  CHECK_FALSE(contains(nginx->access_log().substr(before.size()),
                       "PUT /k/blobs/sha256/" + copied.pack.digest.to_hex()));
}

TEST_CASE("what is wrong at one server becomes no blob of the other, and no channel names it") {
  for (const std::size_t size : {2'000'000U, 20'000'000U}) {
    const Shipped shipped;
    std::ofstream(shipped.folder / "a.bundle", std::ios::app) << std::string(size, 'q');
    const Sha256Digest digest = ok(push_bundle(*shipped.server, posix_file_system(), shipped.upload(), ""));
    const RemoteBundle bundle = ok(read_remote_bundle(*shipped.server, digest));
    const auto pack = shipped.folder / ("served/blobs/sha256/" + bundle.pack.digest.to_hex());
    std::fstream(pack, std::ios::in | std::ios::out | std::ios::binary).put('!');
    const auto to = open_folder_server(posix_file_system(), shipped.folder / "to");
    const auto copied = copy_bundle(*shipped.server, bundle, shipped.root(), *to, "stable");
    REQUIRE_FALSE(copied);
    CHECK(copied.error().code == ErrorCode::corruption);
    CHECK_FALSE(ok(to->has_blob(bundle.pack)));
    CHECK_FALSE(ok(to->read_channel("stable")));
  }
}
