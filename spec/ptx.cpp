// SPDX-License-Identifier: Apache-2.0
#include "ptx_words.hpp"

#include <cubinet/spec/image_check.hpp>
#include <cubinet/spec/ptx.hpp>

#include <utility>

namespace cubinet {
namespace {

Error not_ptx(std::string reason) {
  return Error{ErrorCode::corruption, "not usable PTX: " + std::move(reason), "build or fetch it again"};
}

// Returns the target of PTX, which runs on every device from its target on. A target that is older
// than all known ones is replaced by the oldest known one.
Result<SmTarget> parse_ptx_target(std::string_view word) {
  auto target = SmTarget::parse(word);
  if (target || !word.starts_with("sm_")) return target;
  const auto older = ComputeCapability::parse(word);
  const SmTarget oldest = known_targets().front();
  return older && *older < oldest.capability() ? Result<SmTarget>(oldest) : target;
}

// Returns the target with more features. A module with several .target directives needs the
// features of all (PTX ISA).
SmTarget more_demanding(SmTarget a, SmTarget b) {
  const auto demand = [](SmTarget target) {
    const int kind = target.kind == TargetKind::specific ? 2 : target.kind == TargetKind::family ? 1 : 0;
    return std::pair(target.capability(), kind);
  };
  return demand(a) < demand(b) ? b : a;
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
    } else {
      const auto target = parse_ptx_target(*argument);
      if (!target) return not_ptx(target.error().message);
      inspection.target = has_target ? more_demanding(inspection.target, *target) : *target;
      has_target = true;
    }
  }
  if (inspection.version.empty() || !has_target) return not_ptx("it names no version or no target");
  return inspection;
}

}  // namespace cubinet
