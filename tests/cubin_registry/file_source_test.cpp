// SPDX-License-Identifier: Apache-2.0
#include "cubin_registry/bundle_fixture.hpp"

namespace cubinet::test {
namespace {

TEST_CASE("a file is read by range, fewer bytes where it ends, and by its path at each read") {
  const TempDir folder;
  const auto path = folder / "bytes";
  write_file(path, as_bytes("0123456789"));
  const auto source = file_source(path, nullptr);
  CHECK(source->place() == path.native());
  CHECK(as_text(*source->read(2, 3)) == "234");
  CHECK(as_text(*source->read(8, 5)) == "89");
  CHECK(source->read(20, 5)->empty());
  write_file(path, as_bytes("abc"));
  CHECK(as_text(*source->read(0, 3)) == "abc");
  std::filesystem::remove(path);
  CHECK(source->read(0, 3).error().code == ErrorCode::not_found);
}

}  // namespace
}  // namespace cubinet::test
