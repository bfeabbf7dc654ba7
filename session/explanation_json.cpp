// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/explanation_json.hpp>
#include <cubinet/session/json.hpp>

#include <fmt/format.h>

namespace cubinet {
namespace {

nlohmann::json build_json(const ExplainedBuild& build) {
  nlohmann::json described = describe(*build.record);
  described["function"] = nullptr;
  if (!build.record->entry_points.empty()) described["function"] = build.record->entry_points.front().symbol;
  described["source"] = to_string(build.source);
  described["place"] = build.place;
  described["usable"] = build.usable;
  described["own_text"] = build.own_text;
  described["verdict"] = build.verdict;
  return described;
}

nlohmann::json near_json(const ExplainedBuild& near) {
  nlohmann::json described = describe(*near.record);
  if (!near.record->entry_points.empty()) described["function"] = near.record->entry_points.front().symbol;
  described["differences"] = near.differences;
  described["target_verdict"] = near.verdict;
  return described;
}

}  // namespace

nlohmann::json describe(const TargetPolicy& policy) {
  nlohmann::json described = {
      {"prefer_family", policy.prefers_family}, {"forbidden", nlohmann::json::array()}, {"pinned", nullptr}};
  for (const SmTarget target : policy.forbidden)
    described["forbidden"].push_back(target.to_string());
  if (policy.pinned) described["pinned"] = policy.pinned->to_string();
  return described;
}

std::string reason_of(const KernelExplanation& explanation) {
  if (const ExplainedBuild* choice = explanation.choice())
    return fmt::format("{} is used: {}", choice->record->target_name(), choice->verdict);
  if (explanation.would_compile) {
    return fmt::format("no store has a usable build: it would be compiled for {}",
                       explanation.would_compile->to_string());
  }
  std::string reason =
      "no store has a usable build, and none can be made: " +
      (explanation.cannot_compile ? explanation.cannot_compile->message : std::string("no target is left"));
  if (!explanation.builds.empty()) {
    const ExplainedBuild& best = explanation.builds.front();
    reason += fmt::format("; of {}: {}", best.record->target_name(), best.verdict);
  }
  return reason;
}

nlohmann::json describe(const KernelExplanation& explanation, const std::string& fix) {
  nlohmann::json document = describe(explanation.spec);
  if (!explanation.builds.empty()) document["names"] = kernel_names(*explanation.builds.front().record);
  document["device"] = explanation.device.to_string();
  document["policy"] = describe(explanation.policy);
  document["chosen"] = nullptr;
  if (const ExplainedBuild* choice = explanation.choice()) document["chosen"] = build_json(*choice);
  document["would_compile"] = nullptr;
  if (explanation.would_compile) document["would_compile"] = explanation.would_compile->to_string();
  document["cannot_compile"] = nullptr;
  if (explanation.cannot_compile)
    document["cannot_compile"] = error_document(*explanation.cannot_compile)["error"];
  document["targets"] = nlohmann::json::array();
  for (const ImageTarget target : explanation.targets)
    document["targets"].push_back(target.to_string());
  document["builds"] = nlohmann::json::array();
  for (const ExplainedBuild& build : explanation.builds)
    document["builds"].push_back(build_json(build));
  document["unreadable"] = nlohmann::json::array();
  for (const UnreadableBuilds& unread : explanation.unreadable)
    document["unreadable"].push_back(error_document(unread.error)["error"]);
  document["nearest"] = nlohmann::json::array();
  for (const ExplainedBuild& near : explanation.nearest)
    document["nearest"].push_back(near_json(near));
  document["reason"] = reason_of(explanation);
  document["fix"] = fix;
  return document;
}

}  // namespace cubinet
