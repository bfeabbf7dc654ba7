// SPDX-License-Identifier: Apache-2.0
#include "imported/import_format.hpp"

#include "cubin_registry/artifact_fixture.hpp"
#include "support/ok.hpp"

#include <cubinet/base/byte_stream.hpp>
#include <cubinet/cubin_registry/imports.hpp>

#include <random>

namespace cubinet::test {
namespace {

ArtifactImport sample() {
  ArtifactImport import;
  import.folder = "/published";
  import.pin = std::string(64, 'b');
  import.version = "publisher 1.2";
  import.placement = ArtifactPlacement::linked;
  for (int number = 0; number < 4; ++number) {
    KernelRow row = artifact_row(number);
    row.pin = import.pin;
    import.files.push_back({"kernel_" + std::to_string(number) + ".cubin", row.digest, 100});
    if (number < 3) import.rows.push_back(row);
  }
  const KernelRow last = artifact_row(3);
  import.plain.push_back({last.function_name, last.shared_bytes, last.threads, last.target, last.digest});
  return import;
}

bool equal(const ArtifactImport& a, const ArtifactImport& b) {
  return a.folder == b.folder && a.pin == b.pin && a.version == b.version && a.placement == b.placement &&
         a.rows == b.rows && a.plain == b.plain && a.files == b.files;
}

TEST_CASE("an import read back is the one that was written, whatever its rows said of where they are from") {
  ArtifactImport import = sample();
  const auto bytes = encode_import(import);
  REQUIRE(bytes);
  const auto read = decode_import(*bytes);
  REQUIRE_MESSAGE(read.has_value(), why_not(read));
  CHECK(equal(*read, import));
  import.rows = expected_rows(import, 7);
  CHECK(*encode_import(import) == *bytes);
}

// Pins the format: a change of these bytes needs a new version, unless it is a column more, which
// the table names.
TEST_CASE("the bytes of a small import are those of version 3") {
  ArtifactImport import;
  import.folder = "/published";
  import.files.push_back({"a/b.cubin", Sha256Digest{}, 5});
  import.plain.push_back({"gemm", 1, 2, {9, 0, TargetKind::specific}, Sha256Digest {}});
  CHECK(sha256(*encode_import(import)).to_hex() ==
        "a60885bf860d21610b97cfbbccc98e0d06683af147b5bf97207a33aed62c13f0");
}

TEST_CASE("no bytes crash the reader of imports, and every flipped or missing byte is noticed") {
  const Bytes bytes = *encode_import(sample());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    Bytes changed = bytes;
    changed[i] ^= std::byte{0x10};
    const auto read = decode_import(changed);
    REQUIRE(!read);
    CHECK((read.error().code == ErrorCode::corruption || read.error().code == ErrorCode::unsupported));
    CHECK_FALSE(decode_import(ByteView(bytes).first(i)));
  }
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  CHECK_FALSE(decode_import(longer));
}

TEST_CASE("contents that no import has are damage, whatever their checksum says") {
  const Bytes bytes = *encode_import(sample());
  constexpr std::size_t kHead = 4 + 2;
  const ByteView fields = ByteView(bytes).subspan(kHead, bytes.size() - kHead - 32);
  const auto sealed = [](ByteView content) {
    ByteWriter writer;
    writer.raw(as_bytes("CIMP"));
    writer.u16(kImportVersion);
    writer.raw(content);
    writer.raw(sha256(writer.bytes()).bytes);
    return writer.take();
  };
  CHECK(decode_import(sealed(fields)));
  std::mt19937_64 random(11);
  std::size_t good = 0;
  for (int i = 0; i < 3'000; ++i) {
    Bytes changed(fields.begin(), fields.end());
    for (int flips = 0; flips < 2; ++flips)
      changed[random() % (i % 2 == 0 ? 120 : changed.size())] = static_cast<std::byte>(random());
    const auto read = decode_import(sealed(changed));
    if (!read) continue;
    ++good;
    CHECK(check_import(*read));
  }
  CHECK(good < 3'000);
  for (std::size_t size = 0; size < fields.size(); size += 7)
    CHECK_FALSE(decode_import(sealed(fields.first(size))));
}

TEST_CASE("a newer version of an import is refused as unsupported") {
  Bytes bytes = *encode_import(sample());
  bytes[4] = std::byte{kImportVersion + 1};
  CHECK(decode_import(bytes).error().code == ErrorCode::unsupported);
}

TEST_CASE("files that lead out of the folder or are out of order, and kernels without a file, are refused") {
  const auto refused = [](auto change) {
    ArtifactImport import = sample();
    change(import);
    const auto checked = check_import(import);
    return !checked && checked.error().code == ErrorCode::invalid_argument;
  };
  CHECK(check_import(sample()));
  CHECK(refused([](ArtifactImport& import) { import.folder = "here"; }));
  CHECK(refused([](ArtifactImport& import) { import.placement = static_cast<ArtifactPlacement>(3); }));
  CHECK(refused([](ArtifactImport& import) { import.files[0].name = "../x"; }));
  CHECK(refused([](ArtifactImport& import) { import.files[0].name = "/x"; }));
  CHECK(refused([](ArtifactImport& import) { import.files[0].name = std::string("a\0b", 3); }));
  CHECK(refused([](ArtifactImport& import) { std::swap(import.files[0], import.files[1]); }));
  CHECK(refused([](ArtifactImport& import) { import.files.erase(import.files.begin()); }));
  CHECK(refused([](ArtifactImport& import) { import.plain[0].function_name.clear(); }));
  CHECK(refused([](ArtifactImport& import) { import.plain[0].target.minor = 99; }));
  ArtifactImport out_of_range = sample();
  out_of_range.rows[0].threads = 4096;
  CHECK(encode_import(out_of_range).error().code == ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace cubinet::test
