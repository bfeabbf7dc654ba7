// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/jit/compiler.hpp>

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cubinet {

// A request without its target, for computing fingerprints often. Common parts are computed once,
// and each fingerprint is cached while the texts that it covers stay the same. Thread-safe.
class PreparedRequest {
 public:
  // Prepares a request. REQUIRES: `resolved` comes from the template's resolve().
  PreparedRequest(std::shared_ptr<const KernelTemplate> kernel_template, KernelSpec resolved,
                  CompileOptions options);

  const std::shared_ptr<const KernelTemplate>& kernel_template() const { return kernel_template_; }
  const KernelSpec& spec() const { return spec_; }
  const CompileOptions& options() const { return options_; }
  // Returns the generated header, or the template's error.
  const Result<std::string>& parameters_header() const { return parameters_header_; }
  // Returns the macros that the options and the parameters define, for HeaderMacros.
  const std::vector<std::pair<std::string, std::string>>& header_macros() const { return header_macros_; }
  CompileRequest for_target(SmTarget target, ImageKind kind) const;

  // The other inputs of a fingerprint.
  struct Circumstances {
    SmTarget target;
    ImageKind kind = ImageKind::cubin;
    Sha256Digest sources;       // of the template and every header that it may reach, as they are now
    std::string_view compiler;  // its identity
  };
  // Returns the cached fingerprint for equal inputs.
  std::optional<BuildFingerprint> kept(const Circumstances& now) const;
  // Caches a fingerprint and replaces the one for the same target and kind.
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
  mutable std::vector<Kept> kept_;  // guarded by mutex_; one per target and kind
};

}  // namespace cubinet
