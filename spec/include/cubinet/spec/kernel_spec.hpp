// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/compiler_options.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace cubinet {

// The value of one template parameter: a flag, an integer, text (the name of a type or choice, a string), a
// number of single or double precision, or a list of numbers. Of the latter two every value is finite, and -0
// is 0 wherever it is told or kept.
using ParameterValue = std::variant<bool, std::int64_t, std::string, float, double, std::vector<std::int64_t>,
                                    std::vector<float>, std::vector<double>>;

// "true", "128", "bf16", "0.1" (the shortest text that is this number), "1,2,3".
std::string to_string(const ParameterValue& value);

// Who makes a kernel. Stored in identities: DO NOT RENUMBER.
enum class KernelMaker : std::uint8_t {
  kernel_template = 0,  // a template, ours or the user's, under values for its parameters
  publisher = 1,  // a publisher's attention kernel: the columns of its row, the argument layout, the pin
  function = 2,   // a function that is known by its name: a publisher's GEMM, a user's cubin
  source = 3,     // a source without a declaration: its text, its kernels' names, its headers from memory
  tool = 4,       // another compiler: its name and version, and what its cache calls the entry
};
std::string_view to_string(KernelMaker maker);  // "template", "publisher", "function"

// Which kernel: who makes it, and typed values that tell it from the maker's others. What a caller asks for
// and what everything that lies in a store is known by. A plain value; knows nothing of what a template
// allows (KernelTemplate::resolve does).
//
// Parameters are ordered by name, so two specifications are equal whatever order they were written in.
struct KernelSpec {
  std::string name;  // the template's, the publisher's, the function's
  std::map<std::string, ParameterValue, std::less<>> parameters;
  KernelMaker maker = KernelMaker::kernel_template;
  CompilerOptions options{};  // of a kernel that is compiled

  // Sets one parameter and returns *this, so that a specification can be written as one expression.
  KernelSpec& set(std::string_view parameter, ParameterValue value);
  // Chosen by the argument's own type: `true` is a flag, any integer an integer, a vector a list, text a
  // name.
  template <class Value, class = std::enable_if_t<!std::is_same_v<Value, ParameterValue>>>
  KernelSpec& set(std::string_view parameter, const Value& value) {
    if constexpr (std::is_same_v<Value, bool>) {
      return set(parameter, ParameterValue(value));
    } else if constexpr (std::is_integral_v<Value>) {
      return set(parameter, ParameterValue(static_cast<std::int64_t>(value)));
    } else if constexpr (std::is_constructible_v<std::string, const Value&>) {
      return set(parameter, ParameterValue(std::string(value)));
    } else {
      return set(parameter, ParameterValue(value));
    }
  }

  // "attention_decode(dtype_q=bf16, head_dim_qk=128)" and, behind it, the compiler's flags, for messages; a
  // function without values: its name; a source: its name.
  std::string to_string() const;

  friend bool operator==(const KernelSpec&, const KernelSpec&) = default;
};

}  // namespace cubinet
