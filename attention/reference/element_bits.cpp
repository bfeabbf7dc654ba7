// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/reference_values.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace cubinet {
namespace {

float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

float fp16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  return sign != 0 ? -magnitude : magnitude;
}

// Returns `value` without its lowest `bits` bits, rounded to nearest even.
std::uint32_t rounded_shift(std::uint32_t value, unsigned bits) {
  const std::uint32_t half = 1u << (bits - 1);
  const std::uint32_t rest = value & ((half << 1) - 1);
  const std::uint32_t kept = value >> bits;
  return kept + ((rest > half || (rest == half && (kept & 1) != 0)) ? 1 : 0);
}

std::uint16_t float_to_fp16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u)
    return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520 and up round to infinity
  if (magnitude >=
      0x38800000u) {  // 2^-14: normal. A carry out of the mantissa correctly raises the exponent.
    return static_cast<std::uint16_t>(sign | rounded_shift(magnitude - (112u << 23), 13));
  }
  const std::uint32_t exponent = magnitude >> 23;
  if (exponent < 102) return static_cast<std::uint16_t>(sign);  // below half of 2^-24
  const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  return static_cast<std::uint16_t>(sign | rounded_shift(mantissa, 126 - exponent));
}

std::uint16_t float_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>(rounded_shift(bits, 16));
}

// The exponent bias of a float is 120 larger. The subnormal numbers of e4m3 become subnormal
// floats.
float e4m3_to_float(std::uint16_t bits) {
  const float magnitude = (bits & 0x7fu) == 0x7fu ? std::numeric_limits<float>::quiet_NaN()
                                                  : std::bit_cast<float>((bits & 0x7fu) << 20) * 0x1p120f;
  return (bits & 0x80u) != 0 ? -magnitude : magnitude;
}

std::uint16_t float_to_e4m3(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 24 & 0x80u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7fu);
  if (magnitude >= 0x43e80000u)
    return static_cast<std::uint16_t>(sign | 0x7eu);  // 464: halfway between 448 and the next step
  if (magnitude >= 0x3c800000u)                       // 2^-6: normal
    return static_cast<std::uint16_t>(sign | rounded_shift(magnitude - (120u << 23), 20));
  // in units of 2^-9, rounded to nearest even
  const float ulps = std::nearbyint(std::ldexp(std::abs(value), 9));
  return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(ulps));
}

}  // namespace

float to_float(std::uint16_t bits, DataType type) {
  assert(type == DataType::bf16 || type == DataType::fp16 || type == DataType::e4m3);
  if (type == DataType::e4m3) return e4m3_to_float(bits);
  return type == DataType::bf16 ? bf16_to_float(bits) : fp16_to_float(bits);
}

void to_doubles(std::span<const std::uint16_t> elements, DataType type, std::span<double> values) {
  const auto convert = [&](auto value) {
    std::transform(elements.begin(), elements.end(), values.begin(),
                   [&](std::uint16_t bits) { return static_cast<double>(value(bits)); });
  };
  if (type == DataType::e4m3) {
    static const std::array<float, 256> of_bits = [] {
      std::array<float, 256> all{};
      for (std::uint16_t bits = 0; bits < 256; ++bits)
        all[bits] = e4m3_to_float(bits);
      return all;
    }();
    return convert([](std::uint16_t bits) { return of_bits[bits & 0xffu]; });
  }
  if (type == DataType::fp16) return convert([](std::uint16_t bits) { return fp16_to_float(bits); });
  convert([](std::uint16_t bits) { return bf16_to_float(bits); });
}

void pack_elements(std::span<const std::uint16_t> elements, DataType type, std::span<std::byte> packed) {
  assert(packed.size() == elements.size() * bits_of(type) / 8);
  if (bits_of(type) == 16) {
    std::ranges::copy(std::as_bytes(elements), packed.begin());
    return;
  }
  std::ranges::transform(elements, packed.begin(),
                         [](std::uint16_t bits) { return static_cast<std::byte>(bits); });
}

Bytes packed_elements(std::span<const std::uint16_t> elements, DataType type) {
  Bytes packed(elements.size() * bits_of(type) / 8);
  pack_elements(elements, type, packed);
  return packed;
}

std::uint16_t from_float(float value, DataType type) {
  assert(type == DataType::bf16 || type == DataType::fp16 || type == DataType::e4m3);
  if (type == DataType::e4m3) return float_to_e4m3(value);
  return type == DataType::bf16 ? float_to_bf16(value) : float_to_fp16(value);
}

double stored_element(ByteView bytes, std::size_t index, DataType type) {
  if (type == DataType::fp32) {
    float value = 0;
    std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
    return static_cast<double>(value);
  }
  if (type == DataType::e4m3)
    return static_cast<double>(to_float(static_cast<std::uint16_t>(bytes[index]), type));
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * sizeof bits, sizeof bits);
  return static_cast<double>(to_float(bits, type));
}

}  // namespace cubinet
