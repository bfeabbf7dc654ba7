// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <compare>
#include <string>
#include <string_view>

namespace cubinet {

// A build target as users write it: "sm_90a" is machine code, "compute_90a" is PTX.
struct ImageTarget {
  SmTarget target;
  ImageKind kind = ImageKind::cubin;

  // Returns an invalid_argument that names the known targets for any other text.
  static Result<ImageTarget> parse(std::string_view text);
  std::string to_string() const;

  friend auto operator<=>(const ImageTarget&, const ImageTarget&) = default;
};

}  // namespace cubinet
