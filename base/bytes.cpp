// SPDX-License-Identifier: Apache-2.0
#include "little_endian.hpp"

#include <cubinet/base/byte_stream.hpp>

#include <algorithm>
#include <utility>

namespace cubinet {

ByteView as_bytes(std::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

std::string_view as_text(ByteView bytes) {
  return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

std::string to_hex(ByteView bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(bytes.size() * 2, '0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto value = std::to_integer<unsigned>(bytes[i]);
    text[2 * i] = kDigits[value >> 4U];
    text[2 * i + 1] = kDigits[value & 15U];
  }
  return text;
}

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Result<Bytes> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) {
    return Error{ErrorCode::invalid_argument, "hexadecimal text has an odd number of digits"};
  }
  Bytes bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) {
      return Error{ErrorCode::invalid_argument, "hexadecimal text holds another character"};
    }
    bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return bytes;
}

namespace {

// Most encodings consist of a few dozen short fields. Without this, each of the first fields would
// cost an allocation.
constexpr std::size_t kFirstCapacity = 128;

}  // namespace

std::byte* ByteWriter::grow(std::size_t more) {
  const std::size_t begin = std::exchange(size_, size_ + more);
  if (size_ > bytes_.size()) bytes_.resize(std::max({kFirstCapacity, size_, 2 * bytes_.size()}));
  return bytes_.data() + begin;
}

template <class View>
void ByteWriter::put(const View& bytes) {
  std::copy(bytes.begin(), bytes.end(), grow(bytes.size()));
}

void ByteWriter::reserve(std::size_t bytes) {
  if (bytes > bytes_.size()) bytes_.resize(bytes);
}

Bytes ByteWriter::take() {
  bytes_.resize(std::exchange(size_, 0));
  return std::exchange(bytes_, {});
}

void ByteWriter::u8(std::uint8_t value) {
  put(little_endian(value));
}
void ByteWriter::u16(std::uint16_t value) {
  put(little_endian(value));
}
void ByteWriter::u32(std::uint32_t value) {
  put(little_endian(value));
}
void ByteWriter::u64(std::uint64_t value) {
  put(little_endian(value));
}
void ByteWriter::i64(std::int64_t value) {
  put(little_endian(static_cast<std::uint64_t>(value)));
}
void ByteWriter::raw(ByteView bytes) {
  put(bytes);
}

void ByteWriter::string(std::string_view text) {
  u32(static_cast<std::uint32_t>(text.size()));
  raw(as_bytes(text));
}

Error ByteReader::ends_early(std::size_t wanted) const {
  return Error{ErrorCode::corruption, "record ends early: " + std::to_string(wanted) + " bytes wanted, " +
                                          std::to_string(remaining()) + " left"};
}

Result<ByteView> ByteReader::raw(std::size_t count) {
  if (count > remaining()) return ends_early(count);
  const ByteView view = bytes_.subspan(offset_, count);
  offset_ += count;
  return view;
}

template <class Integer>
Integer ByteReader::next() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    value |= std::to_integer<std::uint64_t>(bytes_[offset_ + i]) << (8U * i);
  }
  offset_ += sizeof(Integer);
  return static_cast<Integer>(value);
}

template <class Integer>
Result<Integer> ByteReader::integer() {
  if (sizeof(Integer) > remaining()) return ends_early(sizeof(Integer));
  return next<Integer>();
}

Result<void> ByteReader::u32s(std::span<std::uint32_t> values) {
  if (values.size_bytes() > remaining()) return ends_early(values.size_bytes());
  for (std::uint32_t& value : values)
    value = next<std::uint32_t>();
  return {};
}

Result<std::uint8_t> ByteReader::u8() {
  return integer<std::uint8_t>();
}
Result<std::uint16_t> ByteReader::u16() {
  return integer<std::uint16_t>();
}
Result<std::uint32_t> ByteReader::u32() {
  return integer<std::uint32_t>();
}
Result<std::uint64_t> ByteReader::u64() {
  return integer<std::uint64_t>();
}
Result<std::int64_t> ByteReader::i64() {
  return integer<std::int64_t>();
}

Result<ByteView> ByteReader::blob() {
  CUBINET_TRY_ASSIGN(const std::uint32_t length, u32());
  return raw(length);
}

Result<std::string_view> ByteReader::text() {
  CUBINET_TRY_ASSIGN(const ByteView bytes, blob());
  return as_text(bytes);
}

Result<std::string> ByteReader::string() {
  CUBINET_TRY_ASSIGN(const std::string_view content, text());
  return std::string(content);
}

}  // namespace cubinet
