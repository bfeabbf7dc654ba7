// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"

#include <cubinet/spec/cubin.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

CubinRecord sample() {
  CubinRecord record = *test::make_cubin(KernelSpec{"t", {}}.set("n", 1)).record;
  record.interface_version = 7;
  record.template_text = sha256(as_bytes("text"));
  record.kind = ImageKind::ptx;
  record.origin = CubinOrigin::bundle;
  record.version = 12;
  EntryPoint entry;
  entry.name = "second";
  entry.symbol = "_Z6secondv";
  entry.threads = 96;
  entry.threads_y = 2;
  entry.threads_z = 3;
  entry.dynamic_shared_bytes = 1024;
  entry.parameter_bytes = 40;
  entry.cluster = {2, 1, 1};
  entry.programmatic_launch = true;
  entry.cooperative = true;
  record.entry_points.push_back(entry);
  record.compiler = "NVRTC 13.0";
  record.options = "--generate-line-info";
  record.warnings = "a warning";
  record.row = {std::byte{1}, std::byte{2}};
  record.globals = {{"ns::table<float>", "_ZN2ns5tableIfEE"}, {"scale", "scale"}};
  return record;
}

TEST_CASE("a record is read back as it was written") {
  const CubinRecord record = sample();
  const auto decoded = decode_record(encode_record(record));
  REQUIRE(decoded);
  CHECK(*decoded == record);
  CHECK(decoded->find_entry_point("second")->threads == 96);
  CHECK(decoded->find_entry_point("second")->threads_of_block() == 576);
  CHECK(decoded->find_entry_point("third") == nullptr);
}

TEST_CASE("a record that could not be read back is not kept") {
  CHECK(check_storable(sample()));
  CubinRecord record = sample();
  record.warnings.assign(kMaximumRecordBytes, 'w');
  CHECK(check_storable(record).error().code == ErrorCode::invalid_argument);
  CHECK(decode_record(encode_record(record)).error().code == ErrorCode::corruption);
  record = sample();
  record.size = kMaximumImageBytes;
  CHECK(check_storable(record));
  ++record.size;
  CHECK_FALSE(check_storable(record));
  record = sample();
  record.entry_points.resize(kMaximumImageKernels);
  CHECK(check_storable(record));
  record.entry_points.emplace_back();
  CHECK_FALSE(check_storable(record));
  record = sample();
  for (std::uint32_t i = 0; record.globals.size() < kMaximumImageGlobals; ++i)
    record.globals["g" + std::to_string(i)];
  CHECK(check_storable(record));
  record.globals["one more"];
  CHECK_FALSE(check_storable(record));
}

TEST_CASE("the name of an entry point is its own, or is decoded from a plain mangled symbol") {
  const auto cpp_name = [](const std::string& symbol) {
    EntryPoint entry;
    entry.name = entry.symbol = symbol;
    return entry.cpp_name();
  };
  CHECK(cpp_name("_Z5scalePf") == "scale");
  CHECK(cpp_name("_Z1kv") == "k");
  CHECK(cpp_name("_ZN2my5scaleEPf") == "my::scale");
  CHECK(cpp_name("_ZN1a1b10kernel_of_EPKfi") == "a::b::kernel_of_");
  for (const char* kept :
       {"scale", "", "_Z", "_ZN", "_ZNE", "_Z0", "_Z5scal", "_Z5scale", "_ZN2my5scalePf", "_Z4axpyIfEvPT_",
        "_ZN2my4axpyIfEEvPT_", "_Z1kB5cxx11v", "_ZN2myplEff", "_Z99999999999999999999999x", "_Z-1k"})
    CHECK(cpp_name(kept) == kept);
  EntryPoint named;
  named.name = "axpy<float, 4>";
  named.symbol = "_Z4axpyIfLi4EEvPT_";
  CHECK(named.cpp_name() == "axpy<float, 4>");
}

TEST_CASE("PTX is named after its virtual target") {
  CubinRecord record = sample();
  CHECK(record.target_name() == "compute_90a");
  record.kind = ImageKind::cubin;
  CHECK(record.target_name() == "sm_90a");
}

TEST_CASE("the kind of a record is read as it was written, and one that is not known refused") {
  CubinRecord record = sample();
  for (const ImageKind kind : {ImageKind::cubin, ImageKind::ptx, ImageKind::cache_entry}) {
    record.kind = kind;
    CHECK(decode_record(encode_record(record))->kind == kind);
  }
  record.kind = static_cast<ImageKind>(3);
  CHECK_FALSE(decode_record(encode_record(record)));
}

TEST_CASE("every truncation of a record is refused" * doctest::test_suite("loop")) {
  const Bytes bytes = encode_record(sample());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK_FALSE(decode_record(ByteView(bytes).first(length)));
  }
}

TEST_CASE("every flipped bit of a record is detected" * doctest::test_suite("loop")) {
  const Bytes bytes = encode_record(sample());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes mutant = bytes;
      mutant[i] ^= static_cast<std::byte>(1U << bit);
      CHECK_FALSE(decode_record(mutant));
    }
  }
}

TEST_CASE("a record of a newer version is unsupported, not damaged") {
  Bytes bytes = encode_record(sample());
  bytes[4] = std::byte{kRecordVersion + 1};
  const auto decoded = decode_record(bytes);
  REQUIRE_FALSE(decoded);
  CHECK(decoded.error().code == ErrorCode::unsupported);
}

}  // namespace
}  // namespace cubinet
