// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/image_target.hpp>

namespace cubinet {

Result<ImageTarget> ImageTarget::parse(std::string_view text) {
  constexpr std::string_view kVirtual = "compute_";
  ImageTarget parsed;
  if (text.starts_with(kVirtual)) {
    parsed.kind = ImageKind::ptx;
    text.remove_prefix(kVirtual.size());
  }
  CUBINET_TRY_ASSIGN(parsed.target, SmTarget::parse(text));
  return parsed;
}

std::string ImageTarget::to_string() const {
  return kind == ImageKind::ptx ? target.compute_name() : target.to_string();
}

}  // namespace cubinet
