// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/json.hpp>
#include <cubinet/session/prebuild.hpp>

namespace cubinet {
namespace {

nlohmann::json describe_failures(const std::vector<PrebuildResult::Failure>& failures) {
  nlohmann::json described = nlohmann::json::array();
  for (const PrebuildResult::Failure& failure : failures) {
    nlohmann::json one = describe(failure.kernel.spec);
    one["target"] = failure.kernel.target.to_string();
    one["error"] = error_document(failure.error)["error"];
    described.push_back(std::move(one));
  }
  return described;
}

nlohmann::json describe_builds(const std::vector<PrebuildResult::Build>& builds) {
  nlohmann::json described = nlohmann::json::array();
  for (const PrebuildResult::Build& build : builds) {
    nlohmann::json one = describe(*build.record);
    one["source"] = to_string(build.source);
    one["seconds"] = build.seconds;
    one["kept"] = build.kept;
    described.push_back(std::move(one));
  }
  return described;
}

}  // namespace

std::string to_json(const PrebuildResult& result) {
  nlohmann::json document = {{"bundle", result.bundle},
                             {"licenses", result.licences},
                             {"shard", result.shard.to_string()},
                             {"kernels", result.built.size()},
                             {"compiled", result.compiled()},
                             {"reused", result.built.size() - result.compiled()},
                             {"results", describe_builds(result.built)},
                             {"seconds", result.seconds},
                             {"interrupted", result.interrupted},
                             {"failed", describe_failures(result.failed)},
                             {"not_kept", describe_failures(result.not_kept)},
                             {"refused", describe_failures(result.refused)},
                             {"unserved", describe(result.unserved)}};
  if (result.error) document.update(error_document(*result.error));
  return json_text(document);
}

}  // namespace cubinet
