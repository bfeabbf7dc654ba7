// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <utility>

namespace cubinet {

// A writer that appends little-endian integers and length-prefixed strings. All fields that this
// project hashes or stores are encoded by it. Lengths precede contents so that ("ab","c") and
// ("a","bc") differ.
class ByteWriter {
 public:
  // Reserves room for `bytes` in total. Without it the buffer grows as it is written.
  void reserve(std::size_t bytes);
  void u8(std::uint8_t value);
  void u16(std::uint16_t value);
  void u32(std::uint32_t value);
  void u64(std::uint64_t value);
  void i64(std::int64_t value);
  void raw(ByteView bytes);
  // Writes a u32 length, then the bytes. REQUIRES: text.size() < 2^32.
  void string(std::string_view text);

  // Returns a view that is valid until the next write.
  ByteView bytes() const { return ByteView(bytes_).first(size_); }
  Bytes take();

 private:
  std::byte* grow(std::size_t more);
  template <class View>
  void put(const View& bytes);

  // The written bytes, then room for more. Growing a vector for each field takes twice the time.
  Bytes bytes_;
  std::size_t size_ = 0;
};

// A reader of what ByteWriter writes. Every read is checked against the remaining bytes: any input
// gives values or a corruption error, never a read out of bounds. Does not own the bytes, which
// must outlive it.
class ByteReader {
 public:
  explicit ByteReader(ByteView bytes) : bytes_(bytes) {}

  Result<std::uint8_t> u8();
  Result<std::uint16_t> u16();
  Result<std::uint32_t> u32();
  Result<std::uint64_t> u64();
  Result<std::int64_t> i64();
  // Reads `values.size()` integers at once.
  Result<void> u32s(std::span<std::uint32_t> values);
  Result<ByteView> raw(std::size_t count);
  Result<std::string> string();
  // Reads a length-prefixed field and returns a view of it in the input.
  Result<ByteView> blob();
  Result<std::string_view> text();

  std::size_t remaining() const { return bytes_.size() - offset_; }

 private:
  template <class Integer>
  Result<Integer> integer();
  template <class Integer>
  Integer next();  // REQUIRES: enough bytes remain
  Error ends_early(std::size_t wanted) const;

  ByteView bytes_;
  std::size_t offset_ = 0;
};

}  // namespace cubinet
