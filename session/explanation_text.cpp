// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/session/explanation_json.hpp>
#include <cubinet/session/explanation_text.hpp>
#include <cubinet/session/json.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet {
namespace {

std::string line_of(const ExplainedBuild& build, bool chosen) {
  const CubinRecord& record = *build.record;
  const bool is_imported = record.origin == CubinOrigin::imported && !record.entry_points.empty();
  const std::string name =
      is_imported ? record.entry_points.front().symbol : record.fingerprint.to_string().substr(0, 12);
  const bool shows_place = is_imported || build.source == KernelSource::bundle ||
                           build.source == KernelSource::server;  // there may be several of this kind
  return fmt::format("\n{} {:<13} {} {}{}: {}", chosen ? "*" : " ", record.target_name(),
                     to_string(build.source), printable(name),
                     shows_place ? " in " + printable(build.place) : "", printable(build.verdict));
}

// Returns the kernel as a printable line. Builds of a source have its C++ names.
std::string subject_of(const KernelExplanation& explanation) {
  if (explanation.spec.maker == KernelMaker::source && !explanation.builds.empty())
    return kernel_title(*explanation.builds.front().record);
  return printable(explanation.spec.to_string());
}

}  // namespace

std::string to_text(const KernelExplanation& explanation, const std::string& fix) {
  std::string text = fmt::format("{} on {}\n{}", subject_of(explanation), explanation.device.to_string(),
                                 printable(reason_of(explanation)));
  if (const std::string policy = explanation.policy.to_string(); !policy.empty())
    text += "\npolicy: " + policy;
  text += "\nbuilds, best first:";
  for (const ExplainedBuild& build : explanation.builds)
    text += line_of(build, &build == explanation.choice());
  for (const ImageTarget target : explanation.targets) {
    const bool lies =
        std::any_of(explanation.builds.begin(), explanation.builds.end(), [&](const auto& build) {
          return ImageTarget{build.record->target, build.record->kind} == target;
        });
    // PTX is built only on request, so missing PTX is not listed.
    if (!lies && target.kind == ImageKind::cubin)
      text += fmt::format("\n  {:<13} no build", target.to_string());
  }
  for (const UnreadableBuilds& unread : explanation.unreadable)
    text += fmt::format("\n  {:<13} {}", "unreadable", printable(unread.error.to_line()));
  for (const ExplainedBuild& near : explanation.nearest) {
    std::string why = join(near.differences);
    if (!near.verdict.empty()) why += (why.empty() ? "" : "; ") + near.verdict;
    text += fmt::format("\nnear: {} for {}: {}", near.record->identity.key().to_string(),
                        near.record->target_name(), printable(why));
  }
  if (!fix.empty()) text += "\nto have it: " + printable(fix);
  return text;
}

}  // namespace cubinet
