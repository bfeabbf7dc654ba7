// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversions.hpp"
#include "kernel_parameters.hpp"
#include "tensor.hpp"

#include <array>
#include <vector>

namespace cubinet_python {

// The arguments of one launch, converted from Python. It allocates only for more than 32 arguments
// and for structures that are not `bytes`. It must not outlive the Python objects.
class LaunchArguments {
 public:
  // Converts `count` objects for the kernel's parameters: a tensor becomes its address, None a
  // null pointer, a number a value of the parameter's type, and bytes or another buffer a
  // structure. Raises InvalidArgument, which names the argument.
  LaunchArguments(const KernelParameters& parameters, PyObject* const* objects, std::size_t count);
  LaunchArguments(const LaunchArguments&) = delete;
  LaunchArguments& operator=(const LaunchArguments&) = delete;

  const void* const* pointers() const { return pointers_; }
  const std::uint32_t* sizes() const { return sizes_; }
  std::size_t count() const { return count_; }
  bool has_tensor() const { return has_tensor_; }
  // Returns the exchange table of the first tensor that has one, or null.
  const DLPackExchangeAPI* exchange() const { return exchange_; }

 private:
  static constexpr std::size_t kInline = 32;
  union Value {
    std::uint64_t integer;
    float single_number;
    double double_number;
  };

  void convert(std::size_t index, PyObject* object);
  // Returns false if the object is no tensor.
  bool is_tensor(std::size_t index, PyObject* object, Tensor& tensor) const;
  void convert_tensor(std::size_t index, PyObject* object);
  void convert_bytes(std::size_t index, PyObject* object);
  void convert_integer(std::size_t index, PyObject* object);
  void convert_number(std::size_t index, PyObject* object);
  void set(std::size_t index, std::uint64_t integer);
  [[noreturn]] void refuse_argument(std::size_t index, std::string_view reason,
                                    std::string_view remedy) const;
  std::uint32_t size_of(std::size_t index, std::uint32_t usual) const;
  ArgumentKind kind_of(std::size_t index) const;

  const KernelParameters& parameters_;
  std::size_t count_;
  bool has_tensor_ = false;
  const DLPackExchangeAPI* exchange_ = nullptr;
  std::array<Value, kInline> inline_values_;
  std::array<const void*, kInline> inline_pointers_;
  std::array<std::uint32_t, kInline> inline_sizes_;
  std::vector<Value> more_values_;
  std::vector<const void*> more_pointers_;
  std::vector<std::uint32_t> more_sizes_;
  std::vector<nanobind::object> buffers_;  // bytes that were made of other buffers
  Value* values_ = inline_values_.data();
  const void** pointers_ = inline_pointers_.data();
  std::uint32_t* sizes_ = inline_sizes_.data();
};

}  // namespace cubinet_python
