// SPDX-License-Identifier: Apache-2.0
#include "ptx_words.hpp"

#include <cubinet/spec/image_check.hpp>
#include <cubinet/spec/ptx.hpp>

namespace cubinet {
namespace {

Error not_ptx(std::string reason) {
  return Error{ErrorCode::corruption, "not usable PTX: " + std::move(reason), "build or fetch it again"};
}

}  // namespace

Result<PtxInspection> inspect_ptx(ByteView image) {
  std::string_view text = as_text(image);
  if (text.empty() || text.back() != '\0') return not_ptx("the text does not end with a NUL");
  text.remove_suffix(1);
  if (text.find('\0') != std::string_view::npos) return not_ptx("there is a NUL within the text");
  PtxInspection inspection;
  bool has_target = false;
  PtxWords words(text);
  while (const auto word = words.next()) {
    if (*word != ".version" && *word != ".target" && *word != ".entry") continue;
    const auto argument = words.next();
    if (!argument) return not_ptx("it ends after " + std::string(*word));
    if (*word == ".version") {
      inspection.version = *argument;
      const auto head = static_cast<std::size_t>(argument->data() - text.data());
      inspection.release = toolkit_release(text.substr(0, head));
    } else if (*word == ".entry") {
      if (inspection.kernels.size() == kMaximumImageKernels) return not_ptx("it has more than 4096 kernels");
      inspection.kernels.emplace_back(*argument);
    } else if (!has_target) {
      auto target = SmTarget::parse(*argument);
      if (!target) return not_ptx(target.error().message);
      inspection.target = *target;
      has_target = true;
    }
  }
  if (inspection.version.empty() || !has_target) return not_ptx("it names no version or no target");
  return inspection;
}

}  // namespace cubinet
