// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/kernel_key.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace cubinet {

// A parameter of a kernel whose values are held elsewhere than in a KernelSpec.
struct ParameterView {
  std::string_view name;
  std::variant<bool, std::int64_t, std::string_view> value;
};

// The identity of the specification that has these parameters, which need not be made: for tables of
// thousands of kernels. REQUIRES: ascending by name, each name once.
KernelId identify(KernelMaker maker, std::string_view name, std::span<const ParameterView> parameters);
KernelIdentity identify(KernelMaker maker, std::string_view name, std::span<const ParameterView> parameters,
                        SmTarget target);

}  // namespace cubinet
