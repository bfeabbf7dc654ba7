// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "values.hpp"

#include <cubinet/dlpack/dlpack.hpp>

#include <cstring>
#include <memory>
#include <vector>

namespace cubinet::test {

inline tvm_ffi::Value none() {
  return {};
}
inline tvm_ffi::Value integer(std::int64_t value) {
  tvm_ffi::Value made{tvm_ffi::kInteger, 0, {}};
  made.integer = value;
  return made;
}
inline tvm_ffi::Value boolean(bool value) {
  tvm_ffi::Value made = integer(value ? 1 : 0);
  made.type = tvm_ffi::kBoolean;
  return made;
}
inline tvm_ffi::Value number(double value) {
  tvm_ffi::Value made{tvm_ffi::kNumber, 0, {}};
  made.number = value;
  return made;
}
// `text` has to be kept as long as the value.
inline tvm_ffi::Value text_value(const char* text) {
  tvm_ffi::Value made{tvm_ffi::kRawText, 0, {}};
  made.raw_text = text;
  return made;
}

// A tensor on device 0 whose memory is `address`.
class FfiTensor {
 public:
  FfiTensor(std::vector<std::int64_t> shape, DLDataType type, std::uint64_t address)
      : shape_(std::move(shape)),
        tensor_{reinterpret_cast<void*>(address),
                {kDLCUDA, 0},
                static_cast<std::int32_t>(shape_.size()),
                type,
                shape_.data(),
                nullptr,
                0} {}
  FfiTensor(const FfiTensor&) = delete;
  FfiTensor& operator=(const FfiTensor&) = delete;

  tvm_ffi::Value value() {
    tvm_ffi::Value made{tvm_ffi::kTensorPointer, 0, {}};
    made.pointer = &tensor_;
    return made;
  }
  DLTensor& tensor() { return tensor_; }

 private:
  std::vector<std::int64_t> shape_;
  DLTensor tensor_;
};

}  // namespace cubinet::test
