// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace cubinet {

inline constexpr std::uint16_t kCudaMachine = 190;  // EM_CUDA
inline constexpr std::string_view kKernelInfo =
    ".nv.info.";                                      // the section's name goes on with the kernel's symbol
inline constexpr std::uint8_t kParameterInfo = 0x17;  // EIATTR_KPARAM_INFO, one a parameter
inline constexpr std::uint8_t kArgumentBytes = 0x19;  // EIATTR_CBANK_PARAM_SIZE, of all parameters together

// One entry of .nv.info, .nv.info.<kernel> or .nv.compat: a format, a tag, and a value whose length the
// format says.
struct CubinAttribute {
  std::uint8_t tag = 0;
  ByteView value;  // empty, 1, 2, or as many bytes as are stated

  // The little-endian word at `index` of the value; 0 where it does not reach so far.
  std::uint32_t word(std::size_t index) const;
};

// The attributes of a section, in their order. Ends at the first that does not lie in it.
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
