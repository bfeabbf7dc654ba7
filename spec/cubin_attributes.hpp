// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace cubinet {

inline constexpr std::uint16_t kCudaMachine = 190;  // EM_CUDA
// The kernel's symbol follows in the section's name.
inline constexpr std::string_view kKernelInfo = ".nv.info.";
inline constexpr std::uint8_t kParameterInfo = 0x17;  // EIATTR_KPARAM_INFO, one per parameter
// EIATTR_CBANK_PARAM_SIZE: the size of all parameters together.
inline constexpr std::uint8_t kArgumentBytes = 0x19;

// An entry of .nv.info, .nv.info.<kernel> or .nv.compat. It consists of a format, a tag, and a
// value whose length the format determines.
struct CubinAttribute {
  std::uint8_t tag = 0;
  ByteView value;  // empty, 1, 2, or the stated number of bytes

  // Returns the little-endian word at `index` of the value, or 0 if the value is shorter.
  std::uint32_t word(std::size_t index) const;
};

// A reader of the attributes of a section, in their order. It ends at the first attribute that
// exceeds the section.
class CubinAttributes {
 public:
  explicit CubinAttributes(ByteView section) : rest_(section) {}

  std::optional<CubinAttribute> next();
  bool damaged() const { return damaged_; }

 private:
  ByteView rest_;
  bool damaged_ = false;
};

}  // namespace cubinet
