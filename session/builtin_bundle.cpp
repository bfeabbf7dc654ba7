// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/absolute_path.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/byte_source.hpp>
#include <cubinet/session/builtin_bundle.hpp>
#include <cubinet/trust/verification.hpp>

#include <fmt/format.h>

namespace cubinet {
namespace {

Result<std::shared_ptr<Bundle>> open_under(const SessionOptions& options, const Sha256Digest& root,
                                           std::optional<TrustPolicy> policy) {
  const auto files = posix_file_system();
  CUBINET_TRY_ASSIGN(const std::filesystem::path path, absolute_path(options.builtin_bundle));
  BundleTrust trust;
  trust.policy = std::move(policy);
  trust.signatures = signatures_beside(files, path);
  trust.root = root;
  return open_bundle(file_source(path.string(), files, std::string(kBuiltinPlace)), options.log,
                     std::move(trust));
}

}  // namespace

// CUBINET_BUILTIN_ROOT is the digest in hex, or empty (cmake/CubinetBuiltinBundle.cmake).
std::optional<Sha256Digest> builtin_bundle_root() {
  const auto root = Sha256Digest::parse(CUBINET_BUILTIN_ROOT);
  return root ? std::optional(*root) : std::nullopt;
}

Result<std::shared_ptr<Bundle>> open_builtin_bundle(const SessionOptions& options,
                                                    const std::optional<Sha256Digest>& root) {
  if (!root) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("`SessionOptions::builtin_bundle` names '{}', and this library was built without "
                    "a bundle of its own",
                    printable(options.builtin_bundle)),
        "add the file to `SessionOptions::bundles`, or build the library with the CMake variable "
        "CUBINET_BUILTIN_BUNDLE"};
  }
  auto opened = open_under(options, *root, std::nullopt);
  if (!opened) {
    Error error = std::move(opened).error();
    error.message = fmt::format("'{}' is not the bundle of this library: {}",
                                printable(options.builtin_bundle), error.message);
    return error;
  }
  CUBINET_TRY_ASSIGN(
      auto policy, find_trust_policy(std::string(kBuiltinPlace), options.home, options.policy_file, nullptr));
  if (!policy) return opened;
  auto allowed = open_under(options, *root, std::move(policy));
  if (allowed || allowed.error().code != ErrorCode::untrusted) return allowed;
  log(options.log, LogLevel::info, "the bundle of the library is left out: " + allowed.error().to_line());
  return std::shared_ptr<Bundle>();
}

BuiltinReport report_builtin_bundle(const SessionOptions& options, const std::optional<Sha256Digest>& root) {
  BuiltinReport report;
  report.root = root;
  report.file = options.builtin_bundle;
  if (report.file.empty()) return report;
  auto opened = open_builtin_bundle(options, root);
  if (opened) {
    report.bundle = *std::move(opened);
    report.refused = report.bundle == nullptr;
  } else {
    report.error = std::move(opened).error();
  }
  return report;
}

std::string to_text(const BuiltinReport& report) {
  if (report.error) return report.error->message;
  if (!report.root) return "none: this library was built without a bundle of its own";
  if (report.file.empty())
    return fmt::format("no file is named; the library expects the root {}", report.root->to_hex());
  if (report.refused) return fmt::format("{} is refused by the policy for {}", report.file, kBuiltinPlace);
  return fmt::format("{}, {}, root {}", report.file, plural(report.bundle->root().records, "kernel"),
                     report.root->to_hex());
}

}  // namespace cubinet
