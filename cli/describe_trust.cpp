// SPDX-License-Identifier: Apache-2.0
#include "describe_trust.hpp"

#include <cubinet/base/text.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet::cli {
namespace {

// minisign's own comments have tabs.
std::string comment_of(const Signer& signer) {
  std::string comment = signer.comment;
  std::replace(comment.begin(), comment.end(), '\t', ' ');
  return printable(comment);
}

}  // namespace

std::string trust_text(const Bundle& bundle) {
  if (!bundle.policy()) return "no policy: nothing says who made it";
  const std::string origin = printable(bundle.policy()->origin);
  if (bundle.signers().empty()) return fmt::format("not signed, which {} allows", origin);
  std::vector<std::string> signers;
  for (const Signer& signer : bundle.signers()) {
    signers.push_back(signer.comment.empty() ? signer.key.id()
                                             : fmt::format("{} ({})", signer.key.id(), comment_of(signer)));
  }
  return fmt::format("signed by {}, {} wanted by {}", join(signers),
                     plural(bundle.policy()->threshold, "key"), origin);
}

nlohmann::json describe_trust(const Bundle& bundle) {
  if (!bundle.policy()) return nullptr;
  nlohmann::json signers = nlohmann::json::array();
  for (const Signer& signer : bundle.signers()) {
    signers.push_back(
        {{"id", signer.key.id()}, {"public_key", signer.key.to_string()}, {"comment", signer.comment}});
  }
  return {{"policy", bundle.policy()->origin},
          {"threshold", bundle.policy()->threshold},
          {"signers", std::move(signers)}};
}

}  // namespace cubinet::cli
