// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace cubinet::tvm_ffi {
namespace {

bool is_tensor(const Value& value) {
  return (value.type == kTensorPointer || value.type == kTensor) && value.pointer != nullptr;
}

const void* behind_header(const Value& value) {
  return static_cast<const Object*>(value.pointer) + 1;
}

dlpack::TensorView view_of(const Value& value) {
  const void* const tensor = value.type == kTensor ? behind_header(value) : value.pointer;
  return dlpack::TensorView(*static_cast<const DLTensor*>(tensor));
}

std::string name_of_type(std::int32_t type) {
  switch (type) {
    case kNone:
      return "None";
    case kInteger:
      return "an integer";
    case kBoolean:
      return "a boolean";
    case kNumber:
      return "a number";
    case kRawText:
    case kSmallText:
    case kText:
      return "a text";
    case kTensorPointer:
    case kTensor:
      return "a tensor";
    default:
      return fmt::format("a value of tvm-ffi's type {}", type);
  }
}

}  // namespace

Result<void> Arguments::check_count(std::string_view names) const {
  const auto expected = std::count(names.begin(), names.end(), ',') + 1;
  if (count_ == expected) return {};
  return Error{ErrorCode::invalid_argument,
               fmt::format("{} arguments are given, and {} are taken", count_, expected),
               fmt::format("pass {}", names)};
}

Error Arguments::wrong(const char* name, const char* expected) const {
  return {ErrorCode::invalid_argument,
          fmt::format("'{}' (argument {}) is {}", name, next_, name_of_type(values_[next_ - 1].type)),
          fmt::format("pass {}", expected)};
}

Result<std::int64_t> Arguments::integer(const char* name) {
  const Value& value = take();
  if (value.type != kInteger) return wrong(name, "an integer");
  return value.integer;
}

Result<double> Arguments::number(const char* name, double otherwise) {
  const Value& value = take();
  if (value.type == kNone) return otherwise;
  if (value.type == kInteger) return static_cast<double>(value.integer);
  if (value.type != kNumber) return wrong(name, "a number, or None");
  return value.number;
}

Result<bool> Arguments::flag(const char* name) {
  const Value& value = take();
  if (value.type != kBoolean && value.type != kInteger) return wrong(name, "a boolean");
  return value.integer != 0;
}

Result<std::string> Arguments::text(const char* name) {
  const Value& value = take();
  if (value.type == kRawText && value.raw_text != nullptr) return std::string(value.raw_text);
  if (value.type == kSmallText) {
    return std::string(value.small_text, std::min<std::size_t>(value.small_size, sizeof value.small_text));
  }
  if (value.type != kText || value.pointer == nullptr) return wrong(name, "a text");
  const auto* text = static_cast<const TextCell*>(behind_header(value));
  return std::string(text->data, text->size);
}

Result<dlpack::TensorView> Arguments::tensor(const char* name) {
  const Value& value = take();
  if (!is_tensor(value)) return wrong(name, "a tensor");
  return view_of(value);
}

Result<std::optional<dlpack::TensorView>> Arguments::tensor_or_none(const char* name) {
  const Value& value = take();
  if (value.type == kNone) return std::optional<dlpack::TensorView>();
  if (!is_tensor(value)) return wrong(name, "a tensor, or None");
  return std::optional(view_of(value));
}

bool Arguments::next_is_tensor() const {
  return left() > 0 && is_tensor(values_[next_]);
}

}  // namespace cubinet::tvm_ffi
