// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/kernel_key.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace cubinet {

// A parameter of a kernel whose value is stored outside of a KernelSpec.
struct ParameterView {
  std::string_view name;
  std::variant<bool, std::int64_t, std::string_view> value;
};

// Return the identity of the specification with these parameters without constructing it. Used for
// tables of thousands of kernels. REQUIRES: ascending by name, each name once.
KernelId identify(KernelMaker maker, std::string_view name, std::span<const ParameterView> parameters);
KernelIdentity identify(KernelMaker maker, std::string_view name, std::span<const ParameterView> parameters,
                        SmTarget target);

}  // namespace cubinet
