// SPDX-License-Identifier: Apache-2.0
#include "header_macros.hpp"
#include "include_scanner.hpp"

#include <cubinet/jit/prepared_request.hpp>

#include <algorithm>

namespace cubinet {
namespace {

// If the header cannot be generated, its users report the error.
std::vector<std::pair<std::string, std::string>> macros_of(const KernelTemplate& kernel_template,
                                                           const CompilerOptions& options,
                                                           const Result<std::string>& header) {
  auto macros = header_macros(options);
  const auto& parameters = kernel_template.parameters();
  const bool any =
      std::any_of(parameters.begin(), parameters.end(), [](const auto& each) { return !each.macro.empty(); });
  if (!any || !header) return macros;
  for (const HeaderMacro& macro : scan_includes(*header).macros)
    macros.emplace_back(macro.name, macro.body);
  return macros;
}

}  // namespace

PreparedRequest::PreparedRequest(std::shared_ptr<const KernelTemplate> kernel_template, KernelSpec resolved,
                                 CompileOptions options)
    : kernel_template_(std::move(kernel_template)),
      spec_(std::move(resolved)),
      options_(std::move(options)),
      parameters_header_(kernel_template_->parameters_header(spec_)),
      header_macros_(macros_of(*kernel_template_, spec_.options, parameters_header_)) {}

CompileRequest PreparedRequest::for_target(SmTarget target, ImageKind kind) const {
  return CompileRequest{kernel_template_, spec_, target, options_, kind, true};
}

std::optional<BuildFingerprint> PreparedRequest::kept(const Circumstances& now) const {
  const std::lock_guard lock(mutex_);
  for (const Kept& kept : kept_) {
    if (kept.target != now.target || kept.kind != now.kind) continue;
    if (kept.sources != now.sources || kept.compiler != now.compiler) return std::nullopt;
    return kept.fingerprint;
  }
  return std::nullopt;
}

void PreparedRequest::keep(const Circumstances& now, const BuildFingerprint& fingerprint) const {
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [&](const Kept& kept) { return kept.target == now.target && kept.kind == now.kind; });
  kept_.push_back({now.target, now.kind, now.sources, std::string(now.compiler), fingerprint});
}

}  // namespace cubinet
