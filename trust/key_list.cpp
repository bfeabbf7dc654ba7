// SPDX-License-Identifier: Apache-2.0
#include "key_list.hpp"

#include <algorithm>

namespace cubinet {

Result<std::vector<PublicKey>> read_keys(JsonObject& object, std::string_view member) {
  CUBINET_TRY_ASSIGN(const JsonValue* list, object.get(member));
  const std::string name = "'" + std::string(member) + "'";
  if (!list->is_list() || list->items().empty() || list->items().size() > 64)
    return object.error_at(member, name + " is no list of 1 to 64 keys");
  std::vector<PublicKey> keys;
  for (const JsonValue& text : list->items()) {
    if (!text.is_text()) return object.error_of(text, "a key in " + name + " is no string");
    auto key = PublicKey::parse(text.text());
    if (!key) return object.error_of(text, key.error().message);
    if (std::find(keys.begin(), keys.end(), *key) != keys.end())
      return object.error_of(text, "the key " + key->id() + " is in " + name + " twice");
    keys.push_back(*std::move(key));
  }
  return keys;
}

}  // namespace cubinet
