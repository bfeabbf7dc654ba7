// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "values.hpp"

#include <cubinet/base/result.hpp>
#include <cubinet/dlpack/tensor_view.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cubinet::tvm_ffi {

// Reads the arguments of a call in their order. Each function returns the next one, or
// invalid_argument with its name and number if it has another type.
class Arguments {
 public:
  Arguments(const Value* values, std::int32_t count) : values_(values), count_(count) {}

  // Returns invalid_argument unless the call has as many arguments as the list names, whose names
  // are separated by commas.
  Result<void> check_count(std::string_view names) const;

  std::int32_t left() const { return count_ - next_; }
  Result<std::int64_t> integer(const char* name);
  // None is `otherwise`.
  Result<double> number(const char* name, double otherwise);
  Result<bool> flag(const char* name);
  Result<std::string> text(const char* name);
  Result<dlpack::TensorView> tensor(const char* name);
  // None is nullopt.
  Result<std::optional<dlpack::TensorView>> tensor_or_none(const char* name);
  // Returns whether the next argument is a tensor.
  bool next_is_tensor() const;

 private:
  const Value& take() { return values_[next_++]; }
  Error wrong(const char* name, const char* expected) const;

  const Value* values_;
  std::int32_t count_;
  std::int32_t next_ = 0;
};

}  // namespace cubinet::tvm_ffi
