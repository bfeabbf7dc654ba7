// SPDX-License-Identifier: Apache-2.0
#include "import_format.hpp"

#include "cubin_registry/artifact_fixture.hpp"

#include <random>

namespace cubinet::test {
namespace {

ArtifactImport sample() {
  ArtifactImport import;
  import.folder = "/published";
  import.placement = ArtifactPlacement::linked;
  for (int number = 0; number < 4; ++number) {
    const KernelRow row = artifact_row(number);
    import.files.push_back({"kernel_" + std::to_string(number) + ".cubin", row.digest, 100});
    if (number < 3) import.rows.push_back(row);
  }
  const KernelRow last = artifact_row(3);
  import.plain.push_back({last.function_name, last.shared_bytes, last.threads, last.target, last.digest});
  return import;
}

bool equal(const ArtifactImport& a, const ArtifactImport& b) {
  return a.folder == b.folder && a.placement == b.placement && a.rows == b.rows && a.plain == b.plain &&
         a.files == b.files;
}

TEST_CASE("an import read back is the one that was written, with the provenance of its number") {
  ArtifactImport import = sample();
  const auto bytes = encode_import(import);
  REQUIRE(bytes);
  const auto read = decode_import(*bytes, 7);
  REQUIRE_MESSAGE(read.has_value(), read.error().to_line());
  import.rows = expected_rows(import, 7);
  CHECK(equal(*read, import));
  // What the rows said of where they are from is no part of the content.
  CHECK(*encode_import(import) == *bytes);
  const auto summary = decode_import_summary(*bytes, 7);
  REQUIRE(summary);
  CHECK(*summary == ArtifactSummary{7, "/published", ArtifactPlacement::linked, 3, 1, 4, 400});
}

// Pins the format: a change of these bytes needs a new version.
TEST_CASE("the bytes of a small import are those of version 1") {
  ArtifactImport import;
  import.folder = "/published";
  import.files.push_back({"a/b.cubin", Sha256Digest{}, 5});
  import.plain.push_back({"gemm", 1, 2, {9, 0, TargetKind::specific}, Sha256Digest {}});
  CHECK(sha256(*encode_import(import)).to_hex() ==
        "c39ab7a6ac246bc0d0675f59fd4c7ede94492fd0e53f78fddccf57e45c0d00a9");
}

TEST_CASE("no bytes crash the reader of imports, and every flipped or missing byte is noticed") {
  const Bytes bytes = *encode_import(sample());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    Bytes changed = bytes;
    changed[i] ^= std::byte{0x10};
    const auto read = decode_import(changed, 1);
    REQUIRE(!read);
    CHECK((read.error().code == ErrorCode::corruption || read.error().code == ErrorCode::unsupported));
    CHECK_FALSE(decode_import_summary(changed, 1));
    CHECK_FALSE(decode_import(ByteView(bytes).first(i), 1));
  }
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  CHECK_FALSE(decode_import(longer, 1));
}

// Behind valid checksums anything may stand.
Bytes sealed(ByteView content_before_digest, ByteView body) {
  ByteWriter content;
  content.raw(content_before_digest);
  content.u64(body.size());
  content.raw(sha256(body).bytes);
  ByteWriter writer;
  writer.raw(as_bytes("CIMP"));
  writer.u16(kImportVersion);
  writer.string(as_text(content.bytes()));
  writer.raw(sha256(writer.bytes()).bytes);
  writer.raw(body);
  return writer.take();
}

TEST_CASE("contents that no import has are damage, whatever their checksums say") {
  const Bytes bytes = *encode_import(sample());
  constexpr std::size_t kHead = 4 + 2 + 4;
  const std::size_t content = 4 + 10 + 1 + 8 * 4;
  const ByteView before = ByteView(bytes).subspan(kHead, content);
  const ByteView body = ByteView(bytes).subspan(kHead + content + 8 + 32 + 32);
  CHECK(decode_import(sealed(before, body), 1));
  std::mt19937_64 random(11);
  std::size_t good = 0;
  for (int i = 0; i < 3'000; ++i) {
    Bytes head(before.begin(), before.end());
    Bytes rest(body.begin(), body.end());
    Bytes& target = i % 4 == 0 ? head : rest;
    for (int flips = 0; flips < 2; ++flips)
      target[random() % target.size()] = static_cast<std::byte>(random());
    const auto read = decode_import(sealed(head, rest), 1);
    if (!read) continue;
    ++good;
    CHECK(check_import(*read));
  }
  CHECK(good < 3'000);
  for (std::size_t size = 0; size < body.size(); ++size)
    CHECK_FALSE(decode_import(sealed(before, body.first(size)), 1));
}

TEST_CASE("a newer version of an import is refused as unsupported") {
  Bytes bytes = *encode_import(sample());
  bytes[4] = std::byte{kImportVersion + 1};
  CHECK(decode_import(bytes, 1).error().code == ErrorCode::unsupported);
  CHECK(decode_import_summary(bytes, 1).error().code == ErrorCode::unsupported);
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
  CHECK(refused([](ArtifactImport& import) { import.rows[0].threads = 4096; }));
}

}  // namespace
}  // namespace cubinet::test
