// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/jit/compiler.hpp>

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cubinet {

// All of a request but its target, for whoever asks for a kernel's fingerprints again and again: what they
// have in common is computed once, and each is kept for as long as the text that it covers stays as it is.
// Thread-safe.
class PreparedRequest {
 public:
  // REQUIRES: `resolved` comes from the template's resolve().
  PreparedRequest(std::shared_ptr<const KernelTemplate> kernel_template, KernelSpec resolved,
                  CompileOptions options);

  const std::shared_ptr<const KernelTemplate>& kernel_template() const { return kernel_template_; }
  const KernelSpec& spec() const { return spec_; }
  const CompileOptions& options() const { return options_; }
  // The generated header; the error that the template gave instead.
  const Result<std::string>& parameters_header() const { return parameters_header_; }
  // The macros that the options and the parameters define, as HeaderMacros has them.
  const std::vector<std::pair<std::string, std::string>>& header_macros() const { return header_macros_; }
  CompileRequest for_target(SmTarget target, ImageKind kind) const;

  // What else a fingerprint is made of.
  struct Circumstances {
    SmTarget target;
    ImageKind kind = ImageKind::cubin;
    Sha256Digest sources;       // of the template and every header that it may reach, as they are now
    std::string_view compiler;  // its identity
  };
  // The fingerprint that was kept under just these.
  std::optional<BuildFingerprint> kept(const Circumstances& now) const;
  // Replaces what was kept for the same target and kind.
  void keep(const Circumstances& now, const BuildFingerprint& fingerprint) const;

 private:
  struct Kept {
    SmTarget target;
    ImageKind kind;
    Sha256Digest sources;
    std::string compiler;
    BuildFingerprint fingerprint;
  };

  std::shared_ptr<const KernelTemplate> kernel_template_;
  KernelSpec spec_;
  CompileOptions options_;
  Result<std::string> parameters_header_;
  std::vector<std::pair<std::string, std::string>> header_macros_;
  mutable std::mutex mutex_;
  mutable std::vector<Kept> kept_;  // guarded by mutex_; one a target and kind
};

}  // namespace cubinet
