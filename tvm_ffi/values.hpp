// SPDX-License-Identifier: Apache-2.0
// The part of tvm-ffi's C ABI that the functions read, by the layouts of tvm/ffi/c_api.h, which are
// the same from 0.1.11 to 0.1.15. The header itself is not needed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cubinet::tvm_ffi {

// TVMFFITypeIndex.
enum ValueType : std::int32_t {
  kNone = 0,
  kInteger = 1,
  kBoolean = 2,
  kNumber = 3,
  kTensorPointer = 7,  // a DLTensor that the caller keeps
  kRawText = 8,        // ends with a zero
  kSmallText = 11,     // up to 7 bytes in the value itself
  kText = 65,          // an object; TextCell follows its header
  kTensor = 70         // an object; a DLTensor follows its header
};

// TVMFFIObject, the header of each object.
struct Object {
  std::uint64_t references;
  std::int32_t type;
  std::uint32_t padding;
  void (*deleter)(void* self, int flags);
};
static_assert(sizeof(Object) == 24);

// TVMFFIByteArray.
struct TextCell {
  const char* data;
  std::size_t size;
};

// TVMFFIAny.
struct Value {
  std::int32_t type;
  std::uint32_t small_size;  // bytes of a small text, otherwise 0
  union {
    std::int64_t integer;  // also a boolean
    double number;
    void* pointer;  // also an object
    const char* raw_text;
    char small_text[8];
  };
};
static_assert(sizeof(Value) == 16);

}  // namespace cubinet::tvm_ffi
