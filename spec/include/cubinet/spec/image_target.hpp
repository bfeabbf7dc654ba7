// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <compare>
#include <string>
#include <string_view>

namespace cubinet {

// What to build for, as people write it: "sm_90a" is machine code, "compute_90a" is PTX.
struct ImageTarget {
  SmTarget target;
  ImageKind kind = ImageKind::cubin;

  // invalid_argument names the known targets.
  static Result<ImageTarget> parse(std::string_view text);
  std::string to_string() const;

  friend auto operator<=>(const ImageTarget&, const ImageTarget&) = default;
};

}  // namespace cubinet
