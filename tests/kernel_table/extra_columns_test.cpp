// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/byte_stream.hpp>
#include <cubinet/kernel_table/extra_columns.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

Bytes written(const std::vector<ExtraColumn>& extras) {
  ByteWriter writer;
  write_extras(writer, extras);
  return writer.take();
}

Result<std::vector<ExtraColumn>> read_back(ByteView bytes) {
  ByteReader reader(bytes);
  return read_extras(reader);
}

TEST_CASE("extra columns are written with their number and read back in their order") {
  const std::vector<ExtraColumn> extras = {{"b", "1"}, {"a", ""}};
  const Bytes bytes = written(extras);
  CHECK(to_hex(bytes) == "0200000001000000620100000031010000006100000000");
  CHECK(*read_back(bytes) == extras);
  CHECK(read_back(written({}))->empty());
}

TEST_CASE("extra columns that end early are damage") {
  const Bytes bytes = written({{"name", "value"}, {"other", "more"}});
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK(read_back(ByteView(bytes).first(length)).error().code == ErrorCode::corruption);
}

TEST_CASE("as many extra columns as fit are read, and one more is damage") {
  std::vector<ExtraColumn> extras(4096, {"name", "value"});
  CHECK(read_back(written(extras))->size() == extras.size());
  extras.push_back(extras.back());
  CHECK(read_back(written(extras)).error().code == ErrorCode::corruption);
}

}  // namespace
}  // namespace cubinet
