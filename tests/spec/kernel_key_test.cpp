// SPDX-License-Identifier: Apache-2.0
#include "support/property_counts.hpp"

#include <cubinet/spec/kernel_key.hpp>
#include <cubinet/spec/parameter_view.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <random>
#include <set>

namespace cubinet {
namespace {

constexpr SmTarget kSm90a{9, 0, TargetKind::specific};

KernelSpec sample_spec() {
  return KernelSpec{"attention_decode", {}}
      .set("dtype_q", "bf16")
      .set("head_dim_qk", 128)
      .set("sliding_window", false);
}

KernelSpec numbers_spec() {
  return KernelSpec{"blur", {}}
      .set("bias", 0.1F)
      .set("coefficients", std::vector<float>{0.5F, -0.0F})
      .set("epsilon", 1e-6)
      .set("taps", std::vector<std::int64_t>{1, -2, 3})
      .set("weights", std::vector<double>{-1e300})
      .set("zero", -0.0);
}

// Frozen: a change here changes every key in every registry and bundle, and needs a new schema
// version.
TEST_CASE("keys and encodings equal the golden vectors") {
  struct Golden {
    KernelSpec spec;
    SmTarget target;
    const char* encoding;
    const char* key;
  };
  const Golden vectors[] = {
      {KernelSpec{"", {}},
       {0, 0, TargetKind::baseline},
       "434b45590200000000000000000000000000000000000000",
       "be0112efdabb0d6a"},
      {sample_spec(), kSm90a,
       "434b455902000010000000617474656e74696f6e5f6465636f6465030000000700000064747970655f710204000000626631"
       "360b000000686561645f64696d5f716b0180000000000000000e000000736c6964696e675f77696e646f7700000000000009"
       "00000001",
       "f55ac6876b6634b4"},
      {sample_spec(),
       {10, 0, TargetKind::family},
       "434b455902000010000000617474656e74696f6e5f6465636f6465030000000700000064747970655f710204000000626631"
       "360b000000686561645f64696d5f716b0180000000000000000e000000736c6964696e675f77696e646f770000000000000a"
       "00000002",
       "48be3d159e17d5f9"},
      {KernelSpec{"rms_norm", {}}.set("hidden_size", 4096),
       {8, 0, TargetKind::baseline},
       "434b455902000008000000726d735f6e6f726d010000000b00000068696464656e5f73697a65010010000000000000000000"
       "000800000000",
       "f33e35314758d015"},
      {numbers_spec(), kSm90a,
       "434b455902000004000000626c757206000000040000006269617303cdcccc3d0c000000636f656666696369656e74730503"
       "020000000000003f0000000007000000657073696c6f6e048dedb5a0f7c6b03e040000007461707305010300000001000000"
       "00000000feffffffffffffff030000000000000007000000776569676874730504010000009c7500883ce437fe040000007a"
       "65726f040000000000000000000000000900000001",
       "9fd31d9d80789f89"},
  };
  for (const Golden& golden : vectors) {
    const KernelIdentity identity = identify(golden.spec, golden.target);
    CHECK(to_hex(identity.encoding()) == golden.encoding);
    CHECK(identity.key().to_string() == golden.key);
  }
}

TEST_CASE("a kernel has one identity, whether a specification holds its parameters or something else does") {
  const ParameterView parameters[] = {
      {"dtype_q", "bf16"}, {"head_dim_qk", std::int64_t{128}}, {"sliding_window", false}};
  for (const KernelMaker maker :
       {KernelMaker::kernel_template, KernelMaker::publisher, KernelMaker::function, KernelMaker::tool}) {
    KernelSpec spec = sample_spec();
    spec.maker = maker;
    CHECK(identify(maker, spec.name, parameters) == identify(spec));
    CHECK(identify(maker, spec.name, parameters, kSm90a) == identify(spec, kSm90a));
    CHECK(identify(spec).maker() == maker);
    CHECK(identify(spec, kSm90a).kernel().maker() == maker);
    CHECK(decode_kernel(identify(spec).encoding())->maker == maker);
  }
  CHECK(KernelId().maker() == KernelMaker::kernel_template);
}

KernelSpec random_spec(std::mt19937_64& random) {
  const auto text = [&](std::size_t limit) {
    std::string value(random() % limit, '\0');
    for (char& c : value)
      c = static_cast<char>(random() % 256);
    return value;
  };
  KernelSpec spec{text(20), {}, static_cast<KernelMaker>(random() % 3)};
  const std::size_t count = random() % 8;
  for (std::size_t i = 0; i < count; ++i) {
    switch (random() % 6) {
      case 0:
        spec.set(text(6), random() % 2 == 0);
        break;
      case 1:
        spec.set(text(6), ParameterValue(static_cast<std::int64_t>(random())));
        break;
      case 2:
        spec.set(text(6), static_cast<float>(random()));
        break;
      case 3:
        spec.set(text(6), std::vector<double>(random() % 4, -1 / static_cast<double>(random())));
        break;
      case 4:
        spec.set(text(6), std::vector<std::int64_t>(random() % 4, static_cast<std::int64_t>(random())));
        break;
      default:
        spec.set(text(6), ParameterValue(text(9)));
    }
  }
  return spec;
}

TEST_CASE("decoding an encoding gives the specification and target back" * doctest::test_suite("loop")) {
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < 10'000'000 / test::kPropertyDivisor; ++i) {
    const KernelSpec spec = random_spec(random);
    const SmTarget target = known_targets()[random() % known_targets().size()];
    const KernelIdentity identity = identify(spec, target);
    const auto again = identity_from_encoding(identity.encoding());
    REQUIRE(again);
    REQUIRE(*again == identity);
    REQUIRE(again->target() == target);
    REQUIRE(*decode_kernel(again->kernel_encoding()) == spec);
    REQUIRE(again->kernel() == identify(spec));
    REQUIRE(again->is_of(identify(spec)));
    REQUIRE(*decode_kernel(identify(spec).encoding()) == spec);
  }
}

TEST_CASE("specifications that differ in one place have other encodings and keys") {
  std::set<std::uint64_t> keys;
  std::set<Bytes> encodings;
  std::size_t count = 0;
  const auto add = [&](const KernelSpec& spec, SmTarget target) {
    const KernelIdentity identity = identify(spec, target);
    keys.insert(identity.key().value);
    encodings.insert(identity.encoding());
    ++count;
  };
  for (const SmTarget target : known_targets())
    add(sample_spec(), target);
  for (int dim = 0; dim <= 1024; ++dim) {
    if (dim != 128) add(sample_spec().set("head_dim_qk", dim), kSm90a);
  }
  add(sample_spec().set("head_dim_qk", "128"), kSm90a);
  add(sample_spec().set("sliding_window", true), kSm90a);
  add(sample_spec().set("sliding_window", 0), kSm90a);
  add(sample_spec().set("extra", 0), kSm90a);
  add(KernelSpec{"attention_decod", sample_spec().parameters}, kSm90a);
  add(KernelSpec{"ab", {}}.set("c", 0), kSm90a);
  add(KernelSpec{"a", {}}.set("bc", 0), kSm90a);
  for (const KernelMaker maker : {KernelMaker::publisher, KernelMaker::function, KernelMaker::tool})
    add(KernelSpec{"attention_decode", sample_spec().parameters, maker}, kSm90a);
  CHECK(keys.size() == count);
  CHECK(encodings.size() == count);
}

TEST_CASE("a number has one encoding, and none that is not finite") {
  const auto encoding = [](const ParameterValue& value) {
    return identify(KernelSpec{"t", {}}.set("x", value), kSm90a).encoding();
  };
  CHECK(encoding(0.1) == encoding(1e-1));
  CHECK(encoding(-0.0) == encoding(0.0));
  CHECK(encoding(-0.0F) == encoding(0.0F));
  CHECK(encoding(0.1) != encoding(0.1F));
  CHECK(encoding(1.0) != encoding(std::int64_t{1}));
  CHECK(encoding(std::vector<float>{}) != encoding(std::vector<double>{}));
  CHECK(encoding(std::vector<float>{1}) != encoding(1.0F));
  Bytes bits = encoding(std::bit_cast<double>(std::uint64_t{1}));
  const std::size_t last = bits.size() - 4 - 5 - 1;  // before the options and the target
  bits[last] = std::byte{0x80};
  CHECK(identity_from_encoding(bits));  // a subnormal number
  bits[last - 7] = std::byte{0};
  CHECK(identity_from_encoding(bits).error().code == ErrorCode::corruption);  // -0
  bits[last] = std::byte{0x7f};
  bits[last - 1] = std::byte{0xf0};
  CHECK(identity_from_encoding(bits).error().code == ErrorCode::corruption);  // infinite
}

TEST_CASE("every truncation and every trailing byte is refused" * doctest::test_suite("loop")) {
  const Bytes encoding = identify(sample_spec(), kSm90a).encoding();
  for (std::size_t length = 0; length < encoding.size(); ++length) {
    CHECK_FALSE(identity_from_encoding(
        Bytes(encoding.begin(), encoding.begin() + static_cast<std::ptrdiff_t>(length))));
  }
  Bytes longer = encoding;
  longer.push_back(std::byte{0});
  CHECK_FALSE(identity_from_encoding(longer));
}

TEST_CASE("every flipped bit is refused or decodes to another identity" * doctest::test_suite("loop")) {
  for (const KernelSpec& spec : {sample_spec(), numbers_spec()}) {
    const KernelIdentity original = identify(spec, kSm90a);
    for (std::size_t i = 0; i < original.encoding().size(); ++i) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        Bytes mutant = original.encoding();
        mutant[i] ^= static_cast<std::byte>(1U << bit);
        const auto decoded = identity_from_encoding(mutant);
        if (!decoded) continue;
        const auto other = decode_kernel(decoded->kernel_encoding());
        REQUIRE(other);
        CHECK(identify(*other, decoded->target()).encoding() == mutant);
      }
    }
  }
}

