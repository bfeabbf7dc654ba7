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

// The value of one template parameter: a flag, an integer, text (the name of a type or choice, or a
// string), a number of single or double precision, or a list of numbers. Floating-point values are
// finite, and -0 is printed and stored as 0.
using ParameterValue = std::variant<bool, std::int64_t, std::string, float, double, std::vector<std::int64_t>,
                                    std::vector<float>, std::vector<double>>;

// Returns "true", "128", "bf16", "0.1" (the shortest text of the number) or "1,2,3".
std::string to_string(const ParameterValue& value);

// The maker of a kernel. Stored in identities: DO NOT RENUMBER.
enum class KernelMaker : std::uint8_t {
  kernel_template = 0,  // a template of the library or the user, with values for its parameters
  // A publisher's attention kernel: the columns of its row, the argument layout, the pin.
  publisher = 1,
  function = 2,  // a function that is identified by name: a publisher's GEMM, a user's cubin
  // A source without a declaration: its text, its kernels' names, its in-memory headers.
  source = 3,
  tool = 4,  // another compiler: its name and version, and its cache's name for the entry
};
std::string_view to_string(KernelMaker maker);  // "template", "publisher", "function", "source", "tool"

// The specification of a kernel: its maker, and typed values that distinguish it from the maker's
// other kernels. Callers request kernels by it, and every store identifies its entries by it. A
// plain value. KernelTemplate::resolve checks it against a template.
//
// Parameters are ordered by name, so two specifications are equal whatever order they were written
// in.
struct KernelSpec {
  std::string name;  // of the template, the publisher's kernel or the function
  std::map<std::string, ParameterValue, std::less<>> parameters;
  KernelMaker maker = KernelMaker::kernel_template;
  CompilerOptions options{};  // for a compiled kernel

  // Sets one parameter and returns *this, so that a specification can be written as one expression.
  KernelSpec& set(std::string_view parameter, ParameterValue value);
  // Sets one parameter, whose type follows from the argument's type: `true` is a flag, any integer
  // an integer, a vector a list, and text a name.
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

  // Returns "attention_decode(dtype_q=bf16, head_dim_qk=128)" followed by the compiler's flags, for
  // messages. Returns the name only for a function without values and for a source.
  std::string to_string() const;

  friend bool operator==(const KernelSpec&, const KernelSpec&) = default;
};

}  // namespace cubinet
