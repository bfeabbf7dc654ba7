// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/binary_format.hpp>
#include <cubinet/base/byte_stream.hpp>
#include <cubinet/spec/kernel_key.hpp>
#include <cubinet/spec/parameter_view.hpp>

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace cubinet {
namespace {

constexpr BinaryFormat kKeyFormat{
    .name = "a kernel's encoding", .magic = "CKEY", .newest = kKeySchemaVersion, .oldest = 2};
constexpr std::size_t kHeadBytes = kKeyFormat.magic.size() + sizeof(kKeySchemaVersion);
constexpr std::size_t kTargetBytes = 5;
// The limit is far above any real specification. It prevents a damaged count from causing large
// allocations.
constexpr std::uint32_t kMaximumParameters = 4096;

enum class ValueTag : std::uint8_t { flag = 0, integer = 1, text = 2, single = 3, precise = 4, list = 5 };

constexpr std::uint8_t code(ValueTag tag) {
  return static_cast<std::uint8_t>(tag);
}

// Returns the tag of a number's type. The number's bits follow it in the encoding.
constexpr ValueTag tag_of(std::int64_t) {
  return ValueTag::integer;
}
constexpr ValueTag tag_of(float) {
  return ValueTag::single;
}
constexpr ValueTag tag_of(double) {
  return ValueTag::precise;
}
void write_number(ByteWriter& writer, std::int64_t number) {
  writer.i64(number);
}
void write_number(ByteWriter& writer, float number) {
  writer.u32(std::bit_cast<std::uint32_t>(number == 0 ? 0.0F : number));
}
void write_number(ByteWriter& writer, double number) {
  writer.u64(std::bit_cast<std::uint64_t>(number == 0 ? 0.0 : number));
}

struct ValueWriter {
  ByteWriter& writer;

  void operator()(bool flag) const {
    writer.u8(code(ValueTag::flag));
    writer.u8(flag ? 1 : 0);
  }
  void operator()(std::string_view text) const {
    writer.u8(code(ValueTag::text));
    writer.string(text);
  }
  template <class Number>
  void operator()(Number number) const {
    writer.u8(code(tag_of(number)));
    write_number(writer, number);
  }
  template <class Number>
  void operator()(const std::vector<Number>& list) const {
    writer.u8(code(ValueTag::list));
    writer.u8(code(tag_of(Number())));
    writer.u32(static_cast<std::uint32_t>(list.size()));
    for (const Number number : list)
      write_number(writer, number);
  }
  void operator()(const std::string& text) const { (*this)(std::string_view(text)); }
};

// A value as it is read. Text refers to the input.
using ValueView = std::variant<bool, std::int64_t, std::string_view, float, double, std::vector<std::int64_t>,
                               std::vector<float>, std::vector<double>>;

template <class Float, class Bits>
Result<Float> canonical(Bits bits) {
  const auto number = std::bit_cast<Float>(bits);
  if (!std::isfinite(number) || (number == 0 && bits != 0))
    return kKeyFormat.damaged("holds a number that is not finite, or -0");
  return number;
}

template <class Number>
Result<Number> read_number(ByteReader& reader) {
  if constexpr (std::is_same_v<Number, float>) {
    CUBINET_TRY_ASSIGN(const std::uint32_t bits, reader.u32());
    return canonical<float>(bits);
  } else if constexpr (std::is_same_v<Number, double>) {
    CUBINET_TRY_ASSIGN(const std::uint64_t bits, reader.u64());
    return canonical<double>(bits);
  } else {
    return reader.i64();
  }
}

template <class Number>
Result<ValueView> read_list(ByteReader& reader) {
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  std::vector<Number> list;
  for (std::uint32_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(list.emplace_back(), read_number<Number>(reader));
  }
  return ValueView(std::move(list));
}

template <class Value>
Result<ValueView> as_value(Result<Value> read) {
  if (!read) return std::move(read).error();
  return ValueView(*std::move(read));
}

Result<ValueView> read_value(ByteReader& reader) {
  CUBINET_TRY_ASSIGN(const std::uint8_t tag, reader.u8());
  switch (static_cast<ValueTag>(tag)) {
    case ValueTag::flag: {
      CUBINET_TRY_ASSIGN(const std::uint8_t flag, reader.u8());
      if (flag > 1) return kKeyFormat.damaged("holds a flag that is not 0 or 1");
      return ValueView(flag == 1);
    }
    case ValueTag::integer:
      return as_value(read_number<std::int64_t>(reader));
    case ValueTag::text:
      return as_value(reader.text());
    case ValueTag::single:
      return as_value(read_number<float>(reader));
    case ValueTag::precise:
      return as_value(read_number<double>(reader));
    case ValueTag::list: {
      CUBINET_TRY_ASSIGN(const std::uint8_t type, reader.u8());
      if (type == code(ValueTag::integer)) return read_list<std::int64_t>(reader);
      if (type == code(ValueTag::single)) return read_list<float>(reader);
      if (type == code(ValueTag::precise)) return read_list<double>(reader);
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
                 "a key is 16 hexadecimal digits, as `KernelKey::to_string()` writes them"};
  }
  KernelKey key;
  for (const std::byte byte : *bytes)
    key.value = (key.value << 8U) | std::to_integer<std::uint64_t>(byte);
  return key;
}

namespace {

std::uint64_t hash_of(ByteView bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);

struct ValueSize {
  std::size_t operator()(bool) const { return 1 + 1; }
  std::size_t operator()(std::string_view text) const { return 1 + kLengthBytes + text.size(); }
  std::size_t operator()(const std::string& text) const { return (*this)(std::string_view(text)); }
  template <class Number>
  std::size_t operator()(Number) const {
    return 1 + sizeof(Number);
  }
  template <class Number>
  std::size_t operator()(const std::vector<Number>& list) const {
    return 1 + 1 + kLengthBytes + list.size() * sizeof(Number);
  }
};

template <class Parameters>
void write_kernel(ByteWriter& writer, KernelMaker maker, std::string_view name, const Parameters& parameters,
                  const CompilerOptions& options) {
  // The size is computed in advance, so that the identities of a table's thousands of rows neither
  // move nor waste memory.
  std::size_t size = kHeadBytes + 1 + kLengthBytes + name.size() + 2 * sizeof(std::uint32_t) + kTargetBytes;
  for (const auto& [parameter, value] : parameters)
    size += kLengthBytes + parameter.size() + std::visit(ValueSize{}, value);
  for (const auto& [option, value] : options)
    size += 2 * kLengthBytes + option.size() + value.size();
  writer.reserve(size);
  kKeyFormat.write_head(writer);
  writer.u8(static_cast<std::uint8_t>(maker));
  writer.string(name);
  writer.u32(static_cast<std::uint32_t>(parameters.size()));
  for (const auto& [parameter, value] : parameters) {
    writer.string(parameter);
    std::visit(ValueWriter{writer}, value);
  }
  writer.u32(static_cast<std::uint32_t>(options.size()));
  for (const auto& [option, value] : options) {
    writer.string(option);
    writer.string(value);
  }
}

void write_target(ByteWriter& writer, SmTarget target) {
  writer.u16(target.major);
  writer.u16(target.minor);
  writer.u8(static_cast<std::uint8_t>(target.kind));
}

struct KernelHead {
  KernelMaker maker = KernelMaker::kernel_template;
  std::string_view name;
};

// Reads `count` pairs with ascending names. `read` reads the value after a name.
template <class Read>
Result<void> read_ascending(ByteReader& reader, std::uint32_t count, const char* disorder, const Read& read) {
  if (count > kMaximumParameters) return kKeyFormat.damaged("has too many parameters");
  std::string_view last;
  for (std::uint32_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(const std::string_view name, reader.text());
    if (i > 0 && name <= last) return kKeyFormat.damaged(disorder);
    last = name;
    CUBINET_TRY(read(name));
  }
  return {};
}

// Reads a kernel. Accepts canonical encodings only, so that accepted bytes equal the output of
// write_kernel(). Passes each parameter and option to `take` and `take_option`. Callers that only
// check an encoding construct nothing.
template <class Take, class TakeOption>
Result<KernelHead> read_kernel(ByteReader& reader, const Take& take, const TakeOption& take_option) {
  CUBINET_TRY(kKeyFormat.read_head(reader));
  KernelHead head;
  CUBINET_TRY_ASSIGN(const std::uint8_t maker, reader.u8());
  if (maker > static_cast<std::uint8_t>(KernelMaker::tool)) {
    return kKeyFormat.damaged("is of an unknown maker");
  }
  head.maker = static_cast<KernelMaker>(maker);
  CUBINET_TRY_ASSIGN(head.name, reader.text());
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  CUBINET_TRY(read_ascending(reader, count, "does not list its parameters in order",
                             [&](std::string_view name) -> Result<void> {
                               CUBINET_TRY_ASSIGN(ValueView value, read_value(reader));
                               take(name, value);
                               return {};
                             }));
  CUBINET_TRY_ASSIGN(const std::uint32_t options, reader.u32());
  CUBINET_TRY(read_ascending(reader, options, "does not list its options in order",
                             [&](std::string_view name) -> Result<void> {
                               CUBINET_TRY_ASSIGN(const std::string_view value, reader.text());
                               take_option(name, value);
                               return {};
                             }));
  return head;
}

Result<KernelSpec> read_spec(ByteReader& reader) {
  KernelSpec spec;
  const auto keep = [&](std::string_view name, const ValueView& view) {
    const auto owned = [](const auto& value) {
      if constexpr (std::is_same_v<decltype(value), const std::string_view&>) {
        return ParameterValue(std::string(value));
      } else {
        return ParameterValue(value);
      }
    };
    spec.parameters.emplace_hint(spec.parameters.end(), name, std::visit(owned, view));
  };
  const auto keep_option = [&](std::string_view name, std::string_view value) {
    spec.options.emplace_hint(spec.options.end(), name, value);
  };
  CUBINET_TRY_ASSIGN(const KernelHead head, read_kernel(reader, keep, keep_option));
  spec.maker = head.maker;
  spec.name = head.name;
  return spec;
}

}  // namespace

KernelId::KernelId(Bytes encoding) : encoding_(std::move(encoding)), hash_(hash_of(encoding_)) {}

KernelMaker KernelId::maker() const {
  return encoding_.empty() ? KernelMaker::kernel_template : static_cast<KernelMaker>(encoding_[kHeadBytes]);
}

KernelIdentity::KernelIdentity(Bytes encoding, SmTarget target)
    : encoding_(std::move(encoding)), target_(target) {
  key_.value = hash_of(encoding_);
  kernel_hash_ = hash_of(kernel_encoding());
}

ByteView KernelIdentity::kernel_encoding() const {
  return ByteView(encoding_).first(encoding_.size() - std::min(encoding_.size(), kTargetBytes));
}

KernelId KernelIdentity::kernel() const {
  KernelId id;
  const ByteView kernel = kernel_encoding();
  id.encoding_.assign(kernel.begin(), kernel.end());
  id.hash_ = kernel_hash_;
  return id;
}

bool KernelIdentity::is_of(const KernelId& kernel) const {
  const ByteView own = kernel_encoding();
  return kernel_hash_ == kernel.hash() &&
         std::equal(own.begin(), own.end(), kernel.encoding().begin(), kernel.encoding().end());
}

KernelId identify(const KernelSpec& spec) {
  ByteWriter writer;
  write_kernel(writer, spec.maker, spec.name, spec.parameters, spec.options);
  return KernelId(writer.take());
}

KernelIdentity identify(const KernelSpec& spec, SmTarget target) {
  ByteWriter writer;
  write_kernel(writer, spec.maker, spec.name, spec.parameters, spec.options);
  write_target(writer, target);
  return KernelIdentity(writer.take(), target);
}

KernelId identify(KernelMaker maker, std::string_view name, std::span<const ParameterView> parameters) {
  ByteWriter writer;
  write_kernel(writer, maker, name, parameters, {});
  return KernelId(writer.take());
}

KernelIdentity identify(KernelMaker maker, std::string_view name, std::span<const ParameterView> parameters,
                        SmTarget target) {
  ByteWriter writer;
  write_kernel(writer, maker, name, parameters, {});
  write_target(writer, target);
  return KernelIdentity(writer.take(), target);
}

Result<KernelSpec> decode_kernel(ByteView encoding) {
  ByteReader reader(encoding);
  CUBINET_TRY_ASSIGN(KernelSpec spec, read_spec(reader));
  if (reader.remaining() != 0) return kKeyFormat.damaged("has bytes after its end");
  return spec;
}

Result<KernelIdentity> identity_from_encoding(Bytes encoding) {
  ByteReader reader(encoding);
  CUBINET_TRY(read_kernel(
      reader, [](std::string_view, const ValueView&) {}, [](std::string_view, std::string_view) {}));
  CUBINET_TRY_ASSIGN(const SmTarget target, read_target(reader));
  if (reader.remaining() != 0) return kKeyFormat.damaged("has bytes after its end");
  return KernelIdentity(std::move(encoding), target);
}

}  // namespace cubinet
