// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/distribution/server_store.hpp>
#include <cubinet/session/trust_report.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet {
namespace {

// Comments that minisign writes contain tabs.
std::string comment_of(const Signer& signer) {
  std::string comment = signer.comment;
  std::replace(comment.begin(), comment.end(), '\t', ' ');
  return printable(comment);
}

}  // namespace

TrustReport TrustReport::of(const Bundle& bundle) {
  return {bundle.policy(), bundle.signers(), bundle.description().place == kBuiltinPlace};
}

std::optional<TrustReport> trust_of(const std::shared_ptr<Store>& store) {
  const auto bundle = bundle_of(store);
  if (bundle == nullptr) return std::nullopt;
  return TrustReport::of(*bundle);
}

std::string to_text(const TrustReport& report) {
  if (!report.policy && report.builtin)
    return "the bundle of this library, which holds the digest of its root";
  if (!report.policy) return "no policy: nothing says who made it";
  const std::string origin = printable(report.policy->origin);
  if (report.signers.empty()) return fmt::format("not signed, which {} allows", origin);
  std::vector<std::string> signers;
  for (const Signer& signer : report.signers) {
    signers.push_back(signer.comment.empty() ? signer.key.id()
                                             : fmt::format("{} ({})", signer.key.id(), comment_of(signer)));
  }
  return fmt::format("signed by {}, {} wanted by {}", join(signers), plural(report.policy->threshold, "key"),
                     origin);
}

}  // namespace cubinet
