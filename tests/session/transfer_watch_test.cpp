// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/distribution/folder_server.hpp>
#include <cubinet/session/transfer_watch.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using test::ok;

namespace {

struct WatchedFolder {
  WatchedFolder() {
    MemorySource source(content);
    ok(server->write_blob(blob, source));
  }

  test::TempDir folder;
  Bytes content = Bytes(1000, std::byte{7});
  BlobDescriptor blob = describe_blob(content);
  std::shared_ptr<ContentServer> server = open_folder_server(posix_file_system(), folder / "served");
};

}  // namespace

TEST_CASE("blobs and parts are counted from the time that a total is expected") {
  const WatchedFolder fixture;
  std::vector<TransferProgress> steps;
  TransferWatch watch(fixture.server, [&](const TransferProgress& step) { steps.push_back(step); }, {});
  ok(watch.read_blob(fixture.blob));
  CHECK(steps.empty());
  watch.expect(1100);
  CHECK(ok(watch.read_blob(fixture.blob)) == fixture.content);
  CHECK(steps.back().bytes == 1000);
  ok(watch.read_blob_part(fixture.blob, {0, 100}));
  CHECK(steps.back().bytes == 1100);
  CHECK(steps.back().total == 1100);
}

TEST_CASE("after a cancellation nothing is read or written any more") {
  const WatchedFolder fixture;
  TransferWatch watch(fixture.server, {}, [] { return true; });
  const std::string manifest = "{}";
  MemorySource source(fixture.content);
  for (const ErrorCode code :
       {watch.read_blob(fixture.blob).error().code, watch.read_blob_part(fixture.blob, {0, 1}).error().code,
        watch.read_channel("stable").error().code, watch.has_blob(fixture.blob).error().code,
        watch.read_manifest(fixture.blob.digest).error().code,
        watch.write_manifest(as_bytes(manifest)).error().code,
        watch.write_channel("stable", fixture.blob.digest).error().code})
    CHECK(code == ErrorCode::unavailable);
  CHECK_FALSE(watch.write_blob(describe_blob(as_bytes(manifest)), source));
}

TEST_CASE("without a cancellation everything reaches the server") {
  const WatchedFolder fixture;
  TransferWatch watch(fixture.server, {}, {});
  const std::string manifest = "{}";
  const Sha256Digest digest = ok(watch.write_manifest(as_bytes(manifest)));
  ok(watch.write_channel("stable", digest));
  CHECK(ok(watch.read_channel("stable")) == digest);
  CHECK(ok(watch.read_manifest(digest)).size() == 2);
  CHECK(ok(watch.has_blob(fixture.blob)));
}
