// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/binary_format.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <xxhash.h>

#include <array>

namespace cubinet {
namespace {

constexpr BinaryFormat kKeyFormat{
    .name = "a kernel's encoding", .magic = "CKEY", .newest = kKeySchemaVersion};
// Far above any real specification: a damaged count must not make us allocate.
constexpr std::uint32_t kMaximumParameters = 4096;

enum class ValueTag : std::uint8_t { flag = 0, integer = 1, text = 2 };

void write_value(ByteWriter& writer, const ParameterValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) {
    writer.u8(static_cast<std::uint8_t>(ValueTag::flag));
    writer.u8(*flag ? 1 : 0);
  } else if (const std::int64_t* integer = std::get_if<std::int64_t>(&value)) {
    writer.u8(static_cast<std::uint8_t>(ValueTag::integer));
    writer.i64(*integer);
  } else {
    writer.u8(static_cast<std::uint8_t>(ValueTag::text));
    writer.string(std::get<std::string>(value));
  }
}

Result<ParameterValue> read_value(ByteReader& reader) {
  CUBINET_TRY_ASSIGN(const std::uint8_t tag, reader.u8());
  switch (static_cast<ValueTag>(tag)) {
    case ValueTag::flag: {
      CUBINET_TRY_ASSIGN(const std::uint8_t flag, reader.u8());
      if (flag > 1) return kKeyFormat.damaged("holds a flag that is not 0 or 1");
      return ParameterValue(flag == 1);
    }
    case ValueTag::integer: {
      CUBINET_TRY_ASSIGN(const std::int64_t integer, reader.i64());
      return ParameterValue(integer);
    }
    case ValueTag::text: {
      CUBINET_TRY_ASSIGN(std::string text, reader.string());
      return ParameterValue(std::move(text));
    }
  }
  return kKeyFormat.damaged("holds a value of unknown type");
}

Result<SmTarget> read_target(ByteReader& reader) {
  SmTarget target;
  CUBINET_TRY_ASSIGN(target.major, reader.u16());
  CUBINET_TRY_ASSIGN(target.minor, reader.u16());
  CUBINET_TRY_ASSIGN(const std::uint8_t kind, reader.u8());
  if (kind > static_cast<std::uint8_t>(TargetKind::family)) {
    return kKeyFormat.damaged("holds an unknown kind of target");
  }
  target.kind = static_cast<TargetKind>(kind);
  return target;
}

}  // namespace

std::string KernelKey::to_string() const {
  std::array<std::byte, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>((value >> (56 - 8 * i)) & 0xffU);
  return to_hex(bytes);
}

Result<KernelKey> KernelKey::parse(std::string_view text) {
  auto bytes = from_hex(text);
  if (!bytes || bytes->size() != 8) {
    return Error{ErrorCode::invalid_argument, "'" + std::string(text.substr(0, 80)) + "' is no kernel key",
                 "a key is 16 hexadecimal digits, as `cubinet key` prints them"};
  }
  KernelKey key;
  for (const std::byte byte : *bytes)
    key.value = (key.value << 8U) | std::to_integer<std::uint64_t>(byte);
  return key;
}

KernelIdentity identify(const KernelSpec& spec, SmTarget target) {
  ByteWriter writer;
  kKeyFormat.write_head(writer);
  writer.string(spec.template_name);
  writer.u16(target.major);
  writer.u16(target.minor);
  writer.u8(static_cast<std::uint8_t>(target.kind));
  writer.u32(static_cast<std::uint32_t>(spec.parameters.size()));
  for (const auto& [name, value] : spec.parameters) {
    writer.string(name);
    write_value(writer, value);
  }
  KernelIdentity identity;
  identity.target_ = target;
  identity.encoding_ = writer.take();
  identity.key_.value = XXH3_64bits(identity.encoding_.data(), identity.encoding_.size());
  return identity;
}

namespace {

// Reads an encoding from end to end, calling `parameter(name, value)` for each; accepts canonical ones only,
// so whatever passes is what `identify` would write.
template <class Parameter>
Result<SmTarget> walk_encoding(ByteView encoding, std::string& template_name, Parameter&& parameter) {
  ByteReader reader(encoding);
  CUBINET_TRY(kKeyFormat.read_head(reader));
  CUBINET_TRY_ASSIGN(template_name, reader.string());
  CUBINET_TRY_ASSIGN(const SmTarget target, read_target(reader));
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  if (count > kMaximumParameters) return kKeyFormat.damaged("has too many parameters");
  std::string previous;
  for (std::uint32_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(std::string name, reader.string());
    if (i > 0 && name <= previous) {
      return kKeyFormat.damaged("does not list its parameters in order");
    }
    CUBINET_TRY_ASSIGN(ParameterValue value, read_value(reader));
    parameter(name, std::move(value));
    previous = std::move(name);
  }
  if (reader.remaining() != 0) return kKeyFormat.damaged("has bytes after its end");
  return target;
}

}  // namespace

Result<DecodedIdentity> decode_identity(ByteView encoding) {
  DecodedIdentity decoded;
  auto& parameters = decoded.spec.parameters;
  CUBINET_TRY_ASSIGN(
      decoded.target,
      walk_encoding(encoding, decoded.spec.template_name, [&](const std::string& name, ParameterValue value) {
        parameters.emplace_hint(parameters.end(), name, std::move(value));
      }));
  return decoded;
}

Result<KernelIdentity> identity_from_encoding(Bytes encoding) {
  KernelIdentity identity;
  std::string template_name;
  CUBINET_TRY_ASSIGN(identity.target_, walk_encoding(encoding, template_name,
                                                     [](const std::string&, const ParameterValue&) {}));
  identity.key_.value = XXH3_64bits(encoding.data(), encoding.size());
  identity.encoding_ = std::move(encoding);
  return identity;
}

}  // namespace cubinet