TEST_CASE("one kernel on two targets is one kernel with two keys, and another kernel is another one") {
  const KernelIdentity specific = identify(sample_spec(), kSm90a);
  const KernelIdentity baseline = identify(sample_spec(), {9, 0, TargetKind::baseline});
  CHECK(specific.kernel() == baseline.kernel());
  CHECK(specific.kernel_hash() == identify(sample_spec()).hash());
  CHECK(specific.key() != baseline.key());
  CHECK_FALSE(specific.is_of(identify(sample_spec().set("head_dim_qk", 64))));
}

TEST_CASE("a newer schema is unsupported, not damaged") {
  Bytes encoding = identify(sample_spec(), kSm90a).encoding();
  encoding[4] = std::byte{kKeySchemaVersion + 1};
  CHECK(identity_from_encoding(encoding).error().code == ErrorCode::unsupported);
}

TEST_CASE("what is said to the compiler is a part of a kernel, in ascending order") {
  KernelSpec spec = sample_spec();
  spec.options = {{"std", "c++20"}, {"D:N", "4"}};
  const KernelIdentity identity = identify(spec, kSm90a);
  CHECK(identity.key() != identify(sample_spec(), kSm90a).key());
  CHECK(*decode_kernel(identity.kernel_encoding()) == spec);
  Bytes encoding = identity.encoding();
  std::string text(as_text(encoding));
  const std::size_t first = text.find("D:N");
  REQUIRE(first != std::string::npos);
  encoding[first] = std::byte{'z'};
  CHECK(identity_from_encoding(encoding).error().code == ErrorCode::corruption);
}

TEST_CASE("a schema that was never stored is damaged") {
  Bytes encoding = identify(sample_spec(), kSm90a).encoding();
  encoding[4] = std::byte{1};
  const auto decoded = identity_from_encoding(encoding);
  REQUIRE_FALSE(decoded);
  CHECK(decoded.error().code == ErrorCode::corruption);
}

TEST_CASE("a key is printed and parsed as sixteen digits") {
  const KernelKey key{0x0123456789abcdef};
  CHECK(key.to_string() == "0123456789abcdef");
  CHECK(*KernelKey::parse("0123456789ABCDEF") == key);
  for (const char* text : {"", "123", "0123456789abcdeg", "0123456789abcdef0"})
    CHECK_FALSE(KernelKey::parse(text));
}

}  // namespace
}  // namespace cubinet
