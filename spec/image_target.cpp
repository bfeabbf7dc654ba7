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
  auto target = SmTarget::parse(text);
  if (target) {
    parsed.target = *target;
    return parsed;
  }
  if (parsed.kind == ImageKind::cubin) return std::move(target).error();
  std::string known;
  for (const SmTarget each : known_targets())
    known += " " + each.compute_name();
  return Error{ErrorCode::invalid_argument,
               "'" + std::string(kVirtual) + std::string(text.substr(0, 40)) + "' is no known target of PTX",
               "known targets:" + known};
}

std::string ImageTarget::to_string() const {
  return kind == ImageKind::ptx ? target.compute_name() : target.to_string();
}

}  // namespace cubinet
