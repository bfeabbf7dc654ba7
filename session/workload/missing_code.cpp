// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/missing_code.hpp>

#include <fmt/format.h>

namespace cubinet {

Error missing_code(const KernelSpec& spec, Error error) {
  if (error.code != ErrorCode::not_found) return error;
  const bool is_source = spec.maker == KernelMaker::source;
  if (!is_source && spec.maker != KernelMaker::function) return error;
  const auto digest = spec.parameters.find(is_source ? "text" : "pin");
  if (digest == spec.parameters.end()) return error;
  error.message = fmt::format("the {} '{}' with the SHA-256 {} is in no store",
                              is_source ? "source" : "image", spec.name, to_string(digest->second));
  error.remedy =
      fmt::format("resolve the {} with this Runtime before the workload, or give a store that has its builds",
                  is_source ? "source" : "image");
  return error;
}

}  // namespace cubinet
