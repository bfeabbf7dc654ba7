// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/json.hpp>
#include <cubinet/session/refusals_json.hpp>

namespace cubinet {

std::string to_json(const Refusals& refusals) {
  nlohmann::json entries = nlohmann::json::array();
  for (const Refusal& refusal : refusals.entries) {
    entries.push_back({{"kernel", refusal.kernel},
                       {"device", refusal.device},
                       {"caller", refusal.caller},
                       {"count", refusal.count}});
  }
  return json_text({{"frozen", refusals.frozen},
                    {"refusals", std::move(entries)},
                    {"others", refusals.others},
                    {"fallbacks", refusals.fallbacks}});
}

}  // namespace cubinet
