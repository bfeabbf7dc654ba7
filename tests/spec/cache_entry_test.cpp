// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"

#include <cubinet/base/byte_stream.hpp>
#include <cubinet/spec/cache_entry.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

CacheFile file(std::string name, std::string_view content) {
  return {std::move(name), Bytes(as_bytes(content).begin(), as_bytes(content).end())};
}

Bytes written(std::initializer_list<std::pair<std::string, std::string>> files) {
  ByteWriter writer;
  writer.raw(as_bytes("CENT"));
  writer.u16(1);
  writer.u32(static_cast<std::uint32_t>(files.size()));
  for (const auto& [name, content] : files) {
    writer.string(name);
    writer.string(content);
  }
  return writer.take();
}

TEST_CASE("an entry is read as it was written, in bytes that are pinned") {
  const std::vector<CacheFile> files = {file(".committed", ""), file("k.cubin", "code")};
  const Bytes image = encode_cache_entry(files);
  CHECK(image == written({{".committed", ""}, {"k.cubin", "code"}}));
  CHECK(test::ok(decode_cache_entry(image)) == files);
}

TEST_CASE("no name in an entry leads out of a folder") {
  for (const char* hostile :
       {"", ".", "..", "/etc/passwd", "../x", "a/b", "a\\b", "x\n", "a b", "\xc3\xa9", "~root:x"}) {
    CAPTURE(hostile);
    CHECK_FALSE(is_cache_file_name(hostile));
    CHECK(decode_cache_entry(written({{hostile, "x"}})).error().code == ErrorCode::corruption);
  }
  CHECK_FALSE(is_cache_file_name(std::string_view("a\0b", 3)));
  CHECK_FALSE(is_cache_file_name(std::string(201, 'a')));
  CHECK(is_cache_file_name(std::string(200, 'a')));
  CHECK(is_cache_file_name("__grp__scale.json"));
  CHECK(is_cache_file_name("cuda_utils.cpython-312-x86_64-linux-gnu.so"));
}

TEST_CASE("an entry without files, with too many, twice one or out of order is damaged") {
  CHECK_FALSE(decode_cache_entry(written({})));
  CHECK_FALSE(decode_cache_entry(written({{"b", ""}, {"a", ""}})));
  CHECK_FALSE(decode_cache_entry(written({{"a", ""}, {"a", ""}})));
  std::vector<CacheFile> many;
  while (many.size() <= kMaximumCacheFiles)
    many.push_back(file(std::to_string(100 + many.size()), ""));
  CHECK_FALSE(decode_cache_entry(encode_cache_entry(many)));
  many.pop_back();
  CHECK(decode_cache_entry(encode_cache_entry(many)));
}

TEST_CASE("every truncation of an entry is damage, every flipped bit an answer" *
          doctest::test_suite("loop")) {
  const Bytes image = encode_cache_entry(std::vector{file("a.json", "{}"), file("b.cubin", "code")});
  for (std::size_t size = 0; size < image.size(); ++size)
    CHECK_FALSE(decode_cache_entry(ByteView(image).first(size)));
  Bytes more = image;
  more.push_back(std::byte{0});
  CHECK_FALSE(decode_cache_entry(more));
  for (std::size_t bit = 0; bit < image.size() * 8; ++bit) {
    Bytes changed = image;
    changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto files = decode_cache_entry(changed);
    if (!files) continue;
    for (const CacheFile& each : *files)
      CHECK(is_cache_file_name(each.name));
    CHECK(encode_cache_entry(*files) == changed);
  }
}

}  // namespace
}  // namespace cubinet
