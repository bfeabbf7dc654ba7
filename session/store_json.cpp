// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/store_json.hpp>

namespace cubinet {

nlohmann::json describe_stores(const Runtime& runtime) {
  const Runtime::Counters counters = runtime.counters();
  nlohmann::json described = nlohmann::json::array();
  for (std::size_t i = 0; i < runtime.stores().size(); ++i) {
    const Store& store = *runtime.stores()[i];
    const StoreDescription& facts = store.description();
    const StoreUses& uses = counters.stores[i];
    described.push_back({{"kind", facts.kind},
                         {"place", facts.place},
                         {"source", to_string(facts.source)},
                         {"writable", facts.writable},
                         {"remote", facts.remote},
                         {"why_read_only", facts.why_read_only},
                         {"fetched_bytes", store.fetched_bytes()},
                         {"asked", uses.asked},
                         {"found", uses.found},
                         {"used", uses.used}});
  }
  return described;
}

}  // namespace cubinet
